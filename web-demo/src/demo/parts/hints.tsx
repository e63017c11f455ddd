// Hints of the tour: cards in an empty session, then chips until the user has completed all steps.
import { disconnect, connection, memory, openFact, reconnect, send } from "../state/app.ts";
import { completeStep, openSuggestions, completedSteps, skipTour, suggestions, type Suggestion } from "../state/tour.ts";
import { Icon } from "./icon.tsx";

const isReady = () => connection.value !== null;

export function Welcome({ first }: { first: boolean }) {
  const steps = suggestions.filter((s) => s.say).slice(0, 3);
  return (
    <section class="welcome">
      <div class="constellation" aria-hidden="true"><i /><i /><i /><b /><b /></div>
      <h1>{first ? "Tell me something." : "A fresh session."}<br /><span>I will remember it, and show you why I believe it.</span></h1>
      <ol>
        {steps.map((s) => (
          <li key={s.step}>
            <button type="button" disabled={!isReady()} onClick={() => void send(s.say ?? "")}>
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

/** Returns the label and action of a hint. Both depend on whether the stream is paused. */
function actionOf(s: Suggestion): { text: string; run: () => void } {
  const paused = connection.value?.phase === "paused";
  if (s.step === "cut" && !paused) return { text: "and see what happens", run: disconnect };
  if (s.step === "replay") return { text: "and see what you missed", run: paused ? reconnect : disconnect };
  if (s.step === "why") return { text: "See what a fact rests on", run: openNewestFact };
  return { text: s.say ?? s.hint, run: () => void send(s.say ?? "") };
}

function openNewestFact() {
  const newest = [...(memory.value?.facts.values() ?? [])].sort((a, b) => b.order - a.order)[0];
  if (!newest) return;
  completeStep("why");
  openFact.value = newest.id;
}

export function Hints() {
  const paused = connection.value?.phase === "paused";
  const texts = [...(memory.value?.messages.values() ?? [])].filter((m) => m.role === "user" && m.speaker === null).map((m) => m.text);
  const open = openSuggestions(texts, completedSteps.value, paused);
  const done = suggestions.filter((s) => completedSteps.value.has(s.step)).length;
  if (done === suggestions.length || open.length === 0) return null;
  return (
    <div class="hints" role="group" aria-label="Things to try">
      <span class="progress" role="img" aria-label={`${done} of ${suggestions.length} tried`}>{suggestions.map((s) => <i key={s.step} class={completedSteps.value.has(s.step) ? "on" : ""} />)}</span>
      {open.slice(0, 2).map((s) => {
        const { text, run } = actionOf(s);
        return <button type="button" key={s.step} class="chip" onClick={run} title={s.hint}><small>{s.title}</small>{text}</button>;
      })}
      <button type="button" class="icon-button" aria-label="Hide the hints" onClick={skipTour}><Icon name="close" /></button>
    </div>
  );
}
