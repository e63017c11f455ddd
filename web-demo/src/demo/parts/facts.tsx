// The list of facts, with how much the memory believes each.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { KnownFacts } from "../generated/operations.ts";
import { useFlip, useAnimatedNumber } from "../motion.ts";
import { highlight, memory, openFact } from "../state/current-session.ts";
import { client } from "../state/login.ts";
import type { Memory } from "../state/memory.ts";
import { isPulsing, type Entity, type Fact } from "../state/model.ts";
import { activeFactsHref } from "../state/route.ts";
import { completeStep } from "../state/tour.ts";
import { percent, phraseFor } from "../state/format.ts";
import { relations, start } from "../state/viewer.ts";
import { Evidence } from "./evidence.tsx";
import { strings } from "../strings.ts";

/** What speaks against a fact: s/(r+s+2), which follows from belief = (r+1)/(r+s+2) and uncertainty = 2/(r+s+2) (subjective logic). */
const oppositionTo = ({ belief, uncertainty }: Pick<Fact, "belief" | "uncertainty">): number => Math.max(0, 1 - belief - uncertainty / 2);

const width = (part: number) => `${(part * 100).toFixed(1)}%`;

/** Belief, and what speaks against it. The text next to the bar says the belief. */
export function BeliefBar({ fact }: { fact: Pick<Fact, "belief" | "uncertainty"> }) {
  return <span class="bar" aria-hidden="true"><i style={{ width: width(fact.belief) }} /><u style={{ width: width(oppositionTo(fact)) }} /></span>;
}

const nameOf = (entity: Entity | undefined) => (entity?.isViewer ? strings.viewer : (entity?.name ?? "?"));

function Belief({ fact }: { fact: Fact }) {
  const belief = useAnimatedNumber(fact.belief);
  if (fact.status === "ended") return <span class="belief">{strings.facts.ended}</span>;
  return <span class="belief"><span class="unseen">{strings.facts.belief}</span>{percent(belief)}</span>;
}

function FactNote({ fact, known }: { fact: Fact; known: Memory }) {
  void known.version.value;
  const notes: ComponentChildren[] = [];
  if (fact.status === "active" && fact.rivals.length > 0) {
    const rivals = fact.rivals.map((r) => known.facts.get(r.factId)).filter((f) => f === undefined || f.status === "active");
    if (rivals.length > 0) notes.push(<span class="disputed">{strings.facts.disputed(fact.rivals.map((r) => r.target).join(", "))}</span>);
  }
  if (fact.change === "added" && fact.excerpt) notes.push(<span>{strings.facts.newFrom}<q>{fact.excerpt}</q></span>);
  if (fact.change === "reinforced") notes.push(strings.facts.saidAgain);
  if (fact.change === "ended" && fact.excerpt) notes.push(<span>{strings.facts.endedBy}<q>{fact.excerpt}</q></span>);
  if (fact.change === "opposed" && notes.length === 0) notes.push(strings.facts.contradicted);
  return notes.length > 0 ? <small>{notes[0]}</small> : null;
}

/** A fact may leave the list at any time, also because of a change elsewhere. If it had the focus, the next one gets it. */
function useFocusOfNext() {
  const item = useRef<HTMLLIElement>(null);
  // Not an effect: its end would come after the item has left the document.
  useLayoutEffect(() => {
    const { current: node } = item;
    return () => {
      if (!node?.contains(document.activeElement)) return;
      const next = node.nextElementSibling ?? node.previousElementSibling;
      setTimeout(() => {
        // The list may be gone, too, and something else may have taken the focus.
        if (document.activeElement === document.body) (next?.isConnected ? next.querySelector("button") : document.getElementById("main"))?.focus();
      });
    };
  }, []);
  return item;
}

/** `anchor`: other parts of the page scroll to this item. */
export function FactItem({ fact, known, anchor = false }: { fact: Fact; known: Memory; anchor?: boolean }) {
  void known.version.value;
  const item = useFocusOfNext();
  const subject = known.entities.get(fact.subject);
  const object = known.entities.get(fact.object);
  const open = openFact.value === fact.id;
  const lit = highlight.value?.fact === fact.id || (highlight.value?.entity !== undefined && (highlight.value.entity === fact.subject || highlight.value.entity === fact.object));
  const startHighlight = () => { highlight.value = { fact: fact.id }; };
  const endHighlight = () => { highlight.value = null; };
  const toggle = () => {
    openFact.value = open ? null : fact.id;
    if (!open) completeStep("why");
  };
  return (
    <li
      ref={item} id={anchor ? `fact-${fact.id}` : undefined} data-flip={fact.id} data-fact={fact.id} data-status={fact.status} class={`fact ${open ? "open" : ""} ${lit ? "lit" : ""}`}
      onKeyDown={(event) => { if (event.key === "Escape" && open) toggle(); }}
    >
      {isPulsing(fact.pulse) && <span key={fact.pulse.count} class="flash" data-kind={fact.pulse.kind} style={{ animationDelay: `${fact.pulse.delay}ms` }} aria-hidden="true" />}
      <button type="button" class="fact-line" aria-expanded={open} title={strings.facts.why} onClick={toggle} onPointerEnter={startHighlight} onPointerLeave={endHighlight} onFocus={startHighlight} onBlur={endHighlight}>
        <span class="triple">
          <b data-type={subject?.type}>{nameOf(subject)}</b> <em>{phraseFor(fact.phrase, subject?.isViewer ?? false)}</em> {fact.value === null ? <b data-type={object?.type}>{nameOf(object)}</b> : <b>{fact.value}</b>}{fact.shared && <i class="badge">{strings.shared}</i>}
        </span>
        <Belief fact={fact} />
        <BeliefBar fact={fact} />
        <FactNote fact={fact} known={known} />
      </button>
      {open && <Evidence fact={fact} />}
    </li>
  );
}

type Order = "newest" | "strongest";
const rank = (fact: Fact) => (fact.status === "active" ? 0 : 1);
const orders: Record<Order, (a: Fact, b: Fact) => number> = {
  newest: (a, b) => b.order - a.order,
  strongest: (a, b) => rank(a) - rank(b) || b.belief - a.belief || b.order - a.order,
};

/** How many facts the memory has, with shared ones. */
async function countKnown(): Promise<number> {
  const [shared, notes] = [start.value?.viewer.role !== "ANONYMOUS", relations.value.has("NOTE")];
  const counts = await client.graphql(KnownFacts, { shared, notes, sharedNotes: shared && notes });
  return Object.values(counts).reduce((sum, list) => sum + (list?.totalCount ?? 0), 0);
}

/** Shown in a session without facts. Others may have some. */
function NoFacts({ known }: { known: Memory }) {
  const [total, setTotal] = useState(0);
  useEffect(() => {
    let stale = false;
    // Without the server, the line about other sessions is left out.
    countKnown().then((counted) => { if (!stale) setTotal(counted); }, () => {});
    return () => { stale = true; };
  }, [known]);
  const [before, link, after] = strings.facts.elsewhere(total);
  return (
    <>
      <p class="empty">{strings.facts.none}</p>
      {total > 0 && <p class="empty">{before}<a href={activeFactsHref}>{link}</a>{after}</p>}
    </>
  );
}

export function Facts() {
  const known = memory.value;
  void known?.version.value;
  const [order, setOrder] = useState<Order>("newest");
  const list = useFlip<HTMLUListElement>();
  const facts = [...(known?.facts.values() ?? [])].filter((f) => f.status !== "retracted").sort(orders[order]);
  const { active, ended } = known?.counts() ?? { active: 0, ended: 0 };
  return (
    <section class="facts" aria-label={strings.facts.label}>
      <h2>
        {strings.facts.title}
        <span class="total">{facts.length > 0 && strings.facts.total(active, ended)}</span>
        {facts.length > 1 && (
          <span class="segmented" role="group" aria-label={strings.facts.order}>
            {(Object.keys(orders) as Order[]).map((name) => <button type="button" key={name} aria-pressed={order === name} onClick={() => setOrder(name)}>{strings.facts.orders[name]}</button>)}
          </span>
        )}
      </h2>
      {known && facts.length === 0 && <NoFacts known={known} />}
      <ul ref={list}>{known && facts.map((fact) => <FactItem key={fact.id} fact={fact} known={known} anchor />)}</ul>
      {facts.length > 0 && <p class="legend" aria-hidden="true"><i class="for" />{strings.facts.legend.belief}<i class="against" />{strings.facts.legend.against}</p>}
    </section>
  );
}
