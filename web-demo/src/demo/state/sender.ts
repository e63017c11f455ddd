// Sends waiting messages: each session's in order, one after another. The server stores a client id once, so a retry is safe.
// A Web Lock keeps two tabs from sending at the same time, where the browser has locks (only on pages with TLS or on this machine).
import { RecallError, type RecallClient } from "@relevantic/recall";
import { isUnreachable } from "./errors.ts";
import type { Memory } from "./memory.ts";
import type { Outbox, WaitingMessage } from "./outbox.ts";

const WAITING = "Not sent yet: the server cannot be reached. It is sent when the line is back.";
const LATE = "Not sent yet: the server does not answer. It is sent when it does.";
const RETRY_MS = 5000;
/** Time after which the page says that the server does not answer. The request goes on. */
const LATE_MS = 4000;

export interface SenderParts {
  readonly client: RecallClient;
  readonly outbox: Outbox;
  /** The user whose messages are sent. undefined: nobody has logged in. */
  account(): string | undefined;
  /** The page's copy of a session, if it is open. */
  memoryOf(session: string): Memory | null;
  /** The page has not found its server yet, so it does not know its login. */
  mustWait(): boolean;
  /** Waiting messages are sent when the line is back, so no timer is necessary. */
  isOffline(): boolean;
  /** Returns an error message for the user. */
  handleError(error: unknown): string;
  /** Reports an error about a session that is not open. */
  report(problem: string): void;
}

const locked = (name: string, work: () => Promise<void>): Promise<void> =>
  navigator.locks ? navigator.locks.request(name, work) : work();

export class Sender {
  readonly #parts: SenderParts;
  /** The last run of each session. Runs of a session follow each other. */
  readonly #runs = new Map<string, Promise<void>>();
  /** Client ids of the messages that are being sent. */
  readonly #onTheWay = new Set<string>();
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Sends the waiting messages of all sessions. */
  sendAll(): void {
    const account = this.#parts.account();
    if (account !== undefined) for (const session of this.#parts.outbox.sessions(account)) void this.send(session);
  }

  /** Sends the waiting messages of a session. */
  send(session: string): Promise<void> {
    const run = (this.#runs.get(session) ?? Promise.resolve()).then(() => locked(`recall.outbox.${session}`, () => this.#sendInOrder(session)));
    this.#runs.set(session, run);
    return run;
  }

  async #sendInOrder(session: string) {
    const { outbox, account, mustWait } = this.#parts;
    const sender = account();
    if (sender !== undefined && mustWait()) return this.#markWaiting(sender, session);
    while (sender !== undefined && account() === sender) {
      // Read again: another tab may have sent the message, and the user may have written another one.
      const [next] = outbox.list(sender, session);
      if (!next || !(await this.#sendOne(sender, session, next))) return;
    }
  }

  /** Returns false if the messages must wait. */
  async #sendOne(sender: string, session: string, { clientId, text, answerFrom }: WaitingMessage): Promise<boolean> {
    const { client, outbox, memoryOf, isOffline, handleError, report } = this.#parts;
    memoryOf(session)?.startSending(clientId, text);
    this.#onTheWay.add(clientId);
    const late = setTimeout(() => this.#markWaiting(sender, session, LATE), LATE_MS);
    try {
      const { id } = await client.sendMessage({ sessionId: session, text, clientMessageId: clientId, ...answerFrom });
      outbox.remove(sender, session, clientId);
      memoryOf(session)?.markSent(clientId, id);
      return true;
    } catch (error) {
      const pauseMs = error instanceof RecallError ? error.retryAfterMs : undefined;
      if (isUnreachable(error) || pauseMs !== undefined) {
        this.#markWaiting(sender, session);
        clearTimeout(this.#retry);
        if (!isOffline()) this.#retry = setTimeout(() => this.sendAll(), pauseMs ?? RETRY_MS);
        return false;
      }
      const problem = handleError(error);
      // The user may log in again.
      if (error instanceof RecallError && error.status === 401) return false;
      outbox.remove(sender, session, clientId);
      const memory = memoryOf(session);
      if (memory) memory.markSendFailed(clientId, problem, true);
      else report(`A message could not be sent: ${problem}`);
      return true;
    } finally {
      clearTimeout(late);
      this.#onTheWay.delete(clientId);
    }
  }

  #markWaiting(sender: string, session: string, why = WAITING) {
    for (const { clientId } of this.#parts.outbox.list(sender, session)) this.#parts.memoryOf(session)?.markSendFailed(clientId, why, false);
  }

  /** Shows the waiting messages of a session that is being opened. */
  showWaiting(session: string, memory: Memory): void {
    const sender = this.#parts.account();
    if (sender === undefined) return;
    for (const { clientId, text } of this.#parts.outbox.list(sender, session)) {
      memory.startSending(clientId, text);
      if (!this.#onTheWay.has(clientId)) memory.markSendFailed(clientId, WAITING, false);
    }
  }
}
