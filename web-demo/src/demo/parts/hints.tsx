// Hints of the tour: cards in an empty session, then chips about what was said, until the user has completed all steps.
import { memory, openFact } from "../state/current-session.ts";
import { send } from "../state/outgoing.ts";
import { memoryFactHref, navigate } from "../state/route.ts";
import { completedSteps, completeStep, openSuggestions, progress, samples, skipTour, type SuggestedAction } from "../state/tour.ts";
import { Icon } from "./icon.tsx";

const SHOWN = 2;

export function Welcome({ first }: { first: boolean }) {
  return (
    <section class="welcome">
      <div class="constellation" aria-hidden="true"><i /><i /><i /><b /><b /></div>
      <h1>{first ? "Tell me something." : "A fresh session."}<br /><span>I will remember it, and show you why I believe it.</span></h1>
      <ol>
        {samples.map(({ title, say, hint }) => (
          <li key={say}>
            <button type="button" disabled={memory.value === null} onClick={() => void send(say)}>
              <small>{title}</small>
              <b>{say}</b>
              <span>{hint}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function run(action: SuggestedAction) {
  if ("say" in action) return void send(action.say);
  if ("manageFact" in action) return navigate(memoryFactHref(action.manageFact));
  completeStep("why");
  openFact.value = action.openFact;
}

export function Hints() {
  const known = memory.value;
  void known?.version.value;
  const done = progress();
  const count = done.filter(([, isDone]) => isDone).length;
  if (!known || count === done.length) return null;
  const texts = [...known.messages.values()].filter((m) => m.role === "user" && m.speaker === null).map((m) => m.text);
  const open = openSuggestions({ facts: known.facts.values(), entities: known.entities, texts }, completedSteps.value);
  if (open.length === 0) return null;
  return (
    <div class="hints" role="group" aria-label="Things to try">
      <span class="progress" role="img" aria-label={`${count} of ${done.length} tried`}>{done.map(([step, isDone]) => <i key={step} class={isDone ? "on" : ""} />)}</span>
      <div class="chips">
        {open.slice(0, SHOWN).map(({ step, title, text, hint, action }) => (
          <button type="button" key={step} class="chip" onClick={() => run(action)} title={hint}><small>{title}</small>{text}</button>
        ))}
      </div>
      <button type="button" class="icon-button" aria-label="Hide the hints" onClick={skipTour}><Icon name="close" /></button>
    </div>
  );
}
