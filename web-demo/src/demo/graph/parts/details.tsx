// What is known of the selected thing, and what the reader can do with it.
import { Triple } from "../../common/parts/fact-line.tsx";
import { useLiveList } from "../../common/state/hooks.ts";
import { placeHref, type Filters } from "../../common/state/place.ts";
import { lower, manyOf, nameOf, percent, statusWord, typeWord } from "../../common/state/words.ts";
import { knownAt, NOT_KEPT } from "../../state/offline.ts";
import { memoryFactHref } from "../../state/route.ts";
import type { GraphFact, GraphThing } from "../generated/operations.ts";
import { notes } from "../state/lists.ts";
import { heaviestFirst } from "../state/network.ts";
import { addressHref, type GraphAddress } from "../state/place.ts";
import type { GraphStore } from "../state/store.ts";
import { strings } from "../strings.ts";

const SHOWN_FACTS = 12;
const SHOWN_NOTES = 6;

interface Props {
  store: GraphStore;
  address: GraphAddress;
}

function Actions({ store, address, thing }: Props & { thing: GraphThing }) {
  const expanded = store.expanded.value.has(thing.id);
  const hidden = store.network.value.hidden.get(thing.id) ?? 0;
  const more = expanded && !store.showsAll.value && (hidden > 0 || store.hasUnread(thing.id));
  const isCentre = store.centre.value?.id === thing.id;
  return (
    <div class="actions">
      {!store.showsAll.value && store.canToggle(thing.id) && (
        <button type="button" class={expanded ? "plain" : "strong"} aria-expanded={expanded} onClick={() => void store.toggle(thing.id)}>{expanded ? strings.collapse : strings.expand}</button>
      )}
      {!isCentre && <a class="plain" href={addressHref({ ...address, centre: thing.id })}>{strings.thing.centreHere}</a>}
      {more && <button type="button" class="plain" onClick={() => void store.showMore(thing.id)}>{strings.thing.showMore(hidden)}</button>}
      <a class="plain" href={placeHref({ view: "things", id: thing.id })}>{strings.thing.openInMemory}</a>
    </div>
  );
}

const FactItem = ({ fact }: { fact: GraphFact }) => (
  <li data-status={fact.status}>
    <a href={memoryFactHref(fact.id)}><Triple fact={fact} /><span class="soft">{fact.status === "ACTIVE" ? percent(fact.belief) : statusWord[fact.status]}</span></a>
  </li>
);

function FactList({ facts, total, allHref }: { facts: readonly GraphFact[]; total: number; allHref: string }) {
  if (facts.length === 0) return <p class="soft">{strings.thing.noFacts}</p>;
  return (
    <>
      <ul class="short-facts">
        {[...facts].sort(heaviestFirst).slice(0, SHOWN_FACTS).map((fact) => <FactItem key={fact.id} fact={fact} />)}
      </ul>
      <p><a href={allHref}>{strings.thing.allFacts(total)}</a></p>
    </>
  );
}

/** Notes about a thing, the latest change first. Nothing if there are none. */
function Notes({ filters }: { filters: Filters }) {
  const { list } = useLiveList(filters, notes);
  const [first, ...others] = list.rows.value;
  if (!first) return null;
  const total = Math.max(1 + others.length, list.total.value ?? 0);
  return (
    <>
      <h3>{manyOf(total, "note")}</h3>
      <ul class="short-facts">{[first, ...others].slice(0, SHOWN_NOTES).map((fact) => <FactItem key={fact.id} fact={fact} />)}</ul>
      {total > SHOWN_NOTES && <p><a href={placeHref({ view: "facts", filters: { ...filters, relation: first.relation } })}>{strings.thing.allNotes(total)}</a></p>}
    </>
  );
}

const FactsFailed = () => (knownAt.value === null ? <p class="trouble" role="alert">{strings.thing.failed}</p> : <p class="soft" role="status">{NOT_KEPT}</p>);

/** Of the selected thing, or of the centre. */
export function Details({ store, address }: Props) {
  const { things, indexes } = store.network.value;
  const selected = things[indexes.get(store.selected.value ?? "") ?? -1];
  const thing = selected ?? store.centre.value;
  if (!thing) return null;
  const list = store.factsOf(thing.id);
  const loading = !list || list.phase.value === "loading";
  const facts = list?.rows.value ?? [];
  const total = Math.max(facts.length, list?.total.value ?? 0);
  const filters = { ...address.filters, entity: thing.id };
  return (
    <article class="thing">
      <h2>{thing.isViewer ? strings.thing.viewer : nameOf(thing)} <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span></h2>
      <p class="soft">{strings.thing.mentioned(thing.mentionCount, thing.shared)}</p>
      <Actions store={store} address={address} thing={thing} />
      <h3>{loading ? strings.thing.facts : manyOf(total, "fact")}</h3>
      {loading ? <p class="soft" aria-busy="true">{strings.thing.loading}</p> : list.phase.value === "failed" ? <FactsFailed /> : <FactList facts={facts} total={total} allHref={placeHref({ view: "facts", filters })} />}
      <Notes key={thing.id} filters={filters} />
    </article>
  );
}
