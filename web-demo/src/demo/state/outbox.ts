// Messages that the server has not confirmed. They survive a reload and the end of the page, because users close a page whose server does
// not answer. Each message has a key of its own in localStorage, so that tabs do not overwrite each other's messages.
import type { SendMessageInput } from "@relevantic/recall";

const PREFIX = "recall.outbox";
/** Waiting messages of users who do not return are deleted. */
const KEPT_MS = 30 * 86_400_000;

/** What the answer to a message may use. */
export type AnswerFrom = Pick<SendMessageInput, "sources" | "documentIds">;

export interface WaitingMessage {
  readonly clientId: string;
  readonly text: string;
  readonly answerFrom?: AnswerFrom | undefined;
  /** Grows with each message of the session. */
  readonly order: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
const isWaiting = (v: unknown): v is WaitingMessage =>
  isMap(v) && typeof v["clientId"] === "string" && typeof v["text"] === "string" && typeof v["order"] === "number" && typeof v["at"] === "number"
  && (v["answerFrom"] === undefined || isMap(v["answerFrom"]));

const prefixOf = (...parts: string[]) => [PREFIX, ...parts, ""].map(encodeURIComponent).join("/");
const keyOf = (account: string, session: string, clientId: string) => prefixOf(account, session) + encodeURIComponent(clientId);
const sessionIn = (key: string) => decodeURIComponent(key.split("/")[2] ?? "");

export class Outbox {
  /** Messages that the storage refused, because it is full or forbidden. They last until the page closes. */
  readonly #unstored = new Map<string, WaitingMessage>();

  /** Messages of a session, oldest first. */
  list(account: string, session: string): WaitingMessage[] {
    const keys = this.#keys(prefixOf(account, session));
    return keys.flatMap((key) => this.#read(key) ?? []).sort((a, b) => a.order - b.order || a.at - b.at);
  }

  /** Sessions with waiting messages. */
  sessions(account: string): string[] {
    return [...new Set(this.#keys(prefixOf(account)).map(sessionIn))];
  }

  add(account: string, session: string, clientId: string, text: string, answerFrom?: AnswerFrom): void {
    const order = (this.list(account, session).at(-1)?.order ?? 0) + 1;
    this.#write(keyOf(account, session, clientId), { clientId, text, answerFrom, order, at: Date.now() });
  }

  remove(account: string, session: string, clientId: string): void {
    this.#delete(keyOf(account, session, clientId));
  }

  clearSession(account: string, session: string): void {
    for (const key of this.#keys(prefixOf(account, session))) this.#delete(key);
  }

  /** Deletes an account's messages on logout, so that the browser's next user cannot read them. */
  clear(account: string): void {
    for (const key of this.#keys(prefixOf(account))) this.#delete(key);
  }

  /** Gives an account the messages of sessions that it adopted. */
  adopt(account: string, sessions: readonly string[]): void {
    for (const key of this.#keys(prefixOf())) {
      const [session, message] = [sessionIn(key), this.#read(key)];
      if (!message || !sessions.includes(session) || key.startsWith(prefixOf(account))) continue;
      this.#write(keyOf(account, session, message.clientId), message);
      this.#delete(key);
    }
  }

  /** Deletes messages that have waited too long, of all accounts. */
  expire(now = Date.now()): void {
    for (const key of this.#keys(prefixOf())) if ((this.#read(key)?.at ?? 0) < now - KEPT_MS) this.#delete(key);
  }

  #keys(prefix: string): string[] {
    const all = [...this.#unstored.keys()];
    try {
      all.push(...Object.keys(localStorage));
    } catch {
      // Storage is forbidden.
    }
    return all.filter((key) => key.startsWith(prefix));
  }

  #read(key: string): WaitingMessage | null {
    const unstored = this.#unstored.get(key);
    if (unstored) return unstored;
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
      return isWaiting(stored) ? stored : null;
    } catch {
      return null;
    }
  }

  #write(key: string, message: WaitingMessage) {
    try {
      localStorage.setItem(key, JSON.stringify(message));
    } catch {
      this.#unstored.set(key, message);
    }
  }

  #delete(key: string) {
    this.#unstored.delete(key);
    try {
      localStorage.removeItem(key);
    } catch {
      // Storage is forbidden.
    }
  }
}

export const outbox = new Outbox();
