// The memory of a past day: what the page says about it, and how it differs from today.
import { useEffect } from "preact/hooks";
import { date, day } from "../../state/format.ts";
import type { KnownFact } from "../generated/operations.ts";
import { useMemoryPage } from "../state/context.ts";
import { useLoaded } from "../../common/state/hooks.ts";
import { countUnchanged } from "../state/lists.ts";
import type { LiveList } from "../../common/state/live-list.ts";
import { endOf, isBy } from "../../common/state/day.ts";
import { placeHref, present, setFilters, statuses, type Filters, type Place } from "../../common/state/place.ts";
import { changeWord } from "../../common/state/words.ts";

/** Such as "31 Mar 2024". */
const nameOfDay = (asOf: string) => date(endOf(asOf).toISOString());
const todayHref = (place: Place) => placeHref({ ...place, filters: { ...place.filters, ...present } });

/** Says that the list shows the past. */
export function PastBanner({ place, filters }: { place: Place; filters: Filters }) {
  // The link that had the focus is gone.
  useEffect(() => () => void setTimeout(() => { if (document.activeElement === document.body) document.getElementById("main")?.focus(); }), []);
  return (
    <div class="past" role="group" aria-label="The past">
      <p role="status"><b>The memory of {nameOfDay(filters.asOf)}</b>, at the end of the day. You can change only the memory of today.</p>
      <label><input type="checkbox" role="switch" checked={place.filters.changes !== ""} onChange={(event) => setFilters({ changes: event.currentTarget.checked ? "yes" : "", status: "" })} />What changed since</label>
      <a class="plain" href={todayHref(place)}>Back to today</a>
    </div>
  );
}

/** "2 learned, 1 ended; 40 are the same". "at least" as long as the list was not read to its end. */
export function Changes({ list, filters }: { list: LiveList<KnownFact>; filters: Filters }) {
  const { reader } = useMemoryPage();
  const same = useLoaded(JSON.stringify([filters, reader.value]), () => countUnchanged(filters, reader.value));
  const rows = list.rows.value;
  const counts = statuses.map((status) => [rows.filter((fact) => fact.status === status).length, changeWord[status]] as const).filter(([count]) => count > 0);
  if (list.phase.value === "loading") return null;
  return (
    <>
      {rows.length === 0 ? `no changes${list.complete ? "" : " found yet"}` : `${list.complete ? "" : "at least "}${counts.map(([count, word]) => `${count.toLocaleString()} ${word}`).join(", ")}`}
      {same.phase === "ready" && `; ${same.value.toLocaleString()} ${same.value === 1 ? "is" : "are"} the same`}
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
