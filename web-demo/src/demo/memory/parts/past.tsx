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
import { manyOf } from "../../common/state/words.ts";
import { changeOf, factChanges } from "../state/past.ts";

/** Such as "31 Mar 2024". */
const nameOfDay = (asOf: string) => date(endOf(asOf).toISOString());
const todayHref = (place: Place) => placeHref({ ...place, filters: { ...place.filters, ...present } });

/** Says that the list shows the past, or how it differs from a later day. */
export function PastBanner({ place, filters }: { place: Place; filters: Filters }) {
  // The link that had the focus is gone.
  useEffect(() => () => void setTimeout(() => { if (document.activeElement === document.body) document.getElementById("main")?.focus(); }), []);
  const { asOf, changes, until } = filters;
  return (
    <div class="past" role="group" aria-label="The past">
      <p role="status">
        {changes
          ? <><b>What changed</b> from the end of {nameOfDay(asOf)} until {until ? `the end of ${nameOfDay(until)}` : "now"}.</>
          : <><b>The memory of {nameOfDay(asOf)}</b>, at the end of the day.</>} You can change only the memory of today.
      </p>
      <label><input type="checkbox" role="switch" checked={place.filters.changes !== ""} onChange={(event) => setFilters({ changes: event.currentTarget.checked ? "yes" : "", until: "", status: "" })} />What changed since</label>
      {place.filters.changes && <ComparedDays filters={place.filters} />}
      <a class="plain" href={todayHref(place)}>Back to today</a>
    </div>
  );
}

/** How many facts hold since the day without a change. */
function Unchanged({ filters }: { filters: Filters }) {
  const { reader } = useMemoryPage();
  const same = useLoaded(JSON.stringify([filters, reader.value]), () => countUnchanged(filters, reader.value));
  return same.phase === "ready" ? <>; {same.value.toLocaleString()} {same.value === 1 ? "is" : "are"} the same</> : null;
}

/** "2 learned, 1 ended; 40 are the same". Only the number of all changes, as long as not all of them are loaded. */
export function Changes({ list, filters }: { list: LiveList<KnownFact>; filters: Filters }) {
  if (list.phase.value === "loading") return null;
  const kinds = list.rows.value.map((fact) => changeOf(fact, filters.asOf));
  const counts = factChanges.map((kind) => [kinds.filter((one) => one === kind).length, kind] as const).filter(([count]) => count > 0);
  return (
    <>
      {!list.complete ? manyOf(list.total.value ?? kinds.length, "change") : counts.map(([count, kind]) => `${count.toLocaleString()} ${kind}`).join(", ") || "no changes"}
      {!filters.until && <Unchanged filters={filters} />}
    </>
  );
}

/** What the fact was at the end of the day, and what it is now. `wasStated`: a message before that end stated it. */
export function PastVerdict({ fact, wasStated, place }: { fact: KnownFact; wasStated: boolean; place: Place }) {
  const { statedAt, endStatedAt, status } = fact;
  const { asOf } = place.filters;
  const began = statedAt !== null && isBy(statedAt, asOf);
  return (
    <div class="verdict">
      <p>
        {began ? <>On {nameOfDay(asOf)} it <b>{isBy(endStatedAt, asOf) ? "had ended" : "held"}</b>, stated {day(statedAt)}.</>
          : wasStated ? <>It was <b>stated again</b> after {nameOfDay(asOf)}. Whether it held on that day is not known.</>
          : <>On {nameOfDay(asOf)} it was <b>not known</b>{statedAt && `; it was stated ${day(statedAt)}`}.</>}
        {" "}{status === "ACTIVE" ? "Today it holds." : `It ${status === "ENDED" ? "had ended by" : "was retracted"} ${day(endStatedAt ?? fact.updatedAt)}.`}
      </p>
      <p class="soft">This is the past. <a href={todayHref(place)}>See the fact of today</a>, with its belief, to change it.</p>
    </div>
  );
}
