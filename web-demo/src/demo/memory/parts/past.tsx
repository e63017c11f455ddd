// The memory of a past day: what the page says about it, and how it differs from today.
import { useEffect } from "preact/hooks";
import { date, day } from "../../state/format.ts";
import type { KnownFact } from "../generated/operations.ts";
import { useMemoryPage } from "../state/context.ts";
import { ComparedDays } from "../../common/parts/filters.tsx";
import { useLoaded } from "../../common/state/hooks.ts";
import { countUnchanged } from "../state/lists.ts";
import type { LiveList } from "../../common/state/live-list.ts";
import { endOf, isBy } from "../../common/state/day.ts";
import { placeHref, present, setFilters, type Filters, type Place } from "../../common/state/place.ts";
import { changeOf, factChanges } from "../state/past.ts";
import { strings } from "../strings.ts";

const words = strings.past;

/** Such as "31 Mar 2024". */
const nameOfDay = (asOf: string) => date(endOf(asOf).toISOString());
const todayHref = (place: Place) => placeHref({ ...place, filters: { ...place.filters, ...present } });

/** Says that the list shows the past, or how it differs from a later day. */
export function PastBanner({ place, filters }: { place: Place; filters: Filters }) {
  // The link that had the focus is gone.
  useEffect(() => () => void setTimeout(() => { if (document.activeElement === document.body) document.getElementById("main")?.focus(); }), []);
  const { asOf, changes, until } = filters;
  return (
    <div class="past" role="group" aria-label={words.label}>
      <p role="status">
        {changes
          ? <><b>{words.changed}</b>{words.period(nameOfDay(asOf), until ? nameOfDay(until) : null)}</>
          : <><b>{words.memory(nameOfDay(asOf))}</b>{words.atItsEnd}</>}{words.onlyToday}
      </p>
      <label><input type="checkbox" role="switch" checked={place.filters.changes !== ""} onChange={(event) => setFilters({ changes: event.currentTarget.checked ? "yes" : "", until: "", status: "" })} />{words.changedSince}</label>
      {place.filters.changes && <ComparedDays filters={place.filters} />}
      <a class="plain" href={todayHref(place)}>{words.backToToday}</a>
    </div>
  );
}

/** How many facts hold since the day without a change. */
function Unchanged({ filters }: { filters: Filters }) {
  const { reader } = useMemoryPage();
  const same = useLoaded(JSON.stringify([filters, reader.value]), () => countUnchanged(filters, reader.value));
  return same.phase === "ready" ? <>{words.unchanged(same.value)}</> : null;
}

/** "2 learned, 1 ended; 40 are the same". Only the number of all changes, as long as not all of them are loaded. */
export function Changes({ list, filters }: { list: LiveList<KnownFact>; filters: Filters }) {
  if (list.phase.value === "loading") return null;
  const kinds = list.rows.value.map((fact) => changeOf(fact, filters.asOf));
  const counts = factChanges.map((kind) => [kinds.filter((one) => one === kind).length, kind] as const).filter(([count]) => count > 0);
  return (
    <>
      {!list.complete ? words.changes(list.total.value ?? kinds.length) : counts.map(([count, kind]) => words.changesOfKind(count, kind)).join(", ") || words.noChanges}
      {!filters.until && <Unchanged filters={filters} />}
    </>
  );
}

/** What the fact was at the end of the day, and what it is now. `wasStated`: a message before that end stated it. */
export function PastVerdict({ fact, wasStated, place }: { fact: KnownFact; wasStated: boolean; place: Place }) {
  const { statedAt, endStatedAt, status } = fact;
  const { asOf } = place.filters;
  const began = statedAt !== null && isBy(statedAt, asOf);
  const [itWas, again, afterDay] = words.statedAgain;
  const [onDay, notKnown, statedLater] = words.notKnown;
  const [isPast, seeToday, toChange] = words.isPast;
  return (
    <div class="verdict">
      <p>
        {began ? <>{words.wasOn(nameOfDay(asOf))}<b>{isBy(endStatedAt, asOf) ? words.hadEnded : words.held}</b>{words.stated(day(statedAt))}</>
          : wasStated ? <>{itWas}<b>{again}</b>{afterDay(nameOfDay(asOf))}</>
          : <>{onDay(nameOfDay(asOf))}<b>{notKnown}</b>{statedLater(statedAt && day(statedAt))}</>}
        {" "}{status === "ACTIVE" ? words.holdsToday : status === "ENDED" ? words.endedBy(day(endStatedAt ?? fact.updatedAt)) : words.retractedOn(day(endStatedAt ?? fact.updatedAt))}
      </p>
      <p class="soft">{isPast}<a href={todayHref(place)}>{seeToday}</a>{toChange}</p>
    </div>
  );
}
