// Hints of the tour: cards in an empty session, then chips about what was said, until the user has completed all steps.
import { memory, openFact } from "../state/current-session.ts";
import { send } from "../state/outgoing.ts";
import { memoryFactHref, navigate } from "../state/route.ts";
import { listing, sessions } from "../state/session-list.ts";
import { completedSteps, completeStep, openSuggestions, progress, samples, skipTour, type SuggestedAction } from "../state/tour.ts";
import { Icon } from "./icon.tsx";
import { strings } from "../strings.ts";

const SHOWN = 2;

/** Whether the user has said nothing yet. False until the sessions are known. */
const isNewcomer = () => {
  const listed = sessions.value;
  return listed.length > 0 && listing.value.archived === 0 && listed.every(({ shared, messages }) => shared || messages.nodes.length === 0);
};

/** Greets the user. Only a newcomer sees examples, because they would add false facts about a known user. */
export function Welcome() {
  const isNew = isNewcomer();
  return (
    <section class="welcome">
      <div class="constellation" aria-hidden="true"><i /><i /><i /><b /><b /></div>
      <h1>{isNew ? strings.hints.newcomer : strings.hints.newSession}<br /><span>{strings.hints.promise}</span></h1>
      {isNew && <ol>
        {samples.map(({ title, say, hint }) => (
          <li key={say}>
            <button type="button" disabled={memory.value === null} onClick={() => void send(say)}>
              <small>{title}</small>
              <b>{say}</b>
              <span>{hint}</span>
            </button>
          </li>
        ))}
      </ol>}
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
    <div class="hints" role="group" aria-label={strings.hints.label}>
      <span class="progress" role="img" aria-label={strings.hints.tried(count, done.length)}>{done.map(([step, isDone]) => <i key={step} class={isDone ? "on" : ""} />)}</span>
      <div class="chips">
        {open.slice(0, SHOWN).map(({ step, title, text, hint, action }) => (
          <button type="button" key={step} class="chip" onClick={() => run(action)} title={hint}><small>{title}</small>{text}</button>
        ))}
      </div>
      <button type="button" class="icon-button" aria-label={strings.hints.hide} onClick={skipTour}><Icon name="close" /></button>
    </div>
  );
}
