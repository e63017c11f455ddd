// The lists of the Memory page. Own and shared memory are separate lists of the server, and so are notes; here they are one.
import type { EntityFilter, FactFilter } from "@relevantic/recall";
import { handleError } from "../../state/app.ts";
import { client } from "../../state/login.ts";
import { FactCount, FactPage, SessionPage, ThingPage, type KnownFact, type SessionItem, type Thing } from "../generated/operations.ts";
import { LiveList } from "./live-list.ts";
import { MergedPages, type CountedPage, type ReadPage } from "./merged-pages.ts";
import { changedOnly, endOf } from "./past.ts";
import { statuses, type Filters } from "./place.ts";

interface Connection<Row> {
  nodes: Row[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  /** Absent after the first page. */
  totalCount: number | null;
}

const toPage = <Row>({ nodes, pageInfo, totalCount }: Connection<Row>): CountedPage<Row> => ({
  rows: nodes, next: pageInfo.hasNextPage ? pageInfo.endCursor : null, total: totalCount ?? null,
});

/** Which memories to read: own (false), shared (true). Visitors have no shared memory. */
const memories = (whose: Filters["whose"], mayReadShared: boolean): boolean[] =>
  [...(whose === "shared" ? [] : [false]), ...(mayReadShared && whose !== "own" ? [true] : [])];

export interface Reader {
  readonly mayReadShared: boolean;
  /** Relations of notes, which the server lists only by their own relation. */
  readonly noteRelations: readonly string[];
}

function factFilter(filters: Filters): FactFilter {
  const { text, status, relation, belief, session, entity, asOf } = filters;
  return {
    ...(text && { text }), ...(status && { status }), ...(relation && { relation }), ...(session && { sessionId: session }), ...(entity && { entityId: entity }),
    ...(belief && { minBelief: Number(belief) / 100 }), ...(asOf && { asOf: endOf(asOf).toISOString() }),
  };
}

/** The lists of the server that contain these facts: own and shared, facts and notes. */
function factLists(filters: Filters, { mayReadShared, noteRelations }: Reader): Array<{ filter: FactFilter; shared: boolean }> {
  const filter = factFilter(filters);
  const kinds = filter.relation ? [filter] : [filter, ...noteRelations.map((relation) => ({ ...filter, relation }))];
  return memories(filters.whose, mayReadShared).flatMap((shared) => kinds.map((kind) => ({ filter: kind, shared })));
}

const readFacts = (filters: Filters, reader: Reader) => factLists(filters, reader).map((list): ReadPage<KnownFact> => async (after) =>
  toPage((await client.graphql(FactPage, { ...list, after, count: after === null })).facts));

/** What was learned, ended or retracted since. The server lists only what has ended by both times; the rest is among the latest changes. */
const readChanges = (filters: Filters, reader: Reader) => statuses.filter((status) => !filters.status || filters.status === status).flatMap((status) =>
  status === "ENDED" ? readFacts({ ...filters, status }, reader) : readFacts({ ...filters, status, asOf: "" }, reader).map((read) => changedOnly(read, filters.asOf)));

const latestFirst = (a: { updatedAt: string }, b: { updatedAt: string }) => a.updatedAt > b.updatedAt;

/** Facts and notes, latest change first. */
export function factList(filters: Filters, reader: Reader): LiveList<KnownFact> {
  const lists = (filters.changes ? readChanges : readFacts)(filters, reader);
  return new LiveList(() => new MergedPages(lists, latestFirst), (fact) => `${fact.updatedAt} ${fact.subject.name} ${fact.object?.name}`, handleError);
}

/** How many facts held at `asOf` and still hold. */
export async function countUnchanged(filters: Filters, reader: Reader): Promise<number> {
  const lists = factLists({ ...filters, status: "ACTIVE" }, reader);
  const counts = await Promise.all(lists.map(async (list) => (await client.graphql(FactCount, list)).facts.totalCount ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Entities, most mentioned first. */
export function thingList({ text, type, session, whose }: Filters, { mayReadShared }: Reader): LiveList<Thing> {
  const filter: EntityFilter = { ...(text && { text }), ...(type && { type }), ...(session && { sessionId: session }) };
  const lists = memories(whose, mayReadShared).map((shared): ReadPage<Thing> => async (after) => toPage((await client.graphql(ThingPage, { filter, after, shared, count: after === null })).entities));
  return new LiveList(() => new MergedPages(lists, (a, b) => a.mentionCount > b.mentionCount), (thing) => `${thing.updatedAt} ${thing.name} ${thing.mentionCount}`, handleError);
}

/** Sessions, latest change first. */
export function sessionList({ whose }: Filters, { mayReadShared }: Reader): LiveList<SessionItem> {
  const lists = memories(whose, mayReadShared).map((shared): ReadPage<SessionItem> => async (after) => toPage((await client.graphql(SessionPage, { after, shared, count: after === null })).sessions));
  return new LiveList(() => new MergedPages(lists, latestFirst), (session) => `${session.updatedAt} ${session.title} ${session.facts.totalCount}`, handleError);
}
