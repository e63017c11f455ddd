// Hooks of places over the whole memory: lists that follow their filters, and loaded stories.
import { useEffect, useMemo, useState } from "preact/hooks";
import { isNotKept } from "../../state/offline.ts";
import { handleError } from "../../state/problem.ts";
import { useMemoryContext } from "./context.ts";
import type { Reader } from "./fact-lists.ts";
import type { LiveList } from "./live-list.ts";
import type { Filters } from "./place.ts";

/** Opens the list of these filters. Returns the previous one, with its filters, until the first page of the new one is there. */
export function useLiveList<Row extends { id: string }>(filters: Filters, open: (filters: Filters, reader: Reader) => LiveList<Row>): { list: LiveList<Row>; filters: Filters } {
  const { version, reader } = useMemoryContext();
  const wanted = useMemo(() => ({ list: open(filters, reader.value), filters }), [JSON.stringify([filters, reader.value])]);
  const [shown, setShown] = useState(wanted);
  useEffect(() => {
    let stale = false;
    const { list } = wanted;
    void list.more().then(() => { if (!stale) setShown(wanted); });
    const stop = version.subscribe(() => { if (list.phase.value !== "loading") void list.refresh(); });
    return () => { stale = true; stop(); };
  }, [wanted]);
  return shown;
}

/** `isNotKept`: the server is missing, and this device has no copy. */
export type Loaded<T> = { phase: "loading" } | { phase: "failed"; why: string; isNotKept: boolean } | { phase: "ready"; value: T };

/** Loads a value, and again after every change of the memory. Keeps the old value until the new one is there. */
export function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const version = useMemoryContext().version.value;
  const [state, setState] = useState<{ key: string; loaded: Loaded<T> }>({ key, loaded: { phase: "loading" } });
  useEffect(() => {
    let stale = false;
    load().then(
      (value) => { if (!stale) setState({ key, loaded: { phase: "ready", value } }); },
      (error: unknown) => {
        const why = handleError(error);
        if (!stale) setState({ key, loaded: { phase: "failed", why, isNotKept: isNotKept(error) } });
      },
    );
    return () => { stale = true; };
  }, [key, version]);
  return state.key === key ? state.loaded : { phase: "loading" };
}

/** The value once it has not changed for `ms` milliseconds. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
