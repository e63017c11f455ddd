// Opens the graph of an address, and keeps it as the memory is.
import type { MemoryEvent } from "@relevantic/recall";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { createMemoryContext, loadOntology } from "../../common/state/context.ts";
import { useChanges } from "../../common/state/follow.ts";
import { isNotKept, knownAt, read } from "../../state/offline.ts";
import { reportProblem } from "../../state/problem.ts";
import type { GraphAddress } from "./place.ts";
import { GraphStore } from "./store.ts";

export function useGraph(address: GraphAddress) {
  const context = useMemo(createMemoryContext, []);
  const store = useMemo(() => new GraphStore(), []);
  const [attempt, setAttempt] = useState(0);
  const retry = () => setAttempt((old) => old + 1);
  const update = (events: ReadonlyArray<MemoryEvent | null>) => {
    context.version.value += 1;
    // What was missing, or was not on this device, may be there now.
    if (store.phase.value === "missing" || store.phase.value === "failed") retry();
    else void store.refresh(events);
  };
  const reader = context.reader.value;
  const ready = context.ready.value;
  const isOffline = knownAt.value !== null;
  const wasOffline = useRef(isOffline);
  useEffect(() => {
    loadOntology(context, read).catch((error: unknown) => { if (!isNotKept(error)) reportProblem(error); });
    if (wasOffline.current && !isOffline) update([null]);
    wasOffline.current = isOffline;
  }, [isOffline]);
  useEffect(() => { if (ready) void store.open(address, reader); }, [ready, address, reader, attempt]);
  useChanges(update);
  return { context, store, retry, waitsForServer: isOffline && (!ready || store.phase.value === "failed") };
}

/** The link to another centre is gone when it is the centre. Moves the focus to where the reader goes on: the list, or the canvas. */
export function useFocusAfterMove(centre: string | undefined, listed: boolean): void {
  const last = useRef<string | undefined>(undefined);
  useEffect(() => {
    const moved = last.current !== undefined && last.current !== centre;
    last.current = centre;
    if (!moved || document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>(listed ? '.graph-page [data-row][tabindex="0"]' : ".graph-page canvas")?.focus({ preventScroll: true });
  }, [centre]);
}
