// The filters of a list of the Memory page.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { EntityField } from "../../common/parts/entity-field.tsx";
import { AsOf, ChangedDays, Choice, ConfidenceChoice, FilterBar, RelationChoice, SessionChoice, SourceChoice, StatusChoice, TypeChoice, WhoseChoice } from "../../common/parts/filters.tsx";
import { useLoaded, useSettled } from "../../common/state/hooks.ts";
import { filtersInUrl, orders, placeHref, setFilters, statuses, unfiltered, withFilters, withoutList, type Filters, type Place } from "../../common/state/place.ts";
import { changeWord, nameOf } from "../../common/state/words.ts";
import { graphHref } from "../../state/route.ts";
import { client } from "../state/context.ts";
import { orderLabel } from "../state/orders.ts";
import { strings } from "../strings.ts";

const TYPING_PAUSE_MS = 150;

/** Moves the focus over the filters to the row that the arrow keys start from. */
const focusList = () => document.querySelector<HTMLElement>(".list [data-row][tabindex='0']")?.focus();

function Search({ place, label }: { place: Place; label: string }) {
  const id = useId();
  const [text, setText] = useState(place.filters.text);
  const settled = useSettled(text, TYPING_PAUSE_MS);
  /** The text in the URL as this field last wrote or took it. */
  const written = useRef(text);
  useEffect(() => {
    if (settled === written.current) return;
    written.current = settled;
    setFilters({ text: settled });
  }, [settled]);
  // Takes the text of another link, such as "Clear". The text that the field itself wrote may be older than what the user has typed since.
  useEffect(() => {
    const { text: now } = filtersInUrl();
    if (now === written.current) return;
    written.current = now;
    setText(now);
  }, [place.filters.text]);
  return (
    <div class="search">
      <label class="unseen" for={id}>{label}</label>
      <input id={id} type="search" placeholder={label} value={text} autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="button" class="skip" onClick={focusList}>{strings.filters.skip}</button>
    </div>
  );
}

/** Facts about one entity. */
function About({ place }: { place: Place }) {
  const [text, setText] = useState("");
  const { entity } = place.filters;
  const name = useLoaded(entity, async () => (entity ? nameOf(await client.entity(entity)) : ""));
  if (entity) {
    return <button type="button" class="about" aria-label={strings.filters.removeAbout(name.phase === "ready" ? name.value : "")} onClick={() => { setText(""); setFilters({ entity: "" }); }}>{strings.filters.aboutOne(name.phase === "ready" ? name.value : "…")} <span aria-hidden="true">×</span></button>;
  }
  return <EntityField label={strings.filters.about} hideLabel text={text} placeholder={strings.filters.aboutAnyone} onText={setText} onChoose={(thing) => setFilters({ entity: thing.id })} />;
}

const PlaceFilters = ({ place, search, children }: { place: Place; search: string; children: ComponentChildren }) => (
  <FilterBar filters={place.filters} clearHref={placeHref({ ...unfiltered(place), id: place.id })} search={<Search place={place} label={search} />}>{children}</FilterBar>
);

export function FactFilters({ place }: { place: Place }) {
  const { filters } = place;
  return (
    <PlaceFilters place={place} search={strings.filters.searchFacts}>
      {!filters.changes && <AsOf filters={filters} />}
      <About place={place} />
      <RelationChoice filters={filters} />
      <TypeChoice filters={filters} />
      {filters.changes
        ? !filters.until && <Choice filters={filters} name="status" label={strings.filters.change} any={strings.filters.anyChange} options={statuses.map((s) => [s, changeWord[s]])} />
        : !filters.asOf && <><StatusChoice filters={filters} /><ConfidenceChoice filters={filters} /></>}
      <SourceChoice filters={filters} />
      <SessionChoice filters={filters} />
      <WhoseChoice filters={filters} />
      {!filters.changes && <a class="clear" href={withFilters(graphHref(), { ...filters, ...withoutList })}>{strings.filters.inGraph}</a>}
      {!filters.asOf && <ChangedDays filters={filters} />}
    </PlaceFilters>
  );
}

/** The order of the facts of today. */
export function FactOrderChoice({ filters }: { filters: Filters }) {
  const choose = (value: string) => setFilters({ order: orders.find((order) => order === value) ?? "" });
  return (
    <label class="sort">{strings.filters.sortedBy}
      <select value={filters.order} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{orderLabel.LATEST_CHANGE}</option>
        {orders.map((order) => <option key={order} value={order}>{orderLabel[order]}</option>)}
      </select>
    </label>
  );
}

export function ThingFilters({ place }: { place: Place }) {
  const { filters } = place;
  return (
    <PlaceFilters place={place} search={strings.filters.searchNames}>
      <TypeChoice filters={filters} />
      <SessionChoice filters={filters} />
      <WhoseChoice filters={filters} />
    </PlaceFilters>
  );
}

export function SessionFilters({ place }: { place: Place }) {
  const { filters } = place;
  return (
    <PlaceFilters place={place} search={strings.filters.searchTitles}>
      <Choice filters={filters} name="pinned" label={strings.filters.pinned} any={strings.filters.pinnedOrNot} options={[["yes", strings.filters.pinned], ["no", strings.filters.notPinned]]} />
      <Choice filters={filters} name="archived" label={strings.filters.archived} any={strings.filters.archivedOrNot} options={[["yes", strings.filters.archived], ["no", strings.filters.notArchived]]} />
      <WhoseChoice filters={filters} />
    </PlaceFilters>
  );
}
