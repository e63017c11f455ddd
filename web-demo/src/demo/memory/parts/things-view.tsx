// The list of entities.
import { useCallback } from "preact/hooks";
import type { Thing } from "../generated/operations.ts";
import { useLiveList } from "../../common/state/hooks.ts";
import { thingList } from "../state/lists.ts";
import type { Place } from "../../common/state/place.ts";
import { lower, manyOf, nameOf, typeWord } from "../../common/state/words.ts";
import { ThingFilters } from "./filters.tsx";
import { ListView, Row, totalText } from "./list-view.tsx";
import { ThingDetail } from "./thing-detail.tsx";

export function ThingsView({ place }: { place: Place }) {
  const { list } = useLiveList(place.filters, thingList);
  const render = useCallback((thing: Thing, tabIndex: 0 | -1) => (
    <Row place={place} id={thing.id} tabIndex={tabIndex}>
      <span class="name" data-type={lower(thing.type)}>{nameOf(thing)}</span>
      <span class="meta">
        <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span>
        {thing.shared && <span class="badge">shared</span>}
        <span>{manyOf(thing.mentionCount, "mention")}</span>
        {thing.aliases.length > 0 && <span class="aliases">also {thing.aliases.join(", ")}</span>}
      </span>
    </Row>
  ), [place]);
  return (
    <ListView
      label="People and things" list={list} place={place} render={render} empty="Nobody and nothing is known by name yet." hint="Open a name to see what is known about it."
      head={<><ThingFilters place={place} /><p class="total" role="status">{totalText(list, "name")}{list.rows.value.length > 0 && ", most mentioned first"}</p></>}
    >
      {place.id && <ThingDetail id={place.id} />}
    </ListView>
  );
}
