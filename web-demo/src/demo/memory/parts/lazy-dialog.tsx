// A dialog whose code loads when the first dialog opens.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { useCode } from "../../parts/use-code.ts";
import { strings } from "../strings.ts";

type Dialogs = typeof import("../dialogs/index.ts");
const load = (): Promise<Dialogs> => import("../dialogs/index.ts");

/** A shorter wait needs no words, which would only flicker. */
const PATIENCE_MS = 200;

/** Says that the dialog is on its way, or that it did not come. */
function Waiting({ failed, onRetry, onClose }: { failed: boolean; onRetry: () => void; onClose: () => void }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate && !failed) return null;
  return (
    <Dialog title={failed ? strings.pane.couldNotLoad : strings.pane.oneMoment} onClose={onClose}>
      <p role="status">{failed ? strings.pane.unreachable : strings.loading}</p>
      <footer>
        <button type="button" class="plain" onClick={onClose}>{strings.cancel}</button>
        {failed && <button type="button" class="strong" onClick={onRetry}>{strings.tryAgain}</button>}
      </footer>
    </Dialog>
  );
}

export function LazyDialog({ onClose, render }: { onClose: () => void; render: (dialogs: Dialogs) => JSX.Element }) {
  const { code, failed, retry } = useCode(load);
  // The dialog returns the focus to what had it when it opened. If that was the notice of a slow line, the button that asked for the dialog gets it.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    return () => void setTimeout(() => { if (document.activeElement === document.body && opener instanceof HTMLElement && opener.isConnected) opener.focus(); });
  }, []);
  return code ? render(code) : <Waiting failed={failed} onRetry={retry} onClose={onClose} />;
}
