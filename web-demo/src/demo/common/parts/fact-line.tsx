// A fact in one line: what it says, and how sure the memory is.
import { opinion } from "../../parts/facts.tsx";
import { phraseFor } from "../../state/format.ts";
import type { KnownFact, Named } from "../generated/operations.ts";
import { isNote, lower, nameOf, otherSide } from "../state/words.ts";

type FactWords = Pick<KnownFact, "phrase" | "value"> & { subject: Named; object: Named | null };

export function Triple({ fact }: { fact: FactWords }) {
  // A note about two things is a fact of each, which differ in nothing else.
  if (isNote(fact)) return <span class="triple"><em>note on</em> <b data-type={lower(fact.subject.type)}>{nameOf(fact.subject)}</b><em>:</em> <b>{otherSide(fact)}</b></span>;
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
