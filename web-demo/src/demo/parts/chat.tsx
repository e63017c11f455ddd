// The conversation: messages with the facts they changed, and answers with their sources.
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useStickToEnd } from "../motion.ts";
import { connection, highlight, memory, openFact, sessionId, showEarlier, showLater, showMessage, stopAnswer, wantedMessage } from "../state/current-session.ts";
import type { Memory } from "../state/memory.ts";
import { placeLabel, type Change, type CitationView, type Fact, type Message } from "../state/model.ts";
import { sendWaiting, sentMessages } from "../state/outgoing.ts";
import { openPassage } from "../state/passages.ts";
import { sessions } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";
import { clock, day, dayName, milliseconds, phraseFor } from "../state/format.ts";
import { Welcome } from "./hints.tsx";
import { MessageRemoval } from "./lazy-place.tsx";
import { RichText } from "./rich-text.tsx";
import { SessionAbout } from "./session-about.tsx";
import { UndoForgetting } from "./undo-forgetting.tsx";
import { strings } from "../strings.ts";

const changeMark: Record<Change, readonly string[]> = strings.chat.changes;

export function showFact(id: string): void {
  openFact.value = id;
  document.getElementById(`fact-${id}`)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function Learned({ message, memory: known }: { message: Message; memory: Memory }) {
  // Subscribe to the memory: names and relations change without a change of the message.
  void known.version.value;
  const rows = [...message.learned].flatMap(([id, change]): Array<[Fact, Change]> => {
    const fact = known.facts.get(id);
    return fact ? [[fact, change]] : [];
  });
  if (rows.length === 0) return null;
  return (
    <ul class="learned" aria-label={strings.chat.learned}>
      {rows.map(([fact, change]) => {
        const subject = known.entities.get(fact.subject);
        const [mark, word] = changeMark[change];
        return (
          <li key={fact.id} style={{ animationDelay: `${fact.pulse.delay}ms` }}>
            <button
              type="button" data-change={change} title={word}
              onClick={() => showFact(fact.id)}
              onPointerEnter={() => { highlight.value = { fact: fact.id }; }} onPointerLeave={() => { highlight.value = null; }}
            >
              <i aria-hidden="true">{mark}</i><span class="unseen">{strings.chat.change(word ?? "")}</span>
              {subject?.isViewer ? strings.viewer : subject?.name} <em>{phraseFor(fact.phrase, subject?.isViewer ?? false)}</em> {fact.value ?? (known.entities.get(fact.object)?.isViewer ? strings.viewer : known.entities.get(fact.object)?.name)}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function showSource(citation: CitationView) {
  if (citation.passage) return openPassage(citation.passage.documentId, citation.passage.chunkId, citation.excerpt);
  if (citation.messageId) void showMessage(citation.messageId);
  if (citation.factId) openFact.value = citation.factId;
}

/** `isNearest`: they answer nothing, so the text has no marks for them. */
function Sources({ citations, isNearest = false }: { citations: CitationView[]; isNearest?: boolean }) {
  if (citations.length === 0) return null;
  return (
    <ol class="sources" aria-label={isNearest ? strings.chat.nearest : strings.chat.sources}>
      {citations.map((citation) => (
        <li key={citation.index}>
          <button type="button" onClick={() => showSource(citation)}>
            <b aria-hidden={isNearest}>{isNearest ? "?" : citation.index}</b>
            <q>{citation.excerpt}</q>
            {citation.shared && <i class="badge">{strings.shared}</i>}
            {citation.passage && <cite>{placeLabel(citation.passage)}</cite>}
            {citation.sentAt && <time dateTime={citation.sentAt}>{day(citation.sentAt)}</time>}
          </button>
        </li>
      ))}
    </ol>
  );
}

function statusTexts(message: Message, paused: boolean): string[] {
  const out: string[] = [];
  if (message.stage === "sending") out.push(strings.chat.status.sending);
  if (message.stage === "stored" && message.role === "user") out.push(paused ? strings.chat.status.storedUnseen : strings.chat.status.reading);
  if (message.stage === "processed" && message.role === "user") {
    if (message.learned.size > 0) out.push(strings.chat.status.facts(message.learned.size));
    else if (message.kind === "question" || message.kind === "mixed") {
      // A request to forget is of the same kind, but asks nothing.
      if (message.text.includes("?")) out.push(strings.chat.status.question);
    } else if (message.remembered !== false) out.push(strings.chat.status.noFact);
  }
  // Copies that browsers kept before do not say whether.
  if (message.remembered === false) out.push(strings.chat.status.notRemembered);
  if (message.roundTripMs !== null) out.push(milliseconds(message.roundTripMs));
  if (message.answerer && message.answerer.name !== "command") {
    const { name, totalMs, grounded } = message.answerer;
    out.push(grounded ? strings.chat.status.sources(message.citations.length) : strings.chat.status.noSource, milliseconds(totalMs));
    out.push(name === "extractive" ? strings.chat.status.noModel : strings.chat.status.by(name));
  }
  return out;
}

function Stop({ question }: { question: string | null }) {
  if (!question) return null;
  return <button type="button" class="stop" onClick={() => void stopAnswer(question)}>{strings.chat.stop}</button>;
}

/** The server keeps a forgotten message without its text. An answer has none either before its first word. */
const isForgotten = ({ text, stage }: Message): boolean => text === "" && stage !== "streaming";

interface BubbleProps {
  message: Message;
  memory: Memory;
  /** It was there when the session opened. Dozens of animations at once would slow the start of a phone down. */
  settled: boolean;
  /** The log is about to scroll to the message. */
  onWanted: () => void;
  onRemove: (id: string) => void;
}

function Bubble({ message, memory: known, settled, onWanted, onRemove }: BubbleProps) {
  const [isSettled] = useState(settled);
  const ref = useRef<HTMLElement>(null);
  const wanted = wantedMessage.value !== null && wantedMessage.value === message.id;
  useEffect(() => {
    if (!wanted || !ref.current) return;
    // At once: the log grows meanwhile, and near its end it would stick to it again.
    onWanted();
    ref.current.scrollIntoView({ block: "center" });
    // What led here is gone if it was in another session or place.
    if (document.activeElement === document.body) ref.current.focus({ preventScroll: true });
    ref.current.animate([{ boxShadow: "0 0 0 4px var(--glow)" }, { boxShadow: "0 0 0 4px transparent" }], { duration: 1600, delay: 250, fill: "backwards" });
    wantedMessage.value = null;
  }, [wanted]);
  const cite = (index: number) => {
    const citation = message.citations.find((c) => c.index === index);
    if (citation) showSource(citation);
  };
  const busy = message.stage === "sending" || message.stage === "stored" || message.stage === "streaming";
  const own = message.role === "user" && message.speaker === null;
  const { id } = message;
  return (
    <article ref={ref} tabIndex={-1} class={`message ${own ? "own" : message.role}`} data-settled={isSettled || undefined} data-stage={message.stage} data-message={message.id ?? ""} aria-label={own ? strings.viewerTitle : (message.speaker ?? strings.brand)}>
      {message.speaker && <b class="speaker">{message.speaker}</b>}
      {isForgotten(message)
        ? <p class="text soft">{strings.forgotten}</p>
        : <p class="text" data-streaming={message.stage === "streaming" || undefined}><RichText message={message} onCite={cite} /></p>}
      <Sources citations={message.citations} />
      <Sources citations={message.nearest} isNearest />
      {message.role === "assistant" && <UndoForgetting message={message} memory={known} />}
      {message.problem && (
        <p class={message.stage === "unsent" ? "soft" : "trouble"}>{message.problem} {message.stage === "unsent" && <button type="button" onClick={sendWaiting}>{strings.chat.sendNow}</button>}</p>
      )}
      <footer data-busy={busy || undefined}>
        <time dateTime={message.sentAt}>{clock(message.sentAt)}</time>
        {statusTexts(message, connection.value?.phase === "paused").map((part) => <span key={part}>{part}</span>)}
        {message.stage === "streaming" && <Stop question={message.answerTo} />}
        {own && id && !isForgotten(message) && mayWrite(known.shared) && <button type="button" class="remove" aria-label={strings.chat.removeMessage(message.text.slice(0, 60))} onClick={() => onRemove(id)}>{strings.chat.remove}</button>}
      </footer>
      <Learned message={message} memory={known} />
    </article>
  );
}

/** The day of the messages that follow. Nothing if all of them are of today. */
function Day({ message, before }: { message: Message; before: Message | undefined }) {
  const [name, nameBefore] = [dayName(new Date(message.sentAt)), before ? dayName(new Date(before.sentAt)) : dayName(new Date())];
  return name === nameBefore ? null : <p class="day"><time dateTime={message.sentAt}>{name}</time></p>;
}

export function Chat() {
  const known = memory.value;
  const version = known?.version.value ?? 0;
  const { box, content, leaveEnd } = useStickToEnd<HTMLDivElement, HTMLDivElement>(wantedMessage.value === null, { version, added: sentMessages.value });
  const messages = [...(known?.messages.values() ?? [])];
  const [removing, setRemoving] = useState<string | null>(null);
  const drawn = useRef<Memory | null>(null);
  const isOpening = drawn.current !== known;
  useEffect(() => { drawn.current = known; }, [known]);
  const title = sessions.value.find((s) => s.id === sessionId.value)?.title;
  return (
    <>
    {messages.length > 0 && <h1 class="unseen">{title ? strings.chat.titled(title) : strings.chat.conversation}</h1>}
    {messages.length > 1 && sessionId.value && <SessionAbout key={sessionId.value} id={sessionId.value} version={version} />}
    <div class="log" ref={box} role="log" aria-label={strings.chat.conversation} aria-live="polite" tabIndex={0}>
      <div class="turns" ref={content}>
        {known && messages.length === 0 && <Welcome />}
        {known?.earlier && <button type="button" class="earlier" onClick={() => void showEarlier()}>{strings.chat.earlier}</button>}
        {known && messages.map((message, index) => (
          <Fragment key={message.key}>
            <Day message={message} before={messages[index - 1]} />
            <Bubble message={message} memory={known} settled={isOpening} onWanted={leaveEnd} onRemove={setRemoving} />
            {known.gap?.key === message.key && <button type="button" class="earlier" onClick={() => void showLater()}>{strings.chat.between}</button>}
            {message.asking && <p class="thinking"><i /><i /><i /><span>{strings.chat.thinking}</span><Stop question={message.id} /></p>}
          </Fragment>
        ))}
      </div>
    </div>
    <MessageRemoval id={removing} onClose={() => setRemoving(null)} />
    </>
  );
}
