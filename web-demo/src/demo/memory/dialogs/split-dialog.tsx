// Splits an entity: undoes a merge, or separates what was said under one of its names. The server's preview shows what would move.
import type { UnmergeEntitiesInput } from "@relevantic/recall";
import { useState } from "preact/hooks";
import { useLoaded, type Loaded } from "../../common/state/hooks.ts";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import { day } from "../../state/format.ts";
import { client, useMemoryPage } from "../state/context.ts";
import type { LoadedThing } from "../state/things.ts";
import { SplitPreview } from "./generated/operations.ts";
import { describeSplit, type SplitCounts } from "./merge-words.ts";
import { strings } from "./strings.ts";

/** What can stand alone: an entity that was merged, or a name. */
interface Part {
  readonly key: string;
  readonly name: string;
  readonly about: string;
  readonly target: Omit<UnmergeEntitiesInput, "dryRun">;
}

const { byName, byMerge } = strings.split;

type Preview = { counts: SplitCounts } | { refusal: string };

const isSame = (a: string, b: string) => a.localeCompare(b, undefined, { sensitivity: "base" }) === 0;

/** The recorded merges, then the other names. */
function partsOf(thing: LoadedThing): Part[] {
  const merged = thing.merged.map(({ id, name, mergedAt, reason }): Part => ({ key: id, name, about: strings.split.merged(day(mergedAt), reason), target: { entityId: id } }));
  const names = thing.aliases.filter((alias) => !thing.merged.some(({ name }) => isSame(name, alias)));
  return [...merged, ...names.map((name): Part => ({ key: `name ${name}`, name, about: strings.split.anotherName, target: { entityId: thing.id, name } }))];
}

async function previewSplit(part: Part): Promise<Preview> {
  const { errors, ...counts } = (await client.graphql(SplitPreview, { input: { ...part.target, dryRun: true } })).unmergeEntities;
  return errors[0] ? { refusal: errors[0].message } : { counts };
}

function countsText(preview: Loaded<Preview | null>, name: string): string {
  if (preview.phase === "failed") return strings.previewFailed;
  if (preview.phase === "loading" || preview.value === null) return strings.split.counting;
  return "counts" in preview.value ? describeSplit(preview.value.counts, name) : strings.split.nothing;
}

/** `first`: the merge that is chosen at first. */
export function SplitDialog({ thing, first, onClose }: { thing: LoadedThing; first: string | null; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const parts = partsOf(thing);
  const [key, setKey] = useState(first ?? (parts.length === 1 ? parts[0]?.key : null));
  const part = parts.find((one) => one.key === key);
  const preview = useLoaded(part?.key ?? "", async () => (part ? previewSplit(part) : null));
  const shown = preview.phase === "ready" ? preview.value : null;
  const { busy, error, run } = useAction();
  const whole = thing.isViewer ? strings.viewer : thing.name;
  const split = async () => { if (part && (await run(() => steer.split(part.target, part.name, thing)))) onClose(); };
  return (
    <Dialog title={strings.split.title(whole)} onClose={onClose}>
      <fieldset>
        <legend>{strings.split.which}</legend>
        {parts.map((one, index) => (
          <label key={one.key} class="choice"><input type="radio" name="part" autofocus={one.key === key || (!part && index === 0)} checked={one.key === key} onChange={() => setKey(one.key)} />{one.name} <span class="soft">{one.about}</span></label>
        ))}
      </fieldset>
      <ul class="changes" aria-label={strings.whatChanges} aria-live="polite">
        {part ? (
          <>
            <li>{countsText(preview, part.name)}</li>
            <li>{part.target.name ? <>{byName[0]}<b>{part.name}</b>{byName[1]}<b>{whole}</b>{byName[2]}</> : <>{byMerge[0]}<b>{whole}</b>{byMerge[1](part.name)}</>}</li>
            <li>{strings.split.again}</li>
          </>
        ) : <li>{strings.split.before}</li>}
      </ul>
      <Trouble text={error ?? (shown && "refusal" in shown ? shown.refusal : null)} />
      <footer><button type="button" class="plain" onClick={onClose}>{strings.cancel}</button><button type="button" class="strong" disabled={busy || !shown || "refusal" in shown} onClick={() => void split()}>{strings.split.split}</button></footer>
    </Dialog>
  );
}
