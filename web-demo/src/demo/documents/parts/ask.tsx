// Asks about one document or all: lists the passages that fit, or sends the question to the chat.
import { useState } from "preact/hooks";
import { awaited, memory, sessionId } from "../../state/current-session.ts";
import { client } from "../../state/login.ts";
import { placeLabel } from "../../state/model.ts";
import { send } from "../../state/outgoing.ts";
import { openPassage } from "../../state/passages.ts";
import { handleError } from "../../state/problem.ts";
import { navigate, passageHref, sessionHref } from "../../state/route.ts";
import { mayWrite } from "../../state/viewer.ts";
import { FindPassages, type FindPassagesResult } from "../generated/operations.ts";
import { announcement } from "../state/library.ts";
import { chooseSnippet } from "../state/text.ts";
import { isTooLong, QuestionField } from "./question-field.tsx";
import { strings } from "../strings.ts";

const MAX_PASSAGES = 5;
/** Weaker passages than this share of the best score are left out. */
const WEAKEST = 0.75;
type Found = FindPassagesResult["context"]["chunks"];

interface Result {
  question: string;
  found: Found;
  /** The passages contain words of the question. Otherwise only their meaning is near. */
  hasWords: boolean;
}

/** Sends a question to the open session, or to a new one, and shows the session. `documentId`: the answer may use only this document. */
async function askInChat(question: string, documentId: string | null): Promise<void> {
  const open = awaited.value ? null : sessionId.value;
  const answerFrom = documentId ? { sources: ["DOCUMENTS" as const], documentIds: [documentId] } : undefined;
  if (open && memory.value && mayWrite(memory.value.shared)) {
    void send(question, answerFrom);
    return navigate(sessionHref(open));
  }
  const { id } = await client.createSession();
  await client.sendMessage({ sessionId: id, text: question, ...answerFrom });
  navigate(sessionHref(id));
}

function Results({ found, question, hasWords, showsFile }: Result & { showsFile: boolean }) {
  if (found.length === 0) return <p class="soft">{strings.ask.none}</p>;
  return (
    <>
    {!hasWords && <p class="soft">{strings.ask.onlyNear}</p>}
    <ol class="found" aria-label={strings.ask.label}>
      {found.map(({ chunk }) => {
        const snippet = chooseSnippet(chunk.text, question);
        const { document } = chunk;
        const place = placeLabel({ filename: showsFile ? document.filename : "", pages: chunk.pages }).replace(/^, /, "");
        return (
          <li key={chunk.id}>
            <a href={passageHref(document.id, chunk.id)} onClick={(event) => { event.preventDefault(); openPassage(document.id, chunk.id, snippet); }}>
              <q>{snippet}</q>
              <small>{[place, chunk.heading].filter(Boolean).join(", ")}{document.shared && <i class="badge">{strings.shared}</i>}</small>
            </a>
          </li>
        );
      })}
    </ol>
    </>
  );
}

/** `documentId`: null asks about all documents. */
export function Ask({ documentId }: { documentId: string | null }) {
  const [question, setQuestion] = useState("");
  const [result, setResult] = useState<Result | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    await work().catch((cause: unknown) => setError(handleError(cause)));
    setBusy(false);
  };
  const find = () => run(async () => {
    const input = { query: question.trim(), sources: ["DOCUMENTS" as const], first: MAX_PASSAGES, ...(documentId ? { documentIds: [documentId] } : {}) };
    const { chunks, methodsUsed } = (await client.graphql(FindPassages, { input })).context;
    const found = chunks.filter(({ score }) => score >= WEAKEST * (chunks[0]?.score ?? 0));
    setResult({ found, question: question.trim(), hasWords: methodsUsed.includes("KEYWORD") });
    announcement.value = found.length === 0 ? strings.ask.saidNone : strings.ask.said(found.length);
  });
  const cannotAsk = question.trim() === "" || isTooLong(question);
  const title = documentId ? strings.ask.one : strings.ask.all;
  return (
    <section class="ask" aria-label={title}>
      <form onSubmit={(event) => { event.preventDefault(); if (!cannotAsk && !busy) void find(); }}>
        <QuestionField id="ask-too-long" label={title} placeholder={documentId ? strings.ask.one : strings.ask.allHint} value={question} onChange={setQuestion}>
          <button type="submit" disabled={cannotAsk || busy}>{strings.ask.find}</button>
        </QuestionField>
        <p class="soft">
          {strings.ask.finds}<button type="button" class="link" disabled={cannotAsk || busy} onClick={() => void run(() => askInChat(question.trim(), documentId))}>{strings.ask.inChat}</button>{strings.ask.answersFrom(documentId !== null)}
        </p>
      </form>
      {error && <p class="trouble" role="alert">{error}</p>}
      {result && <Results {...result} showsFile={documentId === null} />}
    </section>
  );
}
