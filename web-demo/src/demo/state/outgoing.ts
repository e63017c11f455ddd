// Messages that the user writes, until the server has stored them.
import { signal } from "@preact/signals";
import { awaited, type Awaited, memory, sessionId, writtenTo } from "./current-session.ts";
import { draftOf, keepUnsent, setDraft } from "./drafts.ts";
import { client } from "./login.ts";
import { knownAt, watch } from "./offline.ts";
import { outbox, type AnswerFrom } from "./outbox.ts";
import { handleError, problem } from "./problem.ts";
import { Sender } from "./sender.ts";
import { start } from "./viewer.ts";

export const sender = new Sender({
  client, outbox, handleError,
  account: () => start.value?.viewer.id,
  memoryOf: (session) => (session === sessionId.value ? memory.value : null),
  mustWait: () => watch.active.value,
  isOffline: () => knownAt.value !== null,
  report: (text) => { problem.value = text; },
});

/** How many messages the user has sent on this page. */
export const sentMessages = signal(0);

/** 128 random bits. `crypto.randomUUID` does not exist on pages that another machine serves without TLS. */
const uniqueId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

interface EarlyMessage {
  readonly session: Awaited;
  readonly text: string;
  readonly answerFrom: AnswerFrom | undefined;
}

/** Messages for sessions that the server is creating. */
export const early = signal<readonly EarlyMessage[]>([]);

const textOf = (messages: readonly EarlyMessage[]) => messages.map(({ text }) => text).join("\n");

/** The browser keeps their text for a reload. */
function setEarly(messages: readonly EarlyMessage[]) {
  early.value = messages;
  keepUnsent(textOf(messages));
}

/** `answerFrom`: what the answer may use. */
export async function send(text: string, answerFrom?: AnswerFrom): Promise<void> {
  const [id, user] = [writtenTo.value, start.value?.viewer.id];
  if (user === undefined) return;
  if (awaited.value && id === null) setEarly([...early.value, { session: awaited.value, text, answerFrom }]);
  else if (id) await sendTo(id, user, text, answerFrom);
}

async function sendTo(id: string, user: string, text: string, answerFrom: AnswerFrom | undefined) {
  const clientId = uniqueId();
  if (id === sessionId.value) memory.value?.startSending(clientId, text);
  sentMessages.value += 1;
  outbox.add(user, id, clientId, text, answerFrom);
  await sender.send(id);
}

/** Returns what was written for a new session, and leaves what was written for others. */
function takeEarly(session: Awaited) {
  const taken = early.value.filter((message) => message.session === session);
  setEarly(early.value.filter((message) => message.session !== session));
  return taken;
}

/** Sends what was written for a new session, which now has its id. */
export function sendEarly(session: Awaited, id: string): void {
  const [messages, user] = [takeEarly(session), start.value?.viewer.id];
  if (user !== undefined) for (const { text, answerFrom } of messages) void sendTo(id, user, text, answerFrom);
}

/** Puts what was written for a session that could not be created back into the message field. */
export function unsendEarly(session: Awaited): void {
  const draft = [textOf(takeEarly(session)), draftOf(null)].filter(Boolean).join("\n");
  setDraft(null, "");
  setDraft(sessionId.value, [draftOf(sessionId.value), draft].filter(Boolean).join("\n"));
}

/** Makes drafts of all messages for new sessions: the user who asked for them is gone. */
export function unsendAllEarly(): void {
  if (early.value.length === 0) return;
  setDraft(null, [textOf(early.value), draftOf(null)].filter(Boolean).join("\n"));
  setEarly([]);
}

/** Whether messages of a session wait to be sent. */
export const hasUnsent = (session: string): boolean => start.value !== null && outbox.list(start.value.viewer.id, session).length > 0;

/** Sends the waiting messages now. */
export function sendWaiting(): void {
  watch.tryNow();
  sender.sendAll();
}

/** Removes a message from the outbox that the server has stored. */
export function confirmSent(session: string, clientId: string): void {
  if (start.value) outbox.remove(start.value.viewer.id, session, clientId);
}
