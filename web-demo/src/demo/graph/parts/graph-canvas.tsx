// The drawn graph, with its keys and buttons.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useMediaQuery } from "../../media-query.ts";
import { Icon } from "../../parts/icon.tsx";
import { theme } from "../../state/preferences.ts";
import { directions } from "../state/steps.ts";
import type { GraphStore } from "../state/store.ts";
import { readPalette } from "./palette.ts";
import { GraphStage } from "./stage.ts";
import { strings } from "../strings.ts";

const ZOOM_STEP = 1.4;

/** Creates the stage when the canvas exists, and stops it when the canvas goes. */
function useStage(store: GraphStore) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [stage, setStage] = useState<GraphStage | null>(null);
  const [manual, setManual] = useState(false);
  useEffect(() => {
    if (!canvas.current) return;
    const created = new GraphStage(canvas.current, { onSelect: (id) => store.select(id), onToggle: (id) => void store.toggle(id), onManualChange: setManual });
    setStage(created);
    return created.attach();
  }, []);
  return { canvas, stage, manual };
}

/** Reads the colors again after a change of the theme. */
function usePalette(stage: GraphStage | null) {
  const probe = useRef<HTMLSpanElement>(null);
  const chosen = theme.current.value;
  const dark = useMediaQuery("(prefers-color-scheme: dark)");
  useLayoutEffect(() => { if (stage && probe.current) stage.setPalette(readPalette(probe.current)); }, [stage, chosen, dark]);
  return probe;
}

interface Props {
  store: GraphStore;
  /** Gets the stage when it exists. */
  onStage: (stage: GraphStage) => void;
}

export function GraphCanvas({ store, onStage }: Props) {
  const { canvas, stage, manual } = useStage(store);
  const probe = usePalette(stage);
  const network = store.network.value;
  const [centre, selected, expanded] = [store.centre.value?.id ?? null, store.selected.value, store.expanded.value];
  useLayoutEffect(() => stage?.show(network, { centre, selected, expanded }), [stage, network, centre, selected, expanded]);
  useEffect(() => { if (stage) onStage(stage); }, [stage]);

  const keys: Record<string, () => void> = {
    "+": () => stage?.zoom(ZOOM_STEP), "=": () => stage?.zoom(ZOOM_STEP), "-": () => stage?.zoom(1 / ZOOM_STEP), "0": () => stage?.fit(),
    Home: () => store.select(centre), Escape: () => store.select(null), Enter: () => { if (selected) void store.toggle(selected); },
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const direction = directions[event.key];
    const key = keys[event.key];
    if (!direction && !key) return;
    event.preventDefault();
    if (direction) stage?.step(direction);
    else key?.();
  };
  return (
    <div class="stage">
      <canvas
        ref={canvas} tabIndex={0} role="application" aria-roledescription={strings.canvas.role} aria-label={strings.canvas.label(network.things.length)}
        aria-describedby="graph-keys" onKeyDown={onKeyDown}
      />
      <p id="graph-keys" class="unseen">{strings.canvas.keys}</p>
      <span ref={probe} hidden />
      <div class="zoom" role="group" aria-label={strings.canvas.zoom}>
        <button type="button" class="icon-button" aria-label={strings.canvas.zoomIn} title={strings.canvas.zoomIn} onClick={() => stage?.zoom(ZOOM_STEP)}><Icon name="plus" /></button>
        <button type="button" class="icon-button" aria-label={strings.canvas.zoomOut} title={strings.canvas.zoomOut} onClick={() => stage?.zoom(1 / ZOOM_STEP)}><span class="minus" aria-hidden="true" /></button>
        <button type="button" class="icon-button" aria-label={strings.canvas.showAll} title={strings.canvas.showAll} disabled={!manual} onClick={() => stage?.fit()}><Icon name="fit" /></button>
      </div>
    </div>
  );
}
