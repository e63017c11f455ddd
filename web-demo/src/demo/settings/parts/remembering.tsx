// Pausing and resuming remembering in all sessions.
import { useState } from "preact/hooks";
import { Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import { pauseAll } from "../../state/session-actions.ts";
import { start } from "../../state/viewer.ts";

export function Remembering() {
  const { error, run } = useAction();
  const isPaused = start.value?.viewer.paused === true;
  /** What the user has chosen, until the server has stored it. */
  const [chosen, setChosen] = useState<boolean | null>(null);
  const choose = (paused: boolean) => {
    setChosen(paused);
    void run(() => pauseAll(paused)).then(() => setChosen(null));
  };
  return (
    <>
      <p>While remembering is paused, what you write is stored and your questions are answered. But nothing is learned from your messages, and they are not found later, also after you resume.</p>
      <label class="choice"><input type="checkbox" role="switch" checked={chosen ?? isPaused} onChange={(event) => choose(event.currentTarget.checked)} />Pause remembering in all sessions</label>
      <p role="status" class={isPaused ? "warn" : "soft"}>{isPaused ? "Remembering is paused." : "Recall remembers what you write."}</p>
      <Trouble text={error} />
      <p class="soft">Facts that you state on the Memory page and documents are remembered in any case. One session is paused in its menu in the list of sessions.</p>
    </>
  );
}
