// The list of entities.
import { useCallback } from "preact/hooks";
import type { Thing } from "../generated/operations.ts";
import { useMemoryPage } from "../state/context.ts";
import { useLiveList } from "../state/hooks.ts";
import { thingList } from "../state/lists.ts";
import { placeHref, type Place } from "../state/place.ts";
import { lower, manyOf, nameOf, typeWord } from "../state/words.ts";
import { ThingFilters } from "./filters.tsx";
import { ListBody, totalText } from "./list-body.tsx";
import { Pane } from "./pane.tsx";
import { ThingDetail } from "./thing-detail.tsx";
import { VirtualList } from "./virtual-list.tsx";

function ThingRow({ thing, href, open, tabIndex }: { thing: Thing; href: string; open: boolean; tabIndex: 0 | -1 }) {
  return (
    <div class="row" data-open={open || undefined}>
      <a href={href} data-row tabIndex={tabIndex} aria-current={open ? "true" : undefined}>
        <span class="name" data-type={lower(thing.type)}>{nameOf(thing)}</span>
        <span class="meta">
          <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span>
          {thing.shared && <span class="badge">shared</span>}
          <span>{manyOf(thing.mentionCount, "mention")}</span>
          {thing.aliases.length > 0 && <span class="aliases">also {thing.aliases.join(", ")}</span>}
        </span>
      </a>
    </div>
  );
}

export function ThingsView({ place }: { place: Place }) {
  const { reader } = useMemoryPage();
  const list = useLiveList(JSON.stringify([place.filters, reader.value]), () => thingList(place.filters, reader.value));
  const render = useCallback((thing: Thing, tabIndex: 0 | -1) => <ThingRow thing={thing} href={placeHref({ ...place, id: thing.id })} open={place.id === thing.id} tabIndex={tabIndex} />, [place]);
  return (
    <>
    <section class="list" aria-label="People and things">
      <ThingFilters place={place} />
      <p class="total" role="status">{totalText(list, "name")}{list.rows.value.length > 0 && ", most mentioned first"}</p>
      <ListBody list={list} place={place} empty="Nobody and nothing is known by name yet.">
        <VirtualList
          label="People and things" rows={list.rows.value} total={list.total.value} onNearEnd={() => void list.more()}
          render={render}
        />
      </ListBody>
    </section>
    <Pane place={place} hint="Open a name to see what is known about it.">{place.id && <ThingDetail id={place.id} />}</Pane>
    </>
  );
}
