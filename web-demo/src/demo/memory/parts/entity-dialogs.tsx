// Renames, merges and splits entities, with a preview of what changes.
import { useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { client, useMemoryPage, type Relation } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { useLoaded } from "../state/hooks.ts";
import { manyOf, otherSide, sentence } from "../state/words.ts";
import { ThingStory, type KnownFact, type ThingStoryResult } from "../generated/operations.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { EntityField } from "./entity-field.tsx";

export type LoadedThing = NonNullable<ThingStoryResult["entity"]>;
const factsOf = (thing: LoadedThing): KnownFact[] => [...thing.facts.nodes, ...thing.notes.nodes];
export const factCount = (thing: LoadedThing): number => (thing.facts.totalCount ?? 0) + (thing.notes.totalCount ?? 0);
export const loadThing = async (id: string): Promise<LoadedThing | null> => (await client.graphql(ThingStory, { id })).entity;

export function RenameDialog({ thing, onClose }: { thing: LoadedThing; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const [name, setName] = useState(thing.name);
  const { busy, error, run } = useAction();
  const changes = name.trim() !== "" && name.trim() !== thing.name;
  const save = async (event: Event) => {
    event.preventDefault();
    if (await run(() => steer.rename(thing, name.trim()))) onClose();
  };
  return (
    <Dialog title={`Rename ${thing.name}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>New name<input type="text" required autofocus value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <ul class="changes" aria-label="What changes" aria-live="polite">
          <li>{manyOf(factCount(thing), "fact")} will say <b>{changes ? name.trim() : "the new name"}</b>.</li>
          <li><b>{thing.name}</b> becomes another name, so both names find it.</li>
          <li>{manyOf(thing.mentionCount, "message")} that mention it keep their words.</li>
        </ul>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="submit" class="strong" disabled={busy || !changes}>Rename</button></footer>
      </form>
    </Dialog>
  );
}

/** Compares the facts of two entities: those that become one, and those that then contradict each other. */
export function compareFacts(stays: LoadedThing, goes: LoadedThing, relations: readonly Relation[]) {
  const functional = new Set(relations.filter((r) => r.functional).map((r) => r.name));
  const key = (fact: KnownFact, own: string) => `${fact.relation} ${fact.subject.id === own ? "*" : fact.subject.id} ${fact.object?.id === own ? "*" : (fact.object?.id ?? otherSide(fact))}`;
  const known = new Set(factsOf(stays).map((fact) => key(fact, stays.id)));
  const doubled = factsOf(goes).filter((fact) => known.has(key(fact, goes.id)));
  const rivals = factsOf(goes).filter((fact) => fact.status === "ACTIVE" && functional.has(fact.relation) && fact.subject.id === goes.id
    && factsOf(stays).some((other) => other.status === "ACTIVE" && other.relation === fact.relation && other.subject.id === stays.id && other.object?.id !== fact.object?.id));
  return { doubled, rivals };
}

function MergePreview({ stays, goes }: { stays: LoadedThing; goes: LoadedThing }) {
  const { doubled, rivals } = compareFacts(stays, goes, useMemoryPage().ontology.value);
  const names = [goes.name, ...goes.aliases].filter((name) => name !== stays.name && !stays.aliases.includes(name));
  return (
    <ul class="changes" aria-label="What changes" aria-live="polite">
      <li><b>{stays.isViewer ? "You" : stays.name}</b> stays{names.length > 0 && <>, and is also called {names.join(", ")}</>}.</li>
      <li>{manyOf(factCount(goes), "fact")} and {manyOf(goes.mentionCount, "mention")} of <b>{goes.name}</b> move to it.</li>
      {doubled.length > 0 && <li>{manyOf(doubled.length, "fact")} that both have become one: {doubled.map(sentence).join("; ")}.</li>}
      {rivals.length > 0 && <li class="warn">Then disputed, because only one can hold: {rivals.map(sentence).join("; ")}.</li>}
      <li>You can split them again at any time.</li>
    </ul>
  );
}

export function MergeDialog({ thing, onClose, onMerged }: { thing: LoadedThing; onClose: () => void; onMerged: (intoId: string) => void }) {
  const { steer } = useMemoryPage();
  const [text, setText] = useState("");
  const [otherId, setOtherId] = useState<string | null>(null);
  const [swapped, setSwapped] = useState(false);
  const { busy, error, run } = useAction();
  const loaded = useLoaded(otherId ?? "", async () => (otherId ? loadThing(otherId) : null));
  const other = loaded.phase === "ready" ? loaded.value : null;
  const [stays, goes] = other && swapped ? [other, thing] : [thing, other];
  const merge = async () => {
    if (stays && goes && (await run(() => steer.merge(stays, goes)))) {
      onClose();
      onMerged(stays.id);
    }
  };
  return (
    <Dialog title={`Merge ${thing.name} with the same under another name`} onClose={onClose}>
      <EntityField label="The other one" first text={text} shared={thing.shared} exclude={thing.id} onText={(typed) => { setText(typed); setOtherId(null); }} onChoose={(chosen) => { setText(chosen.name); setOtherId(chosen.id); setSwapped(chosen.isViewer); }} />
      {stays && goes && (
        <>
          <fieldset>
            <legend>Which name stays</legend>
            {[thing, other].map((one) => one && (
              <label key={one.id} class="choice"><input type="radio" name="stays" checked={stays.id === one.id} onChange={() => setSwapped(one.id !== thing.id)} />{one.isViewer ? "You" : one.name} <span class="soft">{manyOf(factCount(one), "fact")}</span></label>
            ))}
          </fieldset>
          <MergePreview stays={stays} goes={goes} />
        </>
      )}
      <Trouble text={error} />
      <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="button" class="strong" disabled={busy || !goes} onClick={() => void merge()}>Merge</button></footer>
    </Dialog>
  );
}

export function SplitDialog({ thing, merged, onClose }: { thing: LoadedThing; merged: LoadedThing["merged"][number]; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const { busy, error, run } = useAction();
  const split = async () => { if (await run(() => steer.split(merged))) onClose(); };
  return (
    <Dialog title={`Split ${merged.name} from ${thing.name}`} onClose={onClose}>
      <ul class="changes" aria-label="What changes">
        <li><b>{merged.name}</b> stands alone again, with the names, mentions and facts that it had on {day(merged.mergedAt)}.</li>
        <li>What was learned since stays with <b>{thing.name}</b>, unless its message names {merged.name}.</li>
        <li>They were merged because: {merged.reason}.</li>
      </ul>
      <Trouble text={error} />
      <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="button" class="strong" disabled={busy} onClick={() => void split()}>Split</button></footer>
    </Dialog>
  );
}
