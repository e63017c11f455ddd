// The orders of the list of facts.
import type { FactOrder } from "@relevantic/recall";
import { latestFirst } from "../../common/state/fact-lists.ts";
import type { KnownFact } from "../generated/operations.ts";

export const orderLabel: Record<FactOrder, string> = {
  LATEST_CHANGE: "Latest change", LATEST_LEARNED: "Learned last", MOST_BELIEVED: "Most certain", LEAST_BELIEVED: "Least certain",
};

type Ranked = Pick<KnownFact, "updatedAt" | "createdAt" | "belief">;

/**
 * Whether a fact comes before another. Merges lists of the server that have this order.
 *
 * The server orders by the belief as of the last change. The client knows only the belief of today, because facts do not tell
 * when they were weighed. So facts of different lists may be slightly out of order; those of one list never are.
 */
export const comesFirst: Record<FactOrder, (a: Ranked, b: Ranked) => boolean> = {
  LATEST_CHANGE: latestFirst,
  LATEST_LEARNED: (a, b) => a.createdAt > b.createdAt,
  MOST_BELIEVED: (a, b) => a.belief > b.belief,
  LEAST_BELIEVED: (a, b) => a.belief < b.belief,
};
