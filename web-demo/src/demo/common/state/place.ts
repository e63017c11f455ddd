// What the Memory page shows, as part of the URL: #/memory/{view}/{id}?{filters}. The graph has the same filters.
import type { EntityType, FactOrder, FactStatus, SearchSource } from "@relevantic/recall";
import { memoryHref, redirect } from "../../state/route.ts";

export const views = ["facts", "things", "sessions", "data"] as const;
export type View = (typeof views)[number];

export const statuses: readonly FactStatus[] = ["ACTIVE", "ENDED", "RETRACTED"];
export const sources: readonly SearchSource[] = ["MESSAGES", "DOCUMENTS"];
/** The orders of facts other than the default, which is the latest change first. */
export const orders = ["LATEST_LEARNED", "MOST_BELIEVED", "LEAST_BELIEVED"] as const satisfies readonly FactOrder[];
export const entityTypes: readonly EntityType[] = ["PERSON", "ORGANIZATION", "PLACE", "PROJECT", "TOOL", "CONCEPT", "EVENT", "THING"];

export interface Filters {
  /** Words in the name of the subject or object, or in the value. */
  text: string;
  status: FactStatus | "";
  relation: string;
  /** Least belief in percent. "": any. */
  belief: string;
  session: string;
  /** Entity that the facts are about. */
  entity: string;
  /** Type of an entity, or of either side of a fact. */
  type: EntityType | "";
  /** Own memory, shared memory or both. */
  whose: "own" | "shared" | "";
  /** Where the evidence of a fact comes from. */
  source: SearchSource | "";
  /** Facts that last changed on this day or later, such as "2024-03-31". */
  since: string;
  /** Facts that last changed before this day. */
  before: string;
  /** The order of facts. "": latest change first. */
  order: (typeof orders)[number] | "";
  /** Of sessions. */
  pinned: "yes" | "no" | "";
  archived: "yes" | "no" | "";
  /** The memory as it was at the end of this day, such as "2024-03-31". "": today. */
  asOf: string;
  /** Only what has changed since `asOf`. */
  changes: "yes" | "";
  /** With `changes`: only what had changed at the end of this later day. "": until now. */
  until: string;
}

/** Filters of the memory of today. */
export const present = { asOf: "", changes: "", until: "", status: "" } satisfies Partial<Filters>;
/** Resets what only the memory of today has. Belief and last change are those of today. */
export const withoutToday = { status: "", belief: "", since: "", before: "", order: "" } satisfies Partial<Filters>;
/** Resets what the graph does not have. */
export const withoutList = { changes: "", until: "", order: "", pinned: "", archived: "" } satisfies Partial<Filters>;
/** Resets what only facts have. */
const withoutFacts = { changes: "", until: "", order: "", asOf: "", source: "", since: "", before: "" } satisfies Partial<Filters>;

export const noFilters: Filters = { text: "", status: "", relation: "", belief: "", session: "", entity: "", type: "", whose: "", source: "", since: "", before: "", order: "", pinned: "", archived: "", asOf: "", changes: "", until: "" };

export interface Place {
  view: View;
  /** The open fact, entity or session. */
  id: string | null;
  filters: Filters;
}

const oneOf = <T extends string>(allowed: readonly T[], value: string | null): T | "" => allowed.find((a) => a === value) ?? "";

export function decodeId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id; // Invalid percent-encoding: no such id exists.
  }
}

/** The same list without its search and filters. The dates and the order stay. */
export const unfiltered = ({ view, filters: { asOf, changes, until, order } }: Place) => ({ view, filters: { asOf, changes, until, order } });

/** How many filters are set, with the search. */
export const countFilters = ({ asOf: _asOf, changes: _changes, until: _until, order: _order, ...rest }: Filters): number => Object.values(rest).filter((value) => value !== "").length;

/** Reads the part of the hash after "?". */
export function parseFilters(search: string): Filters {
  const given = new URLSearchParams(search);
  const text = (name: keyof Filters) => given.get(name) ?? "";
  const day = (name: keyof Filters) => (/^\d{4}-\d\d-\d\d$/.test(text(name)) ? text(name) : "");
  const asOf = day("asOf");
  const changes = asOf && oneOf(["yes"], given.get("changes"));
  const until = changes && day("until") > asOf ? day("until") : "";
  return {
    text: text("text"), relation: text("relation"), session: text("session"), entity: text("entity"),
    belief: /^\d{1,3}$/.test(text("belief")) ? text("belief") : "",
    // The status is that of today.
    status: until ? "" : oneOf(statuses, given.get("status")), type: oneOf(entityTypes, given.get("type")), whose: oneOf(["own", "shared"], given.get("whose")),
    source: oneOf(sources, given.get("source")),
    since: asOf ? "" : day("since"), before: asOf ? "" : day("before"), order: asOf ? "" : oneOf(orders, given.get("order")),
    pinned: oneOf(["yes", "no"], given.get("pinned")), archived: oneOf(["yes", "no"], given.get("archived")),
    asOf, changes, until,
  };
}

/** Adds filters to a hash. */
export function withFilters(path: string, filters: Partial<Filters>): string {
  const search = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")).toString();
  return search ? `${path}?${search}` : path;
}

/** Reads the part of the hash after `#/memory`. */
export function parsePlace(rest: string): Place {
  const [path = "", search = ""] = rest.split("?");
  const [, view, id] = path.split("/");
  const shown = views.find((v) => v === view) ?? "facts";
  const filters = parseFilters(search);
  // The server knows the past of facts only.
  return { view: shown, id: id ? decodeId(id) : null, filters: shown === "facts" ? filters : { ...filters, ...withoutFacts } };
}

export function placeHref({ view, id = null, filters = {} }: { view: View; id?: string | null; filters?: Partial<Filters> }): string {
  const path = id ? `/${view}/${encodeURIComponent(id)}` : view === "facts" ? "" : `/${view}`;
  return withFilters(`${memoryHref}${path}`, filters);
}

/** Reads the filters of the URL, which may be newer than the last rendering. */
export const filtersInUrl = (): Filters => parseFilters(location.hash.split("?")[1] ?? "");

/** Changes filters without a new entry in the browser's history. */
export function setFilters(change: Partial<Filters>): void {
  const [path = ""] = location.hash.split("?");
  redirect(withFilters(path, { ...filtersInUrl(), ...change }));
}
