// When a fact began and ended, in words.
import type { DatePrecision } from "@relevantic/recall";
import { day, toldDate } from "../../state/format.ts";
import type { KnownFact } from "../generated/operations.ts";

type Time = readonly [word: string, iso: string, text: string];

/** A date that messages tell, else the day of the message, which is only a bound. */
const timeOf = (toldWord: string, told: string | null, precision: DatePrecision | null, word: string, stated: string | null): Time[] =>
  told && precision && precision !== "UNKNOWN" ? [[toldWord, told, toldDate(told, precision)]] : stated ? [[word, stated, day(stated)]] : [];

/** "since March 2024" or "stated 3 Nov"; "until 2025", "ended by 3 Nov" or "retracted 3 Nov". */
export const timesOf = (fact: KnownFact): Time[] => [
  ...timeOf("since", fact.validFrom, fact.validFromPrecision, "stated", fact.statedAt),
  ...timeOf("until", fact.validTo, fact.validToPrecision, fact.status === "RETRACTED" ? "retracted" : "ended by", fact.endStatedAt),
];
