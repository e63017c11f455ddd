// One fact in the list: what it says, whether it holds, how sure the memory is.
import { ago } from "../../state/format.ts";
import { mayWrite } from "../state/context.ts";
import { timesOf } from "../state/times.ts";
import { BeliefBar, Triple } from "../../common/parts/fact-line.tsx";
import type { KnownFact } from "../generated/operations.ts";
import type { Place } from "../../common/state/place.ts";
import { changeWord, percent, sentence, statusWord } from "../../common/state/words.ts";
import { Row } from "./list-view.tsx";

interface Props {
  fact: KnownFact;
  place: Place;
  tabIndex: 0 | -1;
}

/** `showsLearned`: shows when the fact was learned instead of its last change. */
export function FactRow({ fact, place, tabIndex, selected, isNew, showsLearned, onSelect }: Props & { selected: boolean; isNew: boolean; showsLearned: boolean; onSelect: () => void }) {
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
        {showsLearned ? <span class="when">learned <time dateTime={fact.createdAt}>{ago(fact.createdAt)}</time></span> : <time class="when" dateTime={fact.updatedAt}>{ago(fact.updatedAt)}</time>}
      </span>
    </Row>
  );
}

/** A fact of a past day, or what became of it since. Its belief at that time is not known. */
export function PastFactRow({ fact, place, tabIndex, isChange }: Props & { isChange: boolean }) {
  const { status } = fact;
  return (
    <Row place={place} id={fact.id} tabIndex={tabIndex} data-status={isChange ? status : "ACTIVE"}>
      <Triple fact={fact} />
      <span class="meta">
        {isChange && <span class={status === "ACTIVE" ? "new" : "badge"}>{changeWord[status]}</span>}
        {fact.shared && <span class="badge">shared</span>}
        {timesOf(fact).map(([word, iso, text]) => <span key={word}>{word} <time dateTime={iso}>{text}</time></span>)}
      </span>
    </Row>
  );
}
