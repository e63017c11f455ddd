// What the graph shows, in words.
import { endOf } from "../../common/state/day.ts";
import { nameOf } from "../../common/state/words.ts";
import { clockOrMoment, date } from "../../state/format.ts";
import { knownAt } from "../../state/offline.ts";
import type { Network } from "../state/network.ts";
import { addressHref, type GraphAddress } from "../state/place.ts";
import { MAX_THINGS, type GraphStore } from "../state/store.ts";
import { strings } from "../strings.ts";

const sizeOf = ({ things, links }: Network) => strings.summary.size(things.length, links.reduce((sum, link) => sum + link.facts.length, 0));

/** What "Show everything" left out. Empty: nothing. */
function leftOut({ things, facts, total, complete }: NonNullable<GraphStore["everything"]["value"]>): string {
  if (!complete) return strings.summary.olderLeftOut(total === null ? null : Math.max(0, total - facts));
  return things > MAX_THINGS ? strings.summary.thingsLeftOut(things - MAX_THINGS) : "";
}

export function Summary({ store, address }: { store: GraphStore; address: GraphAddress }) {
  const network = store.network.value;
  const everything = store.everything.value;
  const centre = store.centre.value;
  const { asOf } = address.filters;
  const reading = everything !== null && store.readingAll.value;
  const hidden = centre && !everything ? (network.hidden.get(centre.id) ?? 0) : 0;
  const text = store.phase.value === "loading" ? "" : reading ? strings.summary.reading
    : everything ? `${sizeOf(network)}${leftOut(everything)}`
    : centre ? `${sizeOf(network)}${strings.summary.around(nameOf(centre), hidden)}` : "";
  return (
    <p class="total" role="status">
      {knownAt.value !== null && <><b>{strings.summary.offline(clockOrMoment(knownAt.value))}</b> </>}
      {asOf && <><b>{strings.summary.past(date(endOf(asOf).toISOString()))}</b> <a href={addressHref({ ...address, filters: { ...address.filters, asOf: "" } })}>{strings.summary.backToToday}</a> </>}{text}
      {/* Not for screen readers: it changes several times a second. */}
      {reading && <span aria-hidden="true"> {strings.summary.facts(everything.facts)}</span>}
    </p>
  );
}

/** Says what the keyboard has selected on the canvas. */
export function Selection({ store }: { store: GraphStore }) {
  const { things, indexes, linksOf } = store.network.value;
  const index = indexes.get(store.selected.value ?? "");
  const thing = index === undefined ? undefined : things[index];
  return <p class="unseen" role="status">{thing && index !== undefined && strings.summary.selected(nameOf(thing), linksOf[index]?.length ?? 0, store.expanded.value.has(thing.id))}</p>;
}
