// Renames and retypes entities, with a preview of what changes.
import { useState } from "preact/hooks";
import { useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { selectText } from "../../common/parts/combobox.tsx";
import { entityTypes } from "../../common/state/place.ts";
import { aType, manyOf, typeWord } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useLoaded, useSettled } from "../../common/state/hooks.ts";
import { factCount, findNamesake, type LoadedThing, type Namesake } from "../state/things.ts";

const TYPING_PAUSE_MS = 150;

/** "5 facts and 12 mentions show it". */
const shownIn = (thing: LoadedThing): string => {
  const [facts, mentions] = [factCount(thing), thing.mentionCount];
  return `${manyOf(facts, "fact")} and ${manyOf(mentions, "mention")} ${facts + mentions === 1 ? "shows" : "show"} it`;
};

/** "There is already a person called Ann." */
function namesakeText({ name, type, isViewer }: Namesake, wanted: string): string {
  if (isViewer) return `You are already called ${wanted}.`;
  return `There is already ${aType(type)} called ${name === wanted ? name : `${wanted}: ${name}`}.`;
}

/** `onMerge`: the reader wants to merge the two instead. */
export function RenameDialog({ thing, onClose, onMerge }: { thing: LoadedThing; onClose: () => void; onMerge: (other: Namesake) => void }) {
  const { steer } = useMemoryPage();
  const [text, setText] = useState(thing.name);
  const { busy, error, run } = useAction();
  const name = text.trim();
  const changes = name !== "" && name !== thing.name;
  const settled = useSettled(name, TYPING_PAUSE_MS);
  const found = useLoaded(settled, async () => (settled && settled !== thing.name ? findNamesake(thing, settled) : null));
  const namesake = changes && settled === name && found.phase === "ready" ? found.value : null;
  const save = async (event: Event) => {
    event.preventDefault();
    let isWarned = false;
    const done = await run(async () => {
      // Enter may come before the warning.
      const other = await findNamesake(thing, name);
      isWarned = other !== null && other.id !== namesake?.id;
      if (!isWarned) await steer.rename(thing, name);
    });
    if (done && !isWarned) onClose();
  };
  return (
    <Dialog title={`Rename ${thing.name}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>New name<input type="text" required autofocus ref={selectText} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <ul class="changes" aria-label="What changes" aria-live="polite">
          <li><b>{thing.name}</b> is then called <b>{changes ? name : "…"}</b>: {shownIn(thing)}.</li>
          <li><b>{thing.name}</b> becomes another name, so both names find it.</li>
          <li>The words of messages stay as they are.</li>
          {namesake && <li class="warn">{namesakeText(namesake, name)} Two would then have one name. <button type="button" class="plain" onClick={() => onMerge(namesake)}>Merge the two…</button></li>}
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
