// Notices changes of the memory, in this tab and elsewhere.
import { useEffect } from "preact/hooks";
import { onMemoryEvent } from "../../state/changes.ts";

const SETTLE_MS = 300;

/** Calls `onChange` after events of any session. Several events in a row cause one call. */
export function useChanges(onChange: () => void): void {
  useEffect(() => {
    let settle: ReturnType<typeof setTimeout> | undefined;
    const stop = onMemoryEvent(() => {
      clearTimeout(settle);
      settle = setTimeout(onChange, SETTLE_MS);
    });
    return () => {
      stop();
      clearTimeout(settle);
    };
  }, []);
}
