// Merges two entities, with the server's preview of what changes.
import { useState } from "preact/hooks";
import { EntityField } from "../../common/parts/entity-field.tsx";
import type { Relation } from "../../common/state/context.ts";
import { useLoaded, type Loaded } from "../../common/state/hooks.ts";
import { sentence } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import type { KnownFact } from "../generated/operations.ts";
import { client, useMemoryPage } from "../state/context.ts";
import { factCount, factsOf, loadThing, type LoadedThing, type Namesake } from "../state/things.ts";
import { MergePreview } from "./generated/operations.ts";
import { describeMerge, type MergeCounts } from "./merge-words.ts";
import { strings } from "./strings.ts";

/** What the server would change, or why it refuses. */
type Preview = { counts: MergeCounts } | { refusal: string };

async function previewMerge(stays: LoadedThing, goes: LoadedThing): Promise<Preview> {
  const { errors, ...counts } = (await client.graphql(MergePreview, { intoId: stays.id, fromId: goes.id })).mergeEntities;
  return errors[0] ? { refusal: errors[0].message } : { counts };
}

/** Facts that contradict each other after the merge. The server's preview does not name them. */
function findRivals(stays: LoadedThing, goes: LoadedThing, relations: readonly Relation[]): KnownFact[] {
  const functional = new Set(relations.filter((r) => r.functional).map((r) => r.name));
  return factsOf(goes).filter((fact) => fact.status === "ACTIVE" && functional.has(fact.relation) && fact.subject.id === goes.id
    && factsOf(stays).some((other) => other.status === "ACTIVE" && other.relation === fact.relation && other.subject.id === stays.id && other.object?.id !== fact.object?.id));
}

function countsText(preview: Loaded<Preview | null>, stays: LoadedThing): string {
  if (preview.phase === "failed") return strings.previewFailed;
  if (preview.phase === "loading" || preview.value === null) return strings.merge.counting;
  return "counts" in preview.value ? describeMerge(preview.value.counts, stays) : strings.merge.refused;
}

function Changes({ stays, goes, preview }: { stays: LoadedThing; goes: LoadedThing; preview: Loaded<Preview | null> }) {
  const rivals = findRivals(stays, goes, useMemoryPage().ontology.value);
  const names = [goes.name, ...goes.aliases].filter((name) => name !== stays.name && !stays.aliases.includes(name));
  return (
    <ul class="changes" aria-label={strings.whatChanges} aria-live="polite">
      <li><b>{stays.isViewer ? strings.viewerTitle : stays.name}</b>{strings.merge.stays}{names.length > 0 && strings.merge.alsoCalled(names.join(", "))}.</li>
      <li>{countsText(preview, stays)}</li>
      {rivals.length > 0 && <li class="warn">{strings.merge.disputed(rivals.map(sentence).join("; "))}</li>}
      <li>{strings.merge.again}</li>
    </ul>
  );
}

/** Both entities, and what happens if one is merged into the other. */
function Choice({ thing, other, keepsOther, onClose, onMerged }: { thing: LoadedThing; other: LoadedThing; keepsOther: boolean; onClose: () => void; onMerged: (intoId: string) => void }) {
  const { steer } = useMemoryPage();
  // The user's own entity stays.
  const [staysId, setStaysId] = useState(other.isViewer || (keepsOther && !thing.isViewer) ? other.id : thing.id);
  const [stays, goes] = staysId === thing.id ? [thing, other] : [other, thing];
  const preview = useLoaded(`${stays.id} ${goes.id}`, () => previewMerge(stays, goes));
  const { busy, error, run } = useAction();
  const shown = preview.phase === "ready" ? preview.value : null;
  const merge = async () => {
    if (await run(() => steer.merge(stays, goes))) {
      onClose();
      onMerged(stays.id);
    }
  };
  return (
    <>
      <fieldset>
        <legend>{strings.merge.which}</legend>
        {[thing, other].map((one) => (
          <label key={one.id} class="choice"><input type="radio" name="stays" checked={staysId === one.id} onChange={() => setStaysId(one.id)} />{one.isViewer ? strings.viewerTitle : one.name} <span class="soft">{strings.facts(factCount(one))}</span></label>
        ))}
      </fieldset>
      <Changes stays={stays} goes={goes} preview={preview} />
      <Trouble text={error ?? (shown && "refusal" in shown ? shown.refusal : null)} />
      <footer><button type="button" class="plain" onClick={onClose}>{strings.cancel}</button><button type="button" class="strong" disabled={busy || !shown || "refusal" in shown} onClick={() => void merge()}>{strings.merge.merge}</button></footer>
    </>
  );
}

/** `namesake`: the other one, if it has the name that the reader wanted to give. Its name stays. */
export function MergeDialog({ thing, namesake = null, onClose, onMerged }: { thing: LoadedThing; namesake?: Namesake | null; onClose: () => void; onMerged: (intoId: string) => void }) {
  const [text, setText] = useState(namesake?.name ?? "");
  const [otherId, setOtherId] = useState(namesake?.id ?? null);
  const loaded = useLoaded(otherId ?? "", async () => (otherId ? loadThing(otherId) : null));
  const other = loaded.phase === "ready" ? loaded.value : null;
  return (
    <Dialog title={strings.merge.title(thing.name)} onClose={onClose}>
      <EntityField label={strings.merge.other} first text={text} shared={thing.shared} exclude={thing.id} onText={(typed) => { setText(typed); setOtherId(null); }} onChoose={(chosen) => { setText(chosen.name); setOtherId(chosen.id); }} />
      {other
        ? <Choice key={other.id} thing={thing} other={other} keepsOther={other.id === namesake?.id} onClose={onClose} onMerged={onMerged} />
        : <footer><button type="button" class="plain" onClick={onClose}>{strings.cancel}</button><button type="button" class="strong" disabled>{strings.merge.merge}</button></footer>}
    </Dialog>
  );
}
