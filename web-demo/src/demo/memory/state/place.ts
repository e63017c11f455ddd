// What the Memory page shows, as part of the URL: #/memory/{view}/{id}?{filters}.
import type { EntityType, FactStatus } from "@relevantic/recall";
import { memoryHref, redirect } from "../../state/route.ts";

export const views = ["facts", "things", "sessions", "data"] as const;
export type View = (typeof views)[number];

export const statuses: readonly FactStatus[] = ["ACTIVE", "ENDED", "RETRACTED"];
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
  type: EntityType | "";
  /** Own memory, shared memory or both. */
  whose: "own" | "shared" | "";
  /** The memory as it was at the end of this day, such as "2024-03-31". "": today. */
  asOf: string;
  /** Only what has changed since `asOf`. */
  changes: "yes" | "";
}

export const noFilters: Filters = { text: "", status: "", relation: "", belief: "", session: "", entity: "", type: "", whose: "", asOf: "", changes: "" };

export interface Place {
  view: View;
  /** The open fact, entity or session. */
  id: string | null;
  filters: Filters;
}

const oneOf = <T extends string>(allowed: readonly T[], value: string | null): T | "" => allowed.find((a) => a === value) ?? "";

function decode(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id; // Invalid percent-encoding: no such id exists.
  }
}

/** The same list without its search and filters. The date stays. */
export const unfiltered = ({ view, filters: { asOf, changes } }: Place) => ({ view, filters: { asOf, changes } });

/** How many filters are set, with the search. */
export const countFilters = ({ filters: { asOf: _asOf, changes: _changes, ...rest } }: Place): number => Object.values(rest).filter((value) => value !== "").length;

/** Reads the part of the hash after `#/memory`. */
export function parsePlace(rest: string): Place {
  const [path = "", search = ""] = rest.split("?");
  const [, view, id] = path.split("/");
  const given = new URLSearchParams(search);
  const text = (name: keyof Filters) => given.get(name) ?? "";
  const shown = views.find((v) => v === view) ?? "facts";
  // The server knows the past of facts only.
  const asOf = shown === "facts" && /^\d{4}-\d\d-\d\d$/.test(text("asOf")) ? text("asOf") : "";
  return {
    view: shown,
    id: id ? decode(id) : null,
    filters: {
      text: text("text"), relation: text("relation"), session: text("session"), entity: text("entity"),
      belief: /^\d{1,3}$/.test(text("belief")) ? text("belief") : "",
      status: oneOf(statuses, given.get("status")), type: oneOf(entityTypes, given.get("type")), whose: oneOf(["own", "shared"], given.get("whose")),
      asOf, changes: asOf && oneOf(["yes"], given.get("changes")),
    },
  };
}

export function placeHref({ view, id = null, filters = {} }: { view: View; id?: string | null; filters?: Partial<Filters> }): string {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  const search = new URLSearchParams(set).toString();
  const path = id ? `/${view}/${encodeURIComponent(id)}` : view === "facts" ? "" : `/${view}`;
  return `${memoryHref}${path}${search ? `?${search}` : ""}`;
}

/** Changes filters without a new entry in the browser's history. Reads the URL, which may be newer than the last rendering. */
export function setFilters(change: Partial<Filters>): void {
  const place = parsePlace(location.hash.slice(memoryHref.length));
  redirect(placeHref({ ...place, filters: { ...place.filters, ...change } }));
}
