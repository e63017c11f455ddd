// A list with its filters, and next to it what is open.
import type { ComponentChildren } from "preact";
import type { LiveList } from "../../common/state/live-list.ts";
import { countFilters, placeHref, unfiltered, type Place } from "../../common/state/place.ts";
import { manyOf } from "../../common/state/words.ts";
import { isNotKept, NOT_KEPT } from "../../state/offline.ts";
import { Pane } from "./pane.tsx";
import { VirtualList, type RenderRow } from "../../common/parts/virtual-list.tsx";
import { strings } from "../strings.ts";

interface Props<Row extends { id: string }> {
  label: string;
  list: LiveList<Row>;
  place: Place;
  /** Above the rows: filters and counts. */
  head: ComponentChildren;
  /** Shown without rows and without filters. */
  empty: string;
  /** Shown while nothing is open. */
  hint: string;
  render: RenderRow<Row>;
  /** Space on the focused row. */
  onSelect?: ((row: Row) => void) | undefined;
  /** What is open. */
  children: ComponentChildren;
}

/** "5,012 facts". Empty while the first page loads. */
export const totalText = <Row extends { id: string }>(list: LiveList<Row>, noun: string): string => (list.phase.value === "loading" ? "" : manyOf(list.total.value ?? list.rows.value.length, noun));

/** Why there are no rows, or not all of them. */
function Notice<Row extends { id: string }>({ list, place, empty }: Pick<Props<Row>, "list" | "place" | "empty">) {
  if (list.phase.value === "failed") {
    if (isNotKept(list.failure.value)) return <p class="soft none" role="status">{list.rows.value.length > 0 ? strings.list.restNotKept : NOT_KEPT}</p>;
    return <p class="trouble none" role="alert">{strings.list.failed}<button type="button" onClick={() => void list.refresh()}>{strings.tryAgain}</button></p>;
  }
  if (!list.complete || list.rows.value.length > 0) return null;
  return countFilters(place.filters) > 0 ? <p class="soft none">{strings.list.noMatch}<a href={placeHref(unfiltered(place))}>{strings.list.clearAll}</a></p> : <p class="soft none">{empty}</p>;
}

export function ListView<Row extends { id: string }>({ label, list, place, head, empty, hint, render, onSelect, children }: Props<Row>) {
  const rows = list.rows.value;
  return (
    <>
      <section class="list" aria-label={label}>
        {head}
        <Notice list={list} place={place} empty={empty} />
        {rows.length > 0 && <VirtualList source={list} label={label} rows={rows} total={list.total.value} onNearEnd={() => void list.more()} onSelect={onSelect} render={render} />}
      </section>
      <Pane place={place} hint={hint}>{children}</Pane>
    </>
  );
}

interface RowProps {
  place: Place;
  id: string;
  tabIndex: 0 | -1;
  /** Before the link. */
  tick?: ComponentChildren;
  children: ComponentChildren;
  "data-status"?: string;
  "data-selected"?: boolean | undefined;
}

/** A row that opens its details. */
export function Row({ place, id, tabIndex, tick, children, ...marks }: RowProps) {
  const open = place.id === id;
  return (
    <div class="row" data-open={open || undefined} {...marks}>
      {tick}
      <a href={placeHref({ ...place, id })} data-row tabIndex={tabIndex} aria-current={open ? "true" : undefined}>{children}</a>
    </div>
  );
}
