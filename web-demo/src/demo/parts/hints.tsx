// What to try: a large invitation in an empty session, a row of chips afterwards, gone once everything was seen.
import { line, send } from "../state/app.ts";
import { seen, skipTour, suggestions, type Suggestion } from "../state/tour.ts";
import { Icon } from "./icon.tsx";

const ready = () => line.value !== null;

export function Welcome({ first }: { first: boolean }) {
  const steps = suggestions.filter((s) => s.say).slice(0, 3);
  return (
    <section class="welcome">
      <div class="constellation" aria-hidden="true"><i /><i /><i /><b /><b /></div>
      <h1>{first ? "Tell me something." : "A fresh session."}<br /><span>I will remember it, and show you why I believe it.</span></h1>
      <ol>
        {steps.map((s) => (
          <li key={s.step}>
            <button type="button" disabled={!ready()} onClick={() => void send(s.say ?? "")}>
              <small>{s.title}</small>
              <b>{s.say}</b>
              <span>{s.hint}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Hints() {
  const open = suggestions.filter((s) => !seen.value.has(s.step));
  if (open.length === 0) return null;
  const done = suggestions.length - open.length;
  const chip = (s: Suggestion) =>
    s.say ? (
      <button type="button" key={s.step} class="chip" onClick={() => void send(s.say ?? "")} title={s.hint}><small>{s.title}</small>{s.say}</button>
    ) : (
      <span key={s.step} class="chip still" title={s.hint}><small>{s.title}</small>{s.hint}</span>
    );
  return (
    <div class="hints" role="group" aria-label="Things to try">
      <span class="progress" aria-label={`${done} of ${suggestions.length} tried`}>{suggestions.map((s) => <i key={s.step} class={seen.value.has(s.step) ? "on" : ""} />)}</span>
      {open.slice(0, 2).map(chip)}
      <button type="button" class="icon-button" aria-label="Hide the hints" onClick={skipTour}><Icon name="close" /></button>
    </div>
  );
}
