// Reads again what may have changed without an event: the server is back, or the page came to the front.
import { useEffect, useRef } from "preact/hooks";
import { viewerRevision } from "../../state/viewer.ts";

export function useReadingOnReturn(read: () => void): void {
  const revision = viewerRevision.value;
  const last = useRef(revision);
  useEffect(() => {
    if (last.current !== revision) read();
    last.current = revision;
  }, [revision]);
}
