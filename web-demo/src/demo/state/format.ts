// Formats relations, times and counts for display.
import { computed } from "@preact/signals";
import type { TransportName } from "@relevantic/recall";
import { dateStyle, type DateStyle } from "./preferences.ts";

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

/** "1 fact", "5,012 facts". */
export const count = (n: number, noun: string): string => `${n.toLocaleString()} ${noun}${n === 1 ? "" : "s"}`;

/** "3 facts and 2 messages". */
export const factsAndMessages = (facts: number, messages: number): string =>
  [...(facts > 0 ? [count(facts, "fact")] : []), ...(messages > 0 ? [count(messages, "message")] : [])].join(" and ") || "nothing";

/** Formats of a style of dates. Swedish dates are those of ISO 8601. */
function formatsOf(style: DateStyle) {
  const iso = style === "iso";
  const locale = iso ? "sv-SE" : style === "system" ? undefined : style;
  const format = (options: Intl.DateTimeFormatOptions) => {
    // Made when it is first used: each takes milliseconds.
    let write: ((time: Date) => string) | undefined;
    return (time: string | Date) => (write ??= new Intl.DateTimeFormat(locale, options).format)(new Date(time));
  };
  const digits = iso ? "2-digit" : "numeric";
  const time = { hour: digits, minute: "2-digit" } as const;
  const dayOfYear = { day: "numeric", month: "short" } as const;
  const date = format(iso ? { dateStyle: "short" } : { ...dayOfYear, year: "numeric" });
  // A date that messages tell begins in UTC.
  const toldYear = { timeZone: "UTC", year: "numeric" } as const;
  const toldMonth = { ...toldYear, month: iso ? "2-digit" : "long" } as const;
  const told = { YEAR: format(toldYear), MONTH: format(toldMonth), DAY: format({ ...toldMonth, day: digits }) };
  return { told, clock: format(time), weekday: format({ ...time, weekday: "short" }), shortDate: iso ? date : format(dayOfYear), date };
}

const formats = computed(() => formatsOf(dateStyle.current.value));

/** "10:02" */
export const clock = (time: string | Date): string => formats.value.clock(time);
/** "Fri 10:02" */
export const weekday = (time: Date): string => formats.value.weekday(time);
/** "3 Nov 2024" */
export const date = (time: string): string => formats.value.date(time);
/** "3 November 2024", "November 2024", "2024": a date that messages tell, as exactly as they tell it. */
export const toldDate = (time: string, precision: "DAY" | "MONTH" | "YEAR"): string => formats.value.told[precision](time);
/** "3 Nov 2024, 10:02". Default: in the chosen style. */
export function moment(time: Date, style = dateStyle.current.value): string {
  const write = formatsOf(style);
  return `${write.date(time)}, ${write.clock(time)}`;
}

const isSameDay = (a: Date, b: Date): boolean => a.toDateString() === b.toDateString();

/** "10:02" today, else "3 Nov 2024, 10:02". */
export function clockOrMoment(iso: string, now = new Date()): string {
  const time = new Date(iso);
  return isSameDay(time, now) ? clock(time) : moment(time);
}

const dateOf = (time: Date, now: Date): string => (time.getFullYear() === now.getFullYear() ? formats.value.shortDate : formats.value.date)(time);

/** "Today", "Yesterday", "3 Nov", "3 Nov 2024". */
export function dayName(time: Date, now = new Date()): string {
  if (isSameDay(time, now)) return "Today";
  return isSameDay(time, new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1)) ? "Yesterday" : dateOf(time, now);
}

/** "today 10:02", "3 Nov", "3 Nov 2024". */
export function day(iso: string, now = new Date()): string {
  const time = new Date(iso);
  return isSameDay(time, now) ? `today ${clock(time)}` : dateOf(time, now);
}

/** "just now", "5 min ago", "yesterday", "3 Nov". */
export function ago(iso: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return minutes < 48 * 60 ? "yesterday" : day(iso, new Date(now));
}

/** What the weight of a fact is. `halfLife`: in days, if its relation has one. */
export const weightText = (weight: number, halfLife: number | null | undefined): string =>
  `${weight.toFixed(2)}: what was said for it, added up.${halfLife == null ? "" : ` It halves every ${formatDays(halfLife)} unless it is said again.`}`;

/** 0.667 -> "67 %". */
export const percent = (share: number): string => `${Math.round(share * 100)} %`;
export const milliseconds = (ms: number): string => (ms < 1 ? "under 1 ms" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export const transportName = (name: TransportName | null): string => (name === "websocket" ? "WebSocket" : name === "sse" ? "server-sent events" : "data channel");

/** 180 -> "6 months". */
export function formatDays(days: number): string {
  if (days >= 700) return count(Math.round(days / 365), "year");
  if (days >= 60) return count(Math.round(days / 30.4), "month");
  return days >= 14 ? count(Math.round(days / 7), "week") : count(Math.round(days), "day");
}
