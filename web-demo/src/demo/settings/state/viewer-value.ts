// What the settings show of the viewer, as the server has it now.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../../state/action.ts";
import { viewerRevision } from "../../state/viewer.ts";

/** Reads a value, and again when it may have changed without an event. Keeps the old value until the new one is there. */
export function useViewerValue<Value>(read: () => Promise<Value>): { value: Value | null; error: string | null } {
  const [value, setValue] = useState<Value | null>(null);
  const { error, run } = useAction();
  const revision = viewerRevision.value;
  useEffect(() => {
    let stale = false;
    void run(async () => {
      const now = await read();
      if (!stale) setValue(now);
    });
    return () => { stale = true; };
  }, [revision]);
  return { value, error };
}
