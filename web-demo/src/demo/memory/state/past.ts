// The memory of a past day, and what has changed since. The server lists what held at a time, but not what was learned after it.
import type { KnownFact } from "../generated/operations.ts";
import type { ReadPage } from "./merged-pages.ts";
import type { Filters } from "./place.ts";

/** After so many pages without a find, the list goes on only if the reader asks for it. */
const PAGES_WITHOUT_FIND = 10;
/** The server takes messages from up to a day in the future. A fact may therefore begin after its last change. */
const AHEAD_MS = 24 * 60 * 60 * 1000;

/** Filters of the memory of today. */
export const present = { asOf: "", changes: "", status: "" } satisfies Partial<Filters>;

/** The last moment of a day in the reader's time zone. `date`: such as "2024-03-31". */
export function endOf(date: string): Date {
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  return new Date(new Date(year, month - 1, day + 1).getTime() - 1);
}

/** Such as "2024-03-31", in the reader's time zone. Swedish dates are those of ISO 8601. */
export const today = (): string => new Date().toLocaleDateString("sv-SE");

/** Whether a time is not after the end of a day. */
export const isBy = (time: string | null, date: string): boolean => time !== null && Date.parse(time) <= endOf(date).getTime();

/** Whether a fact was learned or retracted after a day. What was learned and retracted after it is no difference to today. */
function hasChanged({ status, validFrom, validTo }: KnownFact, asOf: string): boolean {
  const held = isBy(validFrom, asOf) && !isBy(validTo, asOf);
  return status === "ACTIVE" ? validFrom !== null && !isBy(validFrom, asOf) : held;
}

/** Leaves only facts that have changed since `asOf` in a list with the latest change first. Reads no further than the last change after it. */
export function changedOnly(read: ReadPage<KnownFact>, asOf: string): ReadPage<KnownFact> {
  const end = endOf(asOf).getTime() - AHEAD_MS;
  return async (after) => {
    let next = after;
    for (let pages = 1; ; pages += 1) {
      const page = await read(next);
      const rows = page.rows.filter((fact) => hasChanged(fact, asOf));
      next = page.rows.some((fact) => Date.parse(fact.updatedAt) < end) ? null : page.next;
      if (rows.length > 0 || next === null || pages === PAGES_WITHOUT_FIND) return { rows, next, total: null };
    }
  };
}
