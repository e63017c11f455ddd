// The heading of the graph, with what concerns all of it.
import { useState } from "preact/hooks";
import type { GraphStore } from "../state/store.ts";
import { SaveDialog } from "./save-dialog.tsx";
import type { GraphStage } from "./stage.ts";

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
      <h1>Graph</h1>
      <div class="do">
        <button type="button" class="plain" aria-pressed={all} onClick={() => void store.showAll(!all)}>Show everything</button>
        <button type="button" class="plain" aria-pressed={listed} onClick={() => onList(!listed)}>List</button>
        <button type="button" class="plain" disabled={!stage} onClick={() => setSaving(true)}>Save as image…</button>
      </div>
      {saving && stage && <SaveDialog stage={stage} onClose={() => setSaving(false)} />}
    </div>
  );
}
