// The lists of facts that the graph reads. Own and shared memory are separate lists of the server, and so are notes.
import type { FactOrder } from "@relevantic/recall";
import { factLists, latestFirst, readFactLists, versionOfFact, type FactList, type Reader } from "../../common/state/fact-lists.ts";
import { LiveList } from "../../common/state/live-list.ts";
import { MergedPages } from "../../common/state/merged-pages.ts";
import type { Filters } from "../../common/state/place.ts";
import { isNotKept, read as readKept } from "../../state/offline.ts";
import { reportProblem } from "../../state/problem.ts";
import { GraphFactPage, type GraphFact } from "../generated/operations.ts";

export type FactRows = LiveList<GraphFact>;

const showError = (error: unknown) => { if (!isNotKept(error)) reportProblem(error); };
const read = (lists: readonly FactList[], orderBy: FactOrder) => readFactLists<GraphFact>(lists, async (page) => (await readKept(GraphFactPage, { ...page, orderBy })).facts);
/** Notes connect nothing, so the graph has them only in the details. */
const withoutNotes = (reader: Reader): Reader => ({ ...reader, noteRelations: [] });

const latest = (lists: readonly FactList[]): FactRows => new LiveList(() => new MergedPages(read(lists, "LATEST_CHANGE"), latestFirst), versionOfFact, showError);

/** All facts that match the filters, the latest change first. */
export const allFacts = (filters: Filters, reader: Reader): FactRows => latest(factLists(filters, withoutNotes(reader)));

/** The facts of a thing, the most believed first. Belief is that of today, so the past has the latest change first. */
export function factsOf(thing: string, filters: Filters, reader: Reader): FactRows {
  const lists = factLists({ ...filters, entity: thing }, withoutNotes(reader));
  // A fact that becomes stronger does not move to the front, so a refresh reads all loaded pages again.
  return filters.asOf ? latest(lists) : new LiveList(() => new MergedPages(read(lists, "MOST_BELIEVED"), (a, b) => a.belief > b.belief), null, showError);
}

/** The notes that match the filters, the latest change first. */
export function notes(filters: Filters, reader: Reader): FactRows {
  const relations = reader.noteRelations.filter((name) => !filters.relation || filters.relation === name);
  return latest(relations.flatMap((relation) => factLists({ ...filters, relation }, reader)));
}
