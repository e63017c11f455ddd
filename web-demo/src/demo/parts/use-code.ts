// Loads code when it is first needed.
import { useEffect, useState } from "preact/hooks";

export interface LazyCode<Code> {
  /** null: not loaded yet, or not at all. */
  readonly code: Code | null;
  readonly failed: boolean;
  readonly retry: () => void;
}

/** `isWanted`: loads only when it is true. */
export function useCode<Code>(load: () => Promise<Code>, isWanted = true): LazyCode<Code> {
  const [state, setState] = useState<{ code: Code } | "failed" | null>(null);
  const start = () => {
    setState(null);
    load().then((code) => setState({ code }), () => setState("failed"));
  };
  useEffect(() => { if (isWanted && state === null) start(); }, [isWanted]);
  return { code: state !== null && state !== "failed" ? state.code : null, failed: state === "failed", retry: start };
}
