// What a merge and a split change, in words.
import { manyOf } from "../../common/state/words.ts";
import type { MergePreviewResult, SplitPreviewResult } from "./generated/operations.ts";

export type MergeCounts = Omit<MergePreviewResult["mergeEntities"], "errors">;

/** "it would relate Anna to Anna". */
const becauseOfSelf = (count: number, { name, isViewer }: { name: string; isViewer: boolean }) =>
  `because ${count === 1 ? "it" : "they"} would relate ${isViewer ? "you to yourself" : `${name} to ${name}`}`;

/** "3 mentions and 5 facts move, 1 fact becomes one with a fact that is there." `stays`: the entity that stays. */
export function describeMerge({ mentionsMoved, factsMoved, factsJoined, factsRemoved }: MergeCounts, stays: { name: string; isViewer: boolean }): string {
  const moving = [...(mentionsMoved > 0 ? [manyOf(mentionsMoved, "mention")] : []), ...(factsMoved > 0 ? [manyOf(factsMoved, "fact")] : [])];
  const parts = [
    ...(moving.length > 0 ? [`${moving.join(" and ")} ${mentionsMoved + factsMoved === 1 ? "moves" : "move"}`] : []),
    ...(factsJoined > 0 ? [`${manyOf(factsJoined, "fact")} ${factsJoined === 1 ? "becomes" : "each become"} one with a fact that is there`] : []),
    ...(factsRemoved > 0 ? [`${manyOf(factsRemoved, "fact")} ${factsRemoved === 1 ? "is" : "are"} deleted ${becauseOfSelf(factsRemoved, stays)}`] : []),
  ];
  return `${parts.join(", ") || "No mention and no fact moves"}.`;
}

export type SplitCounts = Omit<SplitPreviewResult["unmergeEntities"], "errors">;

/** "3 mentions and 5 facts move to Anna." */
export function describeSplit({ mentionsMoved, factsMoved }: SplitCounts, name: string): string {
  const moving = [...(mentionsMoved > 0 ? [manyOf(mentionsMoved, "mention")] : []), ...(factsMoved > 0 ? [manyOf(factsMoved, "fact")] : [])];
  return moving.length === 0 ? `No mention and no fact moves to ${name}.` : `${moving.join(" and ")} ${mentionsMoved + factsMoved === 1 ? "moves" : "move"} to ${name}.`;
}
