// One fact in the list: what it says, whether it holds, how sure the memory is.
import { ago, phraseFor } from "../../state/format.ts";
import { mayWrite } from "../state/context.ts";
import { opinion } from "../../parts/facts.tsx";
import type { KnownFact } from "../generated/operations.ts";
import { isNote, lower, nameOf, otherSide, percent, sentence, statusWord } from "../state/words.ts";

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
  href: string;
  open: boolean;
  selected: boolean;
  isNew: boolean;
  tabIndex: 0 | -1;
  onSelect: () => void;
}

export function FactRow({ fact, href, open, selected, isNew, tabIndex, onSelect }: Props) {
  return (
    <div class="row" data-status={fact.status} data-selected={selected || undefined} data-open={open || undefined}>
      <label class="tick"><input type="checkbox" disabled={!mayWrite(fact.shared)} checked={selected} tabIndex={tabIndex} onChange={onSelect} /><span class="unseen">Select {sentence(fact)}</span></label>
      <a href={href} data-row tabIndex={tabIndex} aria-current={open ? "true" : undefined}>
        <Triple fact={fact} />
        <span class="meta">
          {fact.status === "ACTIVE" ? <><BeliefBar fact={fact} /><span><span class="unseen">belief </span>{percent(fact.belief)}</span></> : <span class="badge">{statusWord[fact.status]}</span>}
          {fact.flagged && <span class="warn">hearsay</span>}
          {fact.shared && <span class="badge">shared</span>}
          {isNew && <span class="new">new</span>}
          <time dateTime={fact.updatedAt}>{ago(fact.updatedAt)}</time>
        </span>
      </a>
    </div>
  );
}
