// The parts of a filter bar. Filters are part of the URL, so that a reload, a link and the Back button keep them.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { date } from "../../state/format.ts";
import { read } from "../../state/offline.ts";
import { listing, sessions } from "../../state/session-list.ts";
import { titleOf } from "../../state/session-words.ts";
import { ArchivedSessions } from "../generated/operations.ts";
import { useMemoryContext } from "../state/context.ts";
import { dayAfter, endOf, today } from "../state/day.ts";
import { useLoaded } from "../state/hooks.ts";
import { countFilters, entityTypes, present, setFilters, statuses, withoutToday, type Filters } from "../state/place.ts";
import { statusWord, typeWord } from "../state/words.ts";
import { strings } from "../strings.ts";

interface ChoiceProps<Name extends keyof Filters> {
  filters: Filters;
  name: Name;
  label: string;
  any: string;
  options: ReadonlyArray<readonly [value: string, label: string]>;
}

export function Choice<Name extends keyof Filters>({ filters, name, label, any, options }: ChoiceProps<Name>) {
  const id = useId();
  return (
    <div class="choice-filter" data-set={filters[name] !== "" || undefined}>
      <label class="unseen" for={id}>{label}</label>
      <select id={id} value={filters[name]} onChange={(event) => setFilters({ [name]: event.currentTarget.value })}>
        <option value="">{any}</option>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </div>
  );
}

interface FilterBarProps {
  filters: Filters;
  /** The same place without filters. */
  clearHref: string;
  /** Always visible, before the other filters. */
  search: ComponentChildren;
  children: ComponentChildren;
}

/** Shown as a row, and behind a button on a narrow screen. */
export function FilterBar({ filters, clearHref, search, children }: FilterBarProps) {
  const [open, setOpen] = useState(false);
  const set = countFilters({ ...filters, text: "" });
  return (
    <div class="filters" role="search" data-open={open || undefined}>
      {search}
      <button type="button" class="plain more-filters" aria-expanded={open} onClick={() => setOpen(!open)}>{strings.filters.filters(set)}</button>
      <div class="choices">
        {children}
        {set > 0 && <a class="clear" href={clearHref}>{strings.filters.clear}</a>}
      </div>
    </div>
  );
}

/** The first day that a field takes. A year that is not yet typed to its end is before it. */
const FIRST_DAY = "1970-01-01";

interface DayFieldProps {
  label: string;
  /** "" for none. */
  value: string;
  min?: string;
  /** Why a day cannot be chosen, as a sentence. null: it can. */
  refuse?: (day: string) => string | null;
  onChoose: (day: string) => void;
}

function DayField({ label, value, min = FIRST_DAY, refuse = () => null, onChoose }: DayFieldProps) {
  const id = useId();
  /** A day that cannot be chosen. It stays in the field, and changes nothing. */
  const [refused, setRefused] = useState<string | null>(null);
  const whyNot = (day: string) => (day === "" ? null : day < FIRST_DAY ? strings.days.tooEarly : day > today() ? strings.days.future : refuse(day));
  const why = refused === null ? null : whyNot(refused);
  useEffect(() => setRefused(null), [value]);
  useEffect(() => {
    // The other day has changed, so this one is right now.
    if (refused === null || why !== null) return;
    setRefused(null);
    onChoose(refused);
  }, [refused, why]);
  const choose = ({ value: day, validity }: HTMLInputElement) => {
    if (validity.badInput || (day !== "" && day < FIRST_DAY)) return;
    if (whyNot(day) !== null) return setRefused(day);
    setRefused(null);
    onChoose(day);
  };
  return (
    <div class="day-field">
      <label class="date-field" data-set={value !== "" || undefined}>
        {label}
        <input
          type="date" min={min} max={today()} value={refused ?? value} aria-invalid={why !== null} aria-describedby={id}
          onInput={(event) => choose(event.currentTarget)} onBlur={({ currentTarget: { value: day } }) => { if (whyNot(day) !== null) setRefused(day); }}
        />
      </label>
      <p id={id} class="trouble" aria-live="polite">{why}</p>
    </div>
  );
}

const dateOf = (day: string): string => date(endOf(day).toISOString());
const beforeOnly = (end: string, whose: string) => (day: string) => (end !== "" && day >= end ? strings.days.before(dateOf(end), whose) : null);
const afterOnly = (begin: string, whose: string) => (day: string) => (begin !== "" && day <= begin ? strings.days.after(dateOf(begin), whose) : null);

/** The day whose memory is shown. */
export const AsOf = ({ filters: { asOf } }: { filters: Filters }) =>
  <DayField label={strings.filters.asOf} value={asOf} onChoose={(day) => setFilters(day ? { asOf: day, ...(!asOf && withoutToday) } : present)} />;

/** The two days that are compared. Without the second, the first is compared with now. */
export function ComparedDays({ filters: { asOf, until } }: { filters: Filters }) {
  const begin = (day: string) => setFilters(day ? { asOf: day } : present);
  const end = (day: string) => setFilters({ until: day === today() ? "" : day, status: "" });
  return (
    <div class="days">
      <DayField label={strings.filters.from} value={asOf} refuse={beforeOnly(until, strings.days.comparisonEnd)} onChoose={begin} />
      <DayField label={strings.filters.until} value={until || today()} min={dayAfter(asOf)} refuse={afterOnly(asOf, strings.days.comparisonBegin)} onChoose={end} />
    </div>
  );
}

/** When a fact last changed. */
export const ChangedDays = ({ filters: { since, before } }: { filters: Filters }) => (
  <div class="days">
    <DayField label={strings.filters.changedSince} value={since} refuse={beforeOnly(before, strings.days.periodEnd)} onChoose={(day) => setFilters({ since: day })} />
    <DayField label={strings.filters.changedBefore} value={before} refuse={afterOnly(since, strings.days.periodBegin)} onChoose={(day) => setFilters({ before: day })} />
  </div>
);

export const TypeChoice = ({ filters }: { filters: Filters }) =>
  <Choice filters={filters} name="type" label={strings.filters.type} any={strings.filters.anyType} options={entityTypes.map((type) => [type, typeWord[type]])} />;

export const SourceChoice = ({ filters }: { filters: Filters }) =>
  <Choice filters={filters} name="source" label={strings.filters.source} any={strings.filters.anySource} options={[["MESSAGES", strings.filters.conversations], ["DOCUMENTS", strings.filters.documents]]} />;

export function RelationChoice({ filters }: { filters: Filters }) {
  const relations = useMemoryContext().ontology.value;
  return <Choice filters={filters} name="relation" label={strings.filters.relation} any={strings.filters.anyRelation} options={relations.map((r) => [r.name, r.phrase])} />;
}

export const StatusChoice = ({ filters }: { filters: Filters }) =>
  <Choice filters={filters} name="status" label={strings.filters.status} any={strings.filters.anyStatus} options={statuses.map((s) => [s, statusWord[s]])} />;

export const ConfidenceChoice = ({ filters }: { filters: Filters }) =>
  <Choice filters={filters} name="belief" label={strings.filters.confidence} any={strings.filters.anyConfidence} options={[50, 70, 90].map((percent) => [String(percent), strings.filters.orMore(percent)])} />;

export function SessionChoice({ filters }: { filters: Filters }) {
  const { archived } = listing.value;
  const more = useLoaded(String(archived), async () => (archived > 0 ? (await read(ArchivedSessions, {})).sessions.nodes : []));
  const list = new Map([...sessions.value, ...(more.phase === "ready" ? more.value : [])].map((s) => [s.id, s]));
  const options = [...list.values()].map((s) => [s.id, (s.shared ? strings.filters.sharedSession(titleOf(s)) : titleOf(s)).slice(0, 60)] as const);
  // A link may lead to the facts of a session that is far down.
  if (filters.session && !options.some(([id]) => id === filters.session)) options.unshift([filters.session, strings.filters.thisSession]);
  return <Choice filters={filters} name="session" label={strings.filters.session} any={strings.filters.anySession} options={options} />;
}

/** Own or shared memory. Nothing for readers without shared memory. */
export function WhoseChoice({ filters }: { filters: Filters }) {
  const { reader } = useMemoryContext();
  if (!reader.value.mayReadShared) return null;
  return <Choice filters={filters} name="whose" label={strings.filters.whose} any={strings.filters.all} options={[["own", strings.filters.own], ["shared", strings.filters.shared]]} />;
}
