// The list of facts, with its filters and the selection.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { KnownFact } from "../generated/operations.ts";
import { mayChange, useMemoryPage } from "../state/context.ts";
import { knownAt } from "../../state/offline.ts";
import { useAction } from "../../state/action.ts";
import { useLiveList } from "../../common/state/hooks.ts";
import { factList } from "../state/lists.ts";
import type { Place } from "../../common/state/place.ts";
import type { Visits } from "../state/visit.ts";
import { FactDetail } from "./fact-detail.tsx";
import { FactRow, PastFactRow } from "./fact-row.tsx";
import { FactFilters, FactOrderChoice } from "./filters.tsx";
import { LazyDialog } from "./lazy-dialog.tsx";
import { ListView, totalText } from "./list-view.tsx";
import { Changes, PastBanner } from "./past.tsx";
import { strings } from "../strings.ts";

/** The server forgets at most this many facts at once. */
const MOST_SELECTED = 1000;

/** How many of the rows changed since the last visit. They come first in the order of the latest change. "at least" if more may follow the loaded ones. */
function newSince(rows: readonly KnownFact[], lastVisit: string | null): string {
  if (lastVisit === null) return "";
  const known = rows.findIndex((fact) => fact.updatedAt <= lastVisit);
  if (known === 0 || rows.length === 0) return "";
  return strings.list.newSince(known < 0 ? rows.length : known, known < 0);
}

/** Ends the marks of what is new. `latest`: when the newest fact changed. */
function MarkSeen({ visits, latest }: { visits: Visits; latest: string }) {
  const mark = () => {
    visits.markAllSeen(latest);
    // The button goes.
    document.querySelector<HTMLElement>('.memory-page [data-row][tabindex="0"]')?.focus();
  };
  return <button type="button" class="plain" onClick={mark}>{strings.list.markSeen}</button>;
}

/** `all`: how many can be selected. `complete`: these are all facts of the list. */
function SelectionBar({ facts, onClear, onSelectAll, all, complete }: { facts: readonly KnownFact[]; all: number; complete: boolean; onClear: () => void; onSelectAll: () => void }) {
  const { steer } = useMemoryPage();
  const [forgetting, setForgetting] = useState(false);
  const close = () => setForgetting(false);
  const isOffline = knownAt.value !== null;
  const { busy, error, run } = useAction();
  const active = facts.filter((fact) => fact.status === "ACTIVE");
  return (
    <div class="selection" role="group" aria-label={strings.list.selection}>
      <b role="status">{strings.list.selected(facts.length)}</b>
      {facts.length < all && <button type="button" class="plain" onClick={onSelectAll}>{strings.list.select(all, complete)}</button>}
      {active.length > 0 && <button type="button" class="plain" disabled={busy || isOffline} onClick={() => void run(() => steer.retract(active)).then((done) => { if (done) onClear(); })}>{strings.list.retract}</button>}
      <button type="button" class="plain" disabled={busy || isOffline} onClick={() => setForgetting(true)}>{strings.forget}</button>
      <button type="button" class="plain" onClick={onClear}>{strings.list.clear}</button>
      {error && <p class="trouble" role="alert">{error}</p>}
      {forgetting && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={strings.list.forgetFacts(facts.length)} target={{ factIds: facts.map((fact) => fact.id) }} onClose={close} onDone={onClear} />} />}
    </div>
  );
}

export function FactsView({ place, visits }: { place: Place; visits: Visits }) {
  const { list, filters } = useLiveList(place.filters, factList);
  const [selected, setSelected] = useState<ReadonlyMap<string, KnownFact>>(new Map());
  useEffect(() => setSelected(new Map()), [list]);
  const rows = list.rows.value;
  const lastVisit = visits.since.value;
  const isPast = filters.asOf !== "";
  const isOffline = knownAt.value !== null;
  const toggle = useCallback((fact: KnownFact) => setSelected((old) => {
    const next = new Map(old);
    if (!next.delete(fact.id) && next.size < MOST_SELECTED && mayChange(fact.shared)) next.set(fact.id, fact);
    return next;
  }), []);
  const render = useCallback((fact: KnownFact, tabIndex: 0 | -1) => (isPast
    ? <PastFactRow fact={fact} place={place} tabIndex={tabIndex} since={filters.changes ? filters.asOf : null} />
    : <FactRow
        fact={fact} place={place} tabIndex={tabIndex} selected={selected.has(fact.id)} isNew={lastVisit !== null && fact.updatedAt > lastVisit} showsLearned={filters.order === "LATEST_LEARNED"}
        onSelect={() => toggle(fact)}
      />
  ), [place, filters, selected, lastVisit]);
  const latest = rows.reduce((newest, { updatedAt }) => (updatedAt > newest ? updatedAt : newest), "");
  const selectable = rows.filter((fact) => mayChange(fact.shared)).slice(0, MOST_SELECTED);
  return (
    <ListView
      label={strings.views.facts} list={list} place={place} render={render} onSelect={isPast || isOffline ? undefined : toggle}
      empty={filters.changes ? strings.list.noChanges : isPast ? strings.list.nothingThen : strings.list.nothing}
      hint={isPast ? strings.list.hintPast : strings.list.hint}
      head={<>
        {isPast && <PastBanner place={place} filters={filters} />}
        <FactFilters place={place} />
        {selected.size > 0
          ? <SelectionBar facts={[...selected.values()]} all={selectable.length} complete={selectable.length === list.total.value} onClear={() => setSelected(new Map())} onSelectAll={() => setSelected(new Map(selectable.map((fact) => [fact.id, fact])))} />
          : <div class="total"><span role="status">{filters.changes ? <Changes list={list} filters={filters} /> : <>{totalText(list, "fact")}{rows.length > 0 && (isPast ? strings.list.withoutRetracted : filters.order === "" && newSince(rows, lastVisit))}</>}</span>{!isPast && lastVisit !== null && latest > lastVisit && <MarkSeen visits={visits} latest={latest} />}{!isPast && <FactOrderChoice filters={place.filters} />}</div>}
      </>}
    >
      {place.id && <FactDetail id={place.id} place={place} />}
    </ListView>
  );
}
