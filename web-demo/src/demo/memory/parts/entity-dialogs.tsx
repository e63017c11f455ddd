// Renames, retypes and splits entities, with a preview of what changes.
import { useState } from "preact/hooks";
import { day } from "../../state/format.ts";
import { client, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { entityTypes } from "../../common/state/place.ts";
import { manyOf, typeWord } from "../../common/state/words.ts";
import { ThingStory, type KnownFact, type ThingStoryResult } from "../generated/operations.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";

export type LoadedThing = NonNullable<ThingStoryResult["entity"]>;
export const factsOf = (thing: LoadedThing): KnownFact[] => [...thing.facts.nodes, ...thing.notes.nodes];
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
          <li>The words of messages stay as they are.</li>
        </ul>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="submit" class="strong" disabled={busy || !changes}>Rename</button></footer>
      </form>
    </Dialog>
  );
}

export function RetypeDialog({ thing, onClose }: { thing: LoadedThing; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const [type, setType] = useState(thing.type);
  const { busy, error, run } = useAction();
  const save = async (event: Event) => {
    event.preventDefault();
    if (await run(() => steer.retype(thing, type))) onClose();
  };
  return (
    <Dialog title={`Change the type of ${thing.name}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>Type
          <select autofocus value={type} onChange={(event) => setType(entityTypes.find((one) => one === event.currentTarget.value) ?? thing.type)}>
            {entityTypes.map((one) => <option key={one} value={one}>{typeWord[one]}</option>)}
          </select>
        </label>
        <p class="soft">Your choice is kept: no later message changes the type.</p>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="submit" class="strong" disabled={busy || type === thing.type}>Change</button></footer>
      </form>
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
