// What has changed since a past day. The server lists facts by when they were recorded, but a fact is known since the time of its message.
import { endOf, isBy } from "../../common/state/day.ts";
import type { ReadPage } from "../../common/state/merged-pages.ts";
import type { KnownFact } from "../generated/operations.ts";

/** After so many pages without a find, the list goes on only if the reader asks for it. */
const PAGES_WITHOUT_FIND = 10;
/** The server takes messages from up to a day in the future. A fact may therefore be stated after its last change. */
const AHEAD_MS = 24 * 60 * 60 * 1000;

/** Whether a fact was learned or retracted after a day. What was learned and retracted after it is no difference to today. */
function hasChanged({ status, statedAt, endStatedAt }: KnownFact, asOf: string): boolean {
  const held = isBy(statedAt, asOf) && !isBy(endStatedAt, asOf);
  return status === "ACTIVE" ? statedAt !== null && !isBy(statedAt, asOf) : held;
}

/** Before this time, nothing changed that is a difference to the end of the day. */
export const possibleChangeSince = (asOf: string): string => new Date(endOf(asOf).getTime() - AHEAD_MS).toISOString();

/** Leaves only facts that were learned or retracted after `asOf` in a list of changes. */
export function changedOnly(read: ReadPage<KnownFact>, asOf: string): ReadPage<KnownFact> {
  return async (after) => {
    let next = after;
    for (let pages = 1; ; pages += 1) {
      const page = await read(next);
      const rows = page.rows.filter((fact) => hasChanged(fact, asOf));
      next = page.next;
      if (rows.length > 0 || next === null || pages === PAGES_WITHOUT_FIND) return { rows, next, total: null };
    }
  };
}
