// Formats relations, times and counts for display.

/** Conjugates a relation's phrase for "you": "likes" -> "like", "is part of" -> "are part of". */
export function phraseFor(phrase: string, subjectIsViewer: boolean): string {
  if (!subjectIsViewer) return phrase;
  const [verb = "", ...rest] = phrase.split(" ");
  const irregular: Record<string, string> = { is: "are", has: "have", does: "do", was: "were" };
  const plain = irregular[verb] ?? (/[^s]s$/.test(verb) ? verb.slice(0, -1) : verb);
  return [plain, ...rest].join(" ");
}

/** "LIVES_IN" -> "lives in", for relations without a phrase. */
export const phraseFromName = (name: string): string => name.toLowerCase().replaceAll("_", " ");

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const yearFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

export const clock = (iso: string): string => clockFormat.format(new Date(iso));

/** "today 10:02", "3 Nov", "3 Nov 2024". */
export function day(iso: string, now = new Date()): string {
  const date = new Date(iso);
  if (date.toDateString() === now.toDateString()) return `today ${clockFormat.format(date)}`;
  return (date.getFullYear() === now.getFullYear() ? dayFormat : yearFormat).format(date);
}

/** "just now", "5 min ago", "yesterday", "3 Nov". */
export function ago(iso: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return minutes < 48 * 60 ? "yesterday" : day(iso, new Date(now));
}

export const milliseconds = (ms: number): string => (ms < 1 ? "under 1 ms" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** 180 -> "6 months". */
export function formatDays(days: number): string {
  if (days >= 700) return count(Math.round(days / 365), "year");
  if (days >= 60) return count(Math.round(days / 30.4), "month");
  return days >= 14 ? count(Math.round(days / 7), "week") : count(Math.round(days), "day");
}
