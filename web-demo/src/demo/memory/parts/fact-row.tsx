// One fact in the list: what it says, whether it holds, how sure the memory is.
import { ago, day, phraseFor } from "../../state/format.ts";
import { mayWrite } from "../state/context.ts";
import { opinion } from "../../parts/facts.tsx";
import type { KnownFact } from "../generated/operations.ts";
import type { Place } from "../state/place.ts";
import { changeWord, isNote, lower, nameOf, otherSide, percent, sentence, statusWord } from "../state/words.ts";
import { Row } from "./list-view.tsx";

export function Triple({ fact }: { fact: KnownFact }) {
  if (isNote(fact)) return <span class="triple"><em>note:</em> <b>{otherSide(fact)}</b></span>;
  return (
    <span class="triple">
      <b data-type={lower(fact.subject.type)}>{nameOf(fact.subject)}</b> <em>{phraseFor(fact.phrase, fact.subject.isViewer)}</em> <b data-type={fact.object ? lower(fact.object.type) : undefined}>{otherSide(fact)}</b>
    </span>
  );
}

/** Support, doubt and opposition as a bar. The text next to it says the same. */
export function BeliefBar({ fact }: { fact: Pick<KnownFact, "belief" | "uncertainty"> }) {
  const { support, opposition } = opinion(fact);
  return <span class="bar" aria-hidden="true"><i style={{ width: `${support * 100}%` }} /><u style={{ width: `${opposition * 100}%` }} /></span>;
}

interface Props {
  fact: KnownFact;
  place: Place;
  tabIndex: 0 | -1;
}

export function FactRow({ fact, place, tabIndex, selected, isNew, onSelect }: Props & { selected: boolean; isNew: boolean; onSelect: () => void }) {
  return (
    <Row
      place={place} id={fact.id} tabIndex={tabIndex} data-status={fact.status} data-selected={selected || undefined}
      tick={<label class="tick"><input type="checkbox" disabled={!mayWrite(fact.shared)} checked={selected} tabIndex={tabIndex} onChange={onSelect} /><span class="unseen">Select {sentence(fact)}</span></label>}
    >
      <Triple fact={fact} />
      <span class="meta">
        {fact.status === "ACTIVE" ? <><BeliefBar fact={fact} /><span><span class="unseen">belief </span>{percent(fact.belief)}</span></> : <span class="badge">{statusWord[fact.status]}</span>}
        {fact.flagged && <span class="warn">hearsay</span>}
        {fact.shared && <span class="badge">shared</span>}
        {isNew && <span class="new">new</span>}
        <time dateTime={fact.updatedAt}>{ago(fact.updatedAt)}</time>
      </span>
    </Row>
  );
}

/** A fact of a past day, or what became of it since. Its belief at that time is not known. */
export function PastFactRow({ fact, place, tabIndex, isChange }: Props & { isChange: boolean }) {
  const { status, validFrom, validTo } = fact;
  return (
    <Row place={place} id={fact.id} tabIndex={tabIndex} data-status={isChange ? status : "ACTIVE"}>
      <Triple fact={fact} />
      <span class="meta">
        {isChange && <span class={status === "ACTIVE" ? "new" : "badge"}>{changeWord[status]}</span>}
        {fact.shared && <span class="badge">shared</span>}
        {validFrom && <span>since <time dateTime={validFrom}>{day(validFrom)}</time></span>}
        {validTo && <span>until <time dateTime={validTo}>{day(validTo)}</time></span>}
      </span>
    </Row>
  );
}
