// The heading of the graph, with what concerns all of it.
import { useState } from "preact/hooks";
import type { GraphStore } from "../state/store.ts";
import { SaveDialog } from "./save-dialog.tsx";
import type { GraphStage } from "./stage.ts";
import { strings } from "../strings.ts";

interface Props {
  store: GraphStore;
  stage: GraphStage | null;
  listed: boolean;
  onList: (listed: boolean) => void;
}

export function Head({ store, stage, listed, onList }: Props) {
  const [saving, setSaving] = useState(false);
  const all = store.showsAll.value;
  return (
    <div class="head">
      <h1>{strings.title}</h1>
      <div class="do">
        <button type="button" class="plain" aria-pressed={all} onClick={() => void store.showAll(!all)}>{strings.head.showEverything}</button>
        <button type="button" class="plain" aria-pressed={listed} onClick={() => onList(!listed)}>{strings.head.list}</button>
        <button type="button" class="plain" disabled={!stage} onClick={() => setSaving(true)}>{strings.head.saveAsImage}</button>
      </div>
      {saving && stage && <SaveDialog stage={stage} onClose={() => setSaving(false)} />}
    </div>
  );
}
