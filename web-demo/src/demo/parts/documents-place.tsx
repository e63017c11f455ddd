// Loads the documents place when it is first opened, and shows where dropped files go.
import { useEffect, useState } from "preact/hooks";
import { acceptDrops, isDragging } from "../state/file-drop.ts";
import { start } from "../state/viewer.ts";
import { strings } from "../strings.ts";

type Place = typeof import("../documents/parts/place.tsx");
let loaded: Place | null = null;

export function DocumentsPlace() {
  const [place, setPlace] = useState(loaded);
  const [failed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    import("../documents/parts/place.tsx").then((module) => setPlace((loaded = module)), () => setFailed(true));
  };
  useEffect(() => { if (!place) load(); }, []);
  // What the user may do must be known first.
  if (place && start.value) return <place.Documents />;
  return (
    <main id="main" tabIndex={-1} class="documents" aria-busy={!failed}>
      {failed && <p class="trouble">{strings.notLoaded(strings.page.documents)}<button type="button" onClick={load}>{strings.tryAgain}</button></p>}
    </main>
  );
}

/** Takes files that are dropped anywhere on the page. */
export function FileDrop() {
  useEffect(acceptDrops, []);
  return isDragging.value ? <div class="drop-target" aria-hidden="true"><b>{strings.page.dropFiles}</b></div> : null;
}
