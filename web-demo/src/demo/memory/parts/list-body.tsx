// What a list shows: its rows, or why there are none.
import type { ComponentChildren } from "preact";
import type { LiveList } from "../state/live-list.ts";
import { placeHref, type Place } from "../state/place.ts";
import { manyOf } from "../state/words.ts";

const isFiltered = (place: Place) => Object.values(place.filters).some((value) => value !== "");

export function ListBody<Row extends { id: string }>({ list, place, empty, children }: { list: LiveList<Row>; place: Place; empty: string; children: ComponentChildren }) {
  if (list.phase.value === "failed") {
    return (
      <>
        <p class="trouble none" role="alert">The memory could not be read. <button type="button" onClick={() => void list.refresh()}>Try again</button></p>
        {list.rows.value.length > 0 && children}
      </>
    );
  }
  if (list.phase.value === "ready" && list.rows.value.length === 0) {
    return isFiltered(place) ? <p class="soft none">Nothing matches. <a href={placeHref({ view: place.view })}>Clear the search and filters</a></p> : <p class="soft none">{empty}</p>;
  }
  return <>{children}</>;
}

/** "5,012 facts". Empty while the first page loads. */
export const totalText = <Row extends { id: string }>(list: LiveList<Row>, noun: string): string => (list.phase.value === "loading" ? "" : manyOf(list.total.value ?? list.rows.value.length, noun));
