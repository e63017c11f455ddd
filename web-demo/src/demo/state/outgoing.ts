// Messages that the user writes, until the server has stored them.
import { signal } from "@preact/signals";
import { memory, sessionId } from "./current-session.ts";
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

/** `answerFrom`: what the answer may use. */
export async function send(text: string, answerFrom?: AnswerFrom): Promise<void> {
  const [id, open, user] = [sessionId.value, memory.value, start.value?.viewer.id];
  if (!id || !open || user === undefined) return;
  const clientId = uniqueId();
  open.startSending(clientId, text);
  sentMessages.value += 1;
  outbox.add(user, id, clientId, text, answerFrom);
  await sender.send(id);
}

/** Sends the waiting messages now. */
export function sendWaiting(): void {
  watch.tryNow();
  sender.sendAll();
}

/** Removes a message from the outbox that the server has stored. */
export function confirmSent(session: string, clientId: string): void {
  if (start.value) outbox.remove(start.value.viewer.id, session, clientId);
}
