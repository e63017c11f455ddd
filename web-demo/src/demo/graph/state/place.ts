// What the graph shows, as part of the URL: #/graph/{entity}?{filters}. The filters are those of the Memory page.
import { decodeId, parseFilters, withFilters, withoutList, type Filters } from "../../common/state/place.ts";
import { graphHref } from "../../state/route.ts";

export interface GraphAddress {
  /** The entity in the middle. null: the viewer's own. */
  centre: string | null;
  filters: Filters;
}

/** Reads the part of the hash after `#/graph`. The filter "about an entity" of the Memory page names the centre. */
export function parseAddress(rest: string): GraphAddress {
  const [path = "", search = ""] = rest.split("?");
  const id = path.split("/")[1];
  const filters = parseFilters(search);
  return { centre: id ? decodeId(id) : filters.entity || null, filters: { ...filters, ...withoutList, entity: "" } };
}

export const addressHref = ({ centre, filters }: GraphAddress): string => withFilters(graphHref(centre), filters);
