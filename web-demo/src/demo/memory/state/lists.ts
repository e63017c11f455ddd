// The lists of the Memory page. Own and shared memory are separate lists of the server, and so are notes; here they are one.
import type { EntityFilter, FactOrder, SessionFilter } from "@relevantic/recall";
import { factLists, latestFirst, memories, readFactLists, toPage, versionOfFact, type FactList, type Reader } from "../../common/state/fact-lists.ts";
import { LiveList } from "../../common/state/live-list.ts";
import { MergedPages, type ReadPage } from "../../common/state/merged-pages.ts";
import type { Filters } from "../../common/state/place.ts";
import { read } from "../../state/offline.ts";
import { handleError } from "../../state/problem.ts";
import { FactCount, FactPage, SessionPage, ThingPage, type KnownFact, type SessionItem, type Thing } from "../generated/operations.ts";
import { comesFirst } from "./orders.ts";

const readFacts = (lists: readonly FactList[], orderBy: FactOrder) => readFactLists<KnownFact>(lists, async (page) => (await read(FactPage, { ...page, orderBy })).facts);

/** Facts and notes in the chosen order. */
export function factList(filters: Filters, reader: Reader): LiveList<KnownFact> {
  const order = filters.order || "LATEST_CHANGE";
  const lists = readFacts(factLists(filters, reader), order);
  return new LiveList(() => new MergedPages(lists, comesFirst[order]), order === "LATEST_CHANGE" ? versionOfFact : null, handleError);
}

/** How many facts held at the end of the day and still hold. */
export async function countUnchanged(filters: Filters, reader: Reader): Promise<number> {
  const lists = factLists({ ...filters, changes: "", status: "ACTIVE" }, reader);
  const counts = await Promise.all(lists.map(async (list) => (await read(FactCount, list)).facts.totalCount ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Entities, most mentioned first. */
export function thingList({ text, type, session, whose }: Filters, { mayReadShared }: Reader): LiveList<Thing> {
  const filter: EntityFilter = { ...(text && { text }), ...(type && { type }), ...(session && { sessionId: session }) };
  const lists = memories(whose, mayReadShared).map((shared): ReadPage<Thing> => async (after) => toPage((await read(ThingPage, { filter, after, shared, count: after === null })).entities));
  return new LiveList(() => new MergedPages(lists, (a, b) => a.mentionCount > b.mentionCount), null, handleError);
}

/** Sessions: pinned ones, then the others, each with the latest message first. */
export function sessionList({ text, pinned, archived, whose }: Filters, { mayReadShared }: Reader): LiveList<SessionItem> {
  const filter: SessionFilter = { ...(text && { text }), ...(archived && { archived: archived === "yes" }) };
  // The server lists the latest first, whether pinned or not.
  const kinds = [...(pinned === "no" ? [] : [true]), ...(pinned === "yes" ? [] : [false])].map((isPinned) => ({ ...filter, pinned: isPinned }));
  const lists = memories(whose, mayReadShared).flatMap((shared) => kinds.map((kind): ReadPage<SessionItem> => async (after) => toPage((await read(SessionPage, { filter: kind, after, shared, count: after === null })).sessions)));
  return new LiveList(() => new MergedPages(lists, (a, b) => (a.pinned === b.pinned ? latestFirst(a, b) : a.pinned)), null, handleError);
}
