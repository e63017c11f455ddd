// One fact in the list: what it says, whether it holds, how sure the memory is.
import { ago } from "../../state/format.ts";
import { mayChange } from "../state/context.ts";
import { changeOf } from "../state/past.ts";
import { timesOf } from "../state/times.ts";
import { Triple } from "../../common/parts/fact-line.tsx";
import { BeliefBar } from "../../parts/facts.tsx";
import type { KnownFact } from "../generated/operations.ts";
import type { Place } from "../../common/state/place.ts";
import { percent, sentence, statusWord } from "../../common/state/words.ts";
import { Row } from "./list-view.tsx";
import { strings } from "../strings.ts";

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
      tick={<label class="tick"><input type="checkbox" disabled={!mayChange(fact.shared)} checked={selected} tabIndex={tabIndex} onChange={onSelect} /><span class="unseen">{strings.fact.select(sentence(fact))}</span></label>}
    >
      <Triple fact={fact} />
      <span class="meta">
        {fact.status === "ACTIVE" ? <><BeliefBar fact={fact} /><span><span class="unseen">{strings.fact.belief}</span>{percent(fact.belief)}</span></> : <span class="badge">{statusWord[fact.status]}</span>}
        {fact.shared && <span class="badge">{strings.shared}</span>}
        {isNew && <span class="new">{strings.fact.isNew}</span>}
        {showsLearned ? <span class="when">{strings.fact.learned}<time dateTime={fact.createdAt}>{ago(fact.createdAt)}</time></span> : <time class="when" dateTime={fact.updatedAt}>{ago(fact.updatedAt)}</time>}
      </span>
    </Row>
  );
}

/** A fact of a past day. `since`: shows instead what became of it since the end of this day. Its belief at that time is not known. */
export function PastFactRow({ fact, place, tabIndex, since }: Props & { since: string | null }) {
  const change = since === null ? null : changeOf(fact, since);
  return (
    <Row place={place} id={fact.id} tabIndex={tabIndex} data-status={change === null || change === "learned" ? "ACTIVE" : "ENDED"}>
      <Triple fact={fact} />
      <span class="meta">
        {change && <span class={change === "learned" ? "new" : "badge"}>{change}</span>}
        {fact.shared && <span class="badge">{strings.shared}</span>}
        {timesOf(fact).map(([word, iso, text]) => <span key={word}>{word} <time dateTime={iso}>{text}</time></span>)}
      </span>
    </Row>
  );
}
