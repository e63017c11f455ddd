// The filters of a list. They are part of the URL, so that a reload, a link and the Back button keep them.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { client, sessions, useMemoryPage } from "../state/context.ts";
import { useLoaded, useSettled } from "../state/hooks.ts";
import { countFilters, entityTypes, placeHref, setFilters, statuses, unfiltered, type Filters, type Place } from "../state/place.ts";
import { changeWord, nameOf, statusWord, typeWord } from "../state/words.ts";
import { EntityField } from "./entity-field.tsx";
import { AsOf } from "./past.tsx";

const TYPING_PAUSE_MS = 150;

function Search({ place, label }: { place: Place; label: string }) {
  const id = useId();
  const [text, setText] = useState(place.filters.text);
  const settled = useSettled(text, TYPING_PAUSE_MS);
  useEffect(() => { if (settled !== place.filters.text) setFilters({ text: settled }); }, [settled]);
  // Another link, such as "Clear", changed the URL.
  useEffect(() => setText(place.filters.text), [place.filters.text]);
  return (
    <div class="search">
      <label class="unseen" for={id}>{label}</label>
      <input id={id} type="search" placeholder={label} value={text} autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
    </div>
  );
}

function Choice<Name extends keyof Filters>({ place, name, label, any, options }: { place: Place; name: Name; label: string; any: string; options: ReadonlyArray<readonly [value: string, label: string]> }) {
  const id = useId();
  return (
    <div class="choice-filter" data-set={place.filters[name] !== "" || undefined}>
      <label class="unseen" for={id}>{label}</label>
      <select id={id} value={place.filters[name]} onChange={(event) => setFilters({ [name]: event.currentTarget.value })}>
        <option value="">{any}</option>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </div>
  );
}

/** Facts about one entity. */
function About({ place }: { place: Place }) {
  const [text, setText] = useState("");
  const { entity } = place.filters;
  const name = useLoaded(entity, async () => (entity ? nameOf(await client.entity(entity)) : ""));
  if (entity) {
    return <button type="button" class="about" aria-label={`Remove the filter: about ${name.phase === "ready" ? name.value : ""}`} onClick={() => { setText(""); setFilters({ entity: "" }); }}>about {name.phase === "ready" ? name.value : "…"} <span aria-hidden="true">×</span></button>;
  }
  return <EntityField label="About" hideLabel text={text} placeholder="About anyone" onText={setText} onChoose={(thing) => setFilters({ entity: thing.id })} />;
}

const sessionOptions = () => sessions.value.map((s) => [s.id, `${s.title ?? s.messages.nodes[0]?.text ?? "New session"}${s.shared ? " (shared)" : ""}`.slice(0, 60)] as const);

/** Shown as a row, and behind a button on a narrow screen. */
function FilterBar({ place, search, children }: { place: Place; search: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const set = countFilters({ ...place, filters: { ...place.filters, text: "" } });
  return (
    <div class="filters" role="search" data-open={open || undefined}>
      <Search place={place} label={search} />
      <button type="button" class="plain more-filters" aria-expanded={open} onClick={() => setOpen(!open)}>Filters{set > 0 && ` (${set})`}</button>
      <div class="choices">
        {children}
        {set > 0 && <a class="clear" href={placeHref({ ...unfiltered(place), id: place.id })}>Clear</a>}
      </div>
    </div>
  );
}

function Whose({ place }: { place: Place }) {
  const { reader } = useMemoryPage();
  if (!reader.value.mayReadShared) return null;
  return <Choice place={place} name="whose" label="Whose memory" any="All memory" options={[["own", "Mine"], ["shared", "Shared"]]} />;
}

export function FactFilters({ place }: { place: Place }) {
  const relations = useMemoryPage().ontology.value;
  return (
    <FilterBar place={place} search="Search facts">
      <AsOf place={place} />
      <About place={place} />
      <Choice place={place} name="relation" label="Relation" any="Any relation" options={relations.map((r) => [r.name, r.phrase])} />
      {place.filters.changes
        ? <Choice place={place} name="status" label="Change" any="Any change" options={statuses.map((s) => [s, changeWord[s]])} />
        : !place.filters.asOf && (
          <>
            <Choice place={place} name="status" label="Status" any="Any status" options={statuses.map((s) => [s, statusWord[s]])} />
            <Choice place={place} name="belief" label="Confidence" any="Any confidence" options={[["50", "50 % or more"], ["70", "70 % or more"], ["90", "90 % or more"]]} />
          </>
        )}
      <Choice place={place} name="session" label="Session" any="Any session" options={sessionOptions()} />
      <Whose place={place} />
    </FilterBar>
  );
}

export function ThingFilters({ place }: { place: Place }) {
  return (
    <FilterBar place={place} search="Search names">
      <Choice place={place} name="type" label="Type" any="Any type" options={entityTypes.map((t) => [t, typeWord[t]])} />
      <Choice place={place} name="session" label="Session" any="Any session" options={sessionOptions()} />
      <Whose place={place} />
    </FilterBar>
  );
}
