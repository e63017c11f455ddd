// Renames and retypes entities, with a preview of what changes.
import { useState } from "preact/hooks";
import { useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { selectText } from "../../common/parts/combobox.tsx";
import { entityTypes } from "../../common/state/place.ts";
import { manyOf, typeWord } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { factCount, type LoadedThing } from "../state/things.ts";

/** "5 facts and 12 mentions show it". */
const shownIn = (thing: LoadedThing): string => {
  const [facts, mentions] = [factCount(thing), thing.mentionCount];
  return `${manyOf(facts, "fact")} and ${manyOf(mentions, "mention")} ${facts + mentions === 1 ? "shows" : "show"} it`;
};

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
        <label>New name<input type="text" required autofocus ref={selectText} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <ul class="changes" aria-label="What changes" aria-live="polite">
          <li><b>{thing.name}</b> is then called <b>{changes ? name.trim() : "…"}</b>: {shownIn(thing)}.</li>
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
        <ul class="changes" aria-label="What changes" aria-live="polite">
          <li>{type === thing.type ? <>The type is <b>{typeWord[type]}</b></> : <>The type changes from <b>{typeWord[thing.type]}</b> to <b>{typeWord[type]}</b></>}: {shownIn(thing)}.</li>
          <li>Your choice is kept: no later message changes the type.</li>
        </ul>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>Cancel</button><button type="submit" class="strong" disabled={busy || type === thing.type}>Change</button></footer>
      </form>
    </Dialog>
  );
}
