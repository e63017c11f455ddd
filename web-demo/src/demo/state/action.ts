// An action of a place, with its error.
import { useState } from "preact/hooks";
import { handleError } from "./problem.ts";

export interface Action {
  busy: boolean;
  error: string | null;
  /** Runs an action. Returns whether it succeeded. */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
}

export function useAction(): Action {
  const [state, setState] = useState<{ busy: boolean; error: string | null }>({ busy: false, error: null });
  const run = async (work: () => Promise<unknown>) => {
    setState({ busy: true, error: null });
    try {
      await work();
      setState({ busy: false, error: null });
      return true;
    } catch (error) {
      setState({ busy: false, error: handleError(error) });
      return false;
    }
  };
  return { ...state, run };
}
