// Renames and retypes entities, with a preview of what changes.
import { useState } from "preact/hooks";
import { useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { selectText } from "../../common/parts/combobox.tsx";
import { entityTypes } from "../../common/state/place.ts";
import { aType, typeWord } from "../../common/state/words.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useLoaded, useSettled } from "../../common/state/hooks.ts";
import { factCount, findNamesake, type LoadedThing, type Namesake } from "../state/things.ts";
import { strings } from "./strings.ts";

const TYPING_PAUSE_MS = 150;

/** "5 facts and 12 mentions show it". */
const shownIn = (thing: LoadedThing): string => strings.rename.shownIn(factCount(thing), thing.mentionCount);

/** "There is already a person called Ann." */
function namesakeText({ name, type, isViewer }: Namesake, wanted: string): string {
  if (isViewer) return strings.rename.ownName(wanted);
  return strings.rename.namesake(aType(type), name === wanted ? name : strings.rename.otherNamesake(wanted, name));
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
    <Dialog title={strings.rename.title(thing.name)} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>{strings.rename.newName}<input type="text" required autofocus ref={selectText} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <ul class="changes" aria-label={strings.whatChanges} aria-live="polite">
          <li><b>{thing.name}</b>{strings.rename.isCalled}<b>{changes ? name : "…"}</b>{strings.rename.shown(shownIn(thing))}</li>
          <li><b>{thing.name}</b>{strings.rename.bothNames}</li>
          <li>{strings.rename.wordsStay}</li>
          {namesake && <li class="warn">{namesakeText(namesake, name)}{strings.rename.twoWithOne}<button type="button" class="plain" onClick={() => onMerge(namesake)}>{strings.rename.merge}</button></li>}
        </ul>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>{strings.cancel}</button><button type="submit" class="strong" disabled={busy || !changes}>{strings.rename.rename}</button></footer>
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
    <Dialog title={strings.retype.title(thing.name)} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>{strings.retype.type}
          <select autofocus value={type} onChange={(event) => setType(entityTypes.find((one) => one === event.currentTarget.value) ?? thing.type)}>
            {entityTypes.map((one) => <option key={one} value={one}>{typeWord[one]}</option>)}
          </select>
        </label>
        <ul class="changes" aria-label={strings.whatChanges} aria-live="polite">
          <li>{type === thing.type ? <>{strings.retype.is}<b>{typeWord[type]}</b></> : <>{strings.retype.changes[0]}<b>{typeWord[thing.type]}</b>{strings.retype.changes[1]}<b>{typeWord[type]}</b></>}{strings.rename.shown(shownIn(thing))}</li>
          <li>{strings.retype.isKept}</li>
        </ul>
        <Trouble text={error} />
        <footer><button type="button" class="plain" onClick={onClose}>{strings.cancel}</button><button type="submit" class="strong" disabled={busy || type === thing.type}>{strings.retype.change}</button></footer>
      </form>
    </Dialog>
  );
}
