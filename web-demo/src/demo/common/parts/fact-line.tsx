// A fact in one line.
import { phraseFor } from "../../state/format.ts";
import type { KnownFact, Named } from "../generated/operations.ts";
import { isNote, lower, nameOf, otherSide } from "../state/words.ts";
import { strings } from "../strings.ts";

type FactWords = Pick<KnownFact, "phrase" | "value"> & { subject: Named; object: Named | null };

export function Triple({ fact }: { fact: FactWords }) {
  // A note about two things is a fact of each, which differ in nothing else.
  if (isNote(fact)) return <span class="triple"><em>{strings.noteOn}</em> <b data-type={lower(fact.subject.type)}>{nameOf(fact.subject)}</b><em>:</em> <b>{otherSide(fact)}</b></span>;
  return (
    <span class="triple">
      <b data-type={lower(fact.subject.type)}>{nameOf(fact.subject)}</b> <em>{phraseFor(fact.phrase, fact.subject.isViewer)}</em> <b data-type={fact.object ? lower(fact.object.type) : undefined}>{otherSide(fact)}</b>
    </span>
  );
}
