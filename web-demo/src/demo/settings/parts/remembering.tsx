// Pausing and resuming remembering in all sessions.
import { useState } from "preact/hooks";
import { Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import { pauseAll } from "../../state/session-actions.ts";
import { start } from "../../state/viewer.ts";
import { strings } from "../strings.ts";

const words = strings.remembering;

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
      <p>{words.about}</p>
      <label class="choice"><input type="checkbox" role="switch" checked={chosen ?? isPaused} onChange={(event) => choose(event.currentTarget.checked)} />{words.pause}</label>
      <p role="status" class={isPaused ? "warn" : "soft"}>{isPaused ? words.isPaused : words.isOn}</p>
      <Trouble text={error} />
      <p class="soft">{words.limits}</p>
    </>
  );
}
