// Days in the reader's time zone, as text such as "2024-03-31".

function midnight(date: string, daysLater: number): Date {
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  return new Date(year, month - 1, day + daysLater);
}

/** The first moment of a day. */
export const startOf = (date: string): Date => midnight(date, 0);

/** The last moment of a day. */
export const endOf = (date: string): Date => new Date(midnight(date, 1).getTime() - 1);

const twoDigits = (n: number): string => String(n).padStart(2, "0");

/** `Intl` would take longer to load than the rest of the filters to draw. */
const textOf = (time: Date): string => `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;

export const today = (): string => textOf(new Date());
export const dayAfter = (date: string): string => textOf(midnight(date, 1));

/** Whether a time is not after the end of a day. */
export const isBy = (time: string | null, date: string): boolean => time !== null && Date.parse(time) <= endOf(date).getTime();
