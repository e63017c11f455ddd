// The lists of the server that hold the facts of some filters. Own and shared memory are separate lists, and so are notes.
import type { EntityType, FactFilter } from "@relevantic/recall";
import { endOf, startOf } from "./day.ts";
import type { CountedPage, ReadPage } from "./merged-pages.ts";
import type { Filters } from "./place.ts";

export interface Connection<Row> {
  nodes: Row[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  /** Absent after the first page. */
  totalCount: number | null;
}

export const toPage = <Row>({ nodes, pageInfo, totalCount }: Connection<Row>): CountedPage<Row> => ({
  rows: nodes, next: pageInfo.hasNextPage ? pageInfo.endCursor : null, total: totalCount ?? null,
});

/** Which memories to read: own (false), shared (true). Visitors have no shared memory. */
export const memories = (whose: Filters["whose"], mayReadShared: boolean): boolean[] =>
  [...(whose === "shared" ? [] : [false]), ...(mayReadShared && whose !== "own" ? [true] : [])];

export interface Reader {
  readonly mayReadShared: boolean;
  /** Relations of notes, which the server lists only by their own relation. */
  readonly noteRelations: readonly string[];
}

function factFilter(filters: Filters): FactFilter {
  const { text, status, relation, belief, session, entity, type, source, since, before, asOf, changes, until } = filters;
  return {
    ...(text && { text }), ...(status && { status }), ...(relation && { relation }), ...(session && { sessionId: session }), ...(entity && { entityId: entity }),
    ...(type && { entityType: type }), ...(source && { source }),
    ...(since && { changedSince: startOf(since).toISOString() }), ...(before && { changedBefore: startOf(before).toISOString() }),
    ...(belief && { minBelief: Number(belief) / 100 }), ...(changes ? { differsBetween: { from: endOf(asOf).toISOString(), ...(until && { until: endOf(until).toISOString() }) } } : asOf && { asOf: endOf(asOf).toISOString() }),
  };
}

export interface FactList {
  readonly filter: FactFilter;
  readonly shared: boolean;
}

/** The lists that contain these facts: own and shared, facts and notes. */
export function factLists(filters: Filters, { mayReadShared, noteRelations }: Reader): FactList[] {
  const filter = factFilter(filters);
  const kinds = filter.relation ? [filter] : [filter, ...noteRelations.map((relation) => ({ ...filter, relation }))];
  return memories(filters.whose, mayReadShared).flatMap((shared) => kinds.map((kind) => ({ filter: kind, shared })));
}

/** Reads these lists. `request` asks the server for a page, and with `count` for the length of the list. */
export const readFactLists = <Row>(lists: readonly FactList[], request: (page: FactList & { after: string | null; count: boolean }) => Promise<Connection<Row>>) =>
  lists.map((list): ReadPage<Row> => async (after) => toPage(await request({ ...list, after, count: after === null })));

export const latestFirst = (a: { updatedAt: string }, b: { updatedAt: string }): boolean => a.updatedAt > b.updatedAt;

interface Side { readonly name: string; readonly type: EntityType }

/** Differs if two states of a fact look different in a list. */
export const versionOfFact = ({ updatedAt, subject, object }: { updatedAt: string; subject: Side; object: Side | null }): string =>
  [updatedAt, subject.name, subject.type, object?.name, object?.type].join(" ");
