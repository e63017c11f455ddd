// What the graph shows, in words.
import { endOf } from "../../common/state/day.ts";
import { manyOf, nameOf } from "../../common/state/words.ts";
import { clockOrMoment, date } from "../../state/format.ts";
import { knownAt } from "../../state/offline.ts";
import type { Network } from "../state/network.ts";
import { addressHref, type GraphAddress } from "../state/place.ts";
import { MAX_THINGS, type GraphStore } from "../state/store.ts";

const sizeOf = ({ things, links }: Network) => `${manyOf(things.length, "thing")}, ${manyOf(links.reduce((sum, link) => sum + link.facts.length, 0), "fact")}`;

/** What "Show everything" left out. Empty: nothing. */
function leftOut({ things, facts, total, complete }: NonNullable<GraphStore["everything"]["value"]>): string {
  if (!complete) return total === null ? "; more facts are left out" : `; ${manyOf(Math.max(0, total - facts), "older fact")} left out`;
  return things > MAX_THINGS ? `; ${manyOf(things - MAX_THINGS, "thing")} left out` : "";
}

export function Summary({ store, address }: { store: GraphStore; address: GraphAddress }) {
  const network = store.network.value;
  const everything = store.everything.value;
  const centre = store.centre.value;
  const { asOf } = address.filters;
  const reading = everything !== null && store.readingAll.value;
  const hidden = centre && !everything ? (network.hidden.get(centre.id) ?? 0) : 0;
  const text = store.phase.value === "loading" ? "" : reading ? "Reading everything…"
    : everything ? `${sizeOf(network)}${leftOut(everything)}`
    : centre ? `${sizeOf(network)} around ${nameOf(centre)}${hidden > 0 ? `; ${manyOf(hidden, "neighbour")} with less weight not shown` : ""}` : "";
  return (
    <p class="total" role="status">
      {knownAt.value !== null && <><b>Offline, as known at {clockOrMoment(knownAt.value)}.</b> </>}
      {asOf && <><b>The memory of {date(endOf(asOf).toISOString())}.</b> <a href={addressHref({ ...address, filters: { ...address.filters, asOf: "" } })}>Back to today</a> </>}{text}
      {/* Not for screen readers: it changes several times a second. */}
      {reading && <span aria-hidden="true"> {manyOf(everything.facts, "fact")}</span>}
    </p>
  );
}

/** Says what the keyboard has selected on the canvas. */
export function Selection({ store }: { store: GraphStore }) {
  const { things, indexes, linksOf } = store.network.value;
  const index = indexes.get(store.selected.value ?? "");
  const thing = index === undefined ? undefined : things[index];
  return <p class="unseen" role="status">{thing && index !== undefined && `${nameOf(thing)}, ${manyOf(linksOf[index]?.length ?? 0, "neighbour")}${store.expanded.value.has(thing.id) ? ", expanded" : ""}`}</p>;
}
