// Notices changes of the memory, in this tab and elsewhere.
import type { MemoryEvent } from "@relevantic/recall";
import { useEffect } from "preact/hooks";
import { onMemoryEvent } from "../../state/changes.ts";

const SETTLE_MS = 300;

/** Calls `onChange` after events of any session. Several events in a row cause one call. null: events were missed. */
export function useChanges(onChange: (events: ReadonlyArray<MemoryEvent | null>) => void): void {
  useEffect(() => {
    let settle: ReturnType<typeof setTimeout> | undefined;
    let events: Array<MemoryEvent | null> = [];
    const stop = onMemoryEvent((event) => {
      events.push(event);
      clearTimeout(settle);
      settle = setTimeout(() => {
        onChange(events);
        events = [];
      }, SETTLE_MS);
    });
    return () => {
      stop();
      clearTimeout(settle);
    };
  }, []);
}
