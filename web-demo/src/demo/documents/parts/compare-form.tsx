// Starts a comparison: the chosen documents, and what to compare them by.
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { handleError } from "../../state/problem.ts";
import { chosen, compareChosen, MAX_COMPARED, MIN_COMPARED, toggleChoice } from "../state/choice.ts";
import { isTooLong, QuestionField } from "./question-field.tsx";
import { strings } from "../strings.ts";

const ID = "compare-documents";

/** Offers check boxes in the list, and takes them away again. */
export function CompareButton() {
  const isChoosing = chosen.value !== null;
  return (
    <button type="button" id={ID} class="compare" aria-pressed={isChoosing} onClick={() => { chosen.value = isChoosing ? null : []; }}>
      <Icon name="compare" />{strings.compare.open}
    </button>
  );
}

function Choices() {
  const documents = chosen.value ?? [];
  if (documents.length === 0) return <p class="soft">{strings.compare.choose(MIN_COMPARED, MAX_COMPARED)}</p>;
  return (
    <ul class="choices" aria-label={strings.compare.chosen}>
      {documents.map((document) => (
        <li key={document.id}>
          <button type="button" aria-label={strings.compare.remove(document.filename)} onClick={() => toggleChoice(document)}><span>{document.filename}</span><Icon name="close" /></button>
        </li>
      ))}
    </ul>
  );
}

export function CompareForm() {
  const [question, setQuestion] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const number = chosen.value?.length ?? 0;
  const cannotStart = number < MIN_COMPARED || isTooLong(question);
  const start = async () => {
    setBusy(true);
    setError(null);
    await compareChosen(question.trim()).catch((cause: unknown) => setError(handleError(cause)));
    setBusy(false);
  };
  const cancel = () => {
    chosen.value = null;
    document.getElementById(ID)?.focus();
  };
  return (
    <form class="compare-form" aria-label={strings.compare.form} onSubmit={(event) => { event.preventDefault(); if (!cannotStart && !busy) void start(); }}>
      <Choices />
      {error && <p class="trouble" role="alert">{error}</p>}
      <QuestionField id="compare-too-long" label={strings.compare.question} placeholder={strings.compare.question} value={question} onChange={setQuestion}>
        <button type="button" class="cancel" onClick={cancel}>{strings.compare.cancel}</button>
        <button type="submit" disabled={cannotStart || busy}>{strings.compare.start(number < MIN_COMPARED ? null : number)}</button>
      </QuestionField>
      <p class="unseen" role="status">{strings.compare.status(number, MAX_COMPARED)}</p>
    </form>
  );
}
