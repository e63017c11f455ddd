// The list of entities.
import { useCallback } from "preact/hooks";
import type { Thing } from "../generated/operations.ts";
import { useLiveList } from "../../common/state/hooks.ts";
import { thingList } from "../state/lists.ts";
import type { Place } from "../../common/state/place.ts";
import { lower, nameOf, typeWord } from "../../common/state/words.ts";
import { ThingFilters } from "./filters.tsx";
import { ListView, Row, totalText } from "./list-view.tsx";
import { ThingDetail } from "./thing-detail.tsx";
import { strings } from "../strings.ts";

export function ThingsView({ place }: { place: Place }) {
  const { list } = useLiveList(place.filters, thingList);
  const render = useCallback((thing: Thing, tabIndex: 0 | -1) => (
    <Row place={place} id={thing.id} tabIndex={tabIndex}>
      <span class="name" data-type={lower(thing.type)}>{nameOf(thing)}</span>
      <span class="meta">
        <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span>
        {thing.shared && <span class="badge">{strings.shared}</span>}
        <span>{strings.thing.mentions(thing.mentionCount)}</span>
        {thing.aliases.length > 0 && <span class="aliases">{strings.thing.aliases(thing.aliases.join(", "))}</span>}
      </span>
    </Row>
  ), [place]);
  return (
    <ListView
      label={strings.views.things} list={list} place={place} render={render} empty={strings.thing.none} hint={strings.thing.hint}
      head={<><ThingFilters place={place} /><p class="total" role="status">{totalText(list, "name")}{list.rows.value.length > 0 && strings.thing.order}</p></>}
    >
      {place.id && <ThingDetail id={place.id} />}
    </ListView>
  );
}
