// How a fact differs between two days.
import { isBy } from "../../common/state/day.ts";
import type { KnownFact } from "../generated/operations.ts";

export type FactChange = "learned" | "ended" | "retracted";
export const factChanges: readonly FactChange[] = ["learned", "ended", "retracted"];

/** What became of a fact of the list of differences since the end of the first day. It held then, or at the end of the second day. */
export function changeOf({ status, statedAt, endStatedAt }: Pick<KnownFact, "status" | "statedAt" | "endStatedAt">, firstDay: string): FactChange {
  const held = isBy(statedAt, firstDay) && !isBy(endStatedAt, firstDay);
  return !held ? "learned" : status === "RETRACTED" ? "retracted" : "ended";
}
