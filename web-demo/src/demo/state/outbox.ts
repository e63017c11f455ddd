// Messages that the server has not confirmed, by session and client id. They survive a change of session and a page reload,
// because users reload a page whose server does not answer.
import type { SendMessageInput } from "@relevantic/recall";

const KEY = "recall.outbox";
/** What the answer to a message may use. */
export type AnswerFrom = Pick<SendMessageInput, "sources" | "documentIds">;
interface Unsent { text: string; answerFrom?: AnswerFrom | undefined }
type Outbox = Record<string, Record<string, Unsent>>;

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

const isUnsent = (v: unknown): boolean => isMap(v) && typeof v.text === "string" && (v.answerFrom === undefined || isMap(v.answerFrom));

const read = (): Outbox => {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return isMap(stored) && Object.values(stored).every((texts) => isMap(texts) && Object.values(texts).every(isUnsent)) ? (stored as Outbox) : {};
  } catch {
    return {};
  }
};

let outbox = read();

const write = (session: string, texts: Record<string, Unsent>) => {
  const { [session]: _, ...rest } = outbox;
  outbox = Object.keys(texts).length > 0 ? { ...rest, [session]: texts } : rest;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(outbox));
  } catch {
    // Storage is full or forbidden. The messages last until the page closes.
  }
};

/** Client ids and texts of a session, oldest first. */
export const list = (session: string): [string, string][] => Object.entries(outbox[session] ?? {}).map(([clientId, { text }]) => [clientId, text]);
/** What the answer to an unsent message may use. */
export const answerFromOf = (session: string, clientId: string): AnswerFrom | undefined => outbox[session]?.[clientId]?.answerFrom;
export const add = (session: string, clientId: string, text: string, answerFrom?: AnswerFrom): void =>
  write(session, { ...outbox[session], [clientId]: { text, answerFrom } });
export const clear = (session: string): void => write(session, {});
export const remove = (session: string, clientId: string): void => {
  const { [clientId]: removed, ...rest } = outbox[session] ?? {};
  if (removed !== undefined) write(session, rest);
};
/** Deletes all messages on logout, so that the browser's next user cannot read them. */
export const clearAll = (): void => Object.keys(outbox).forEach(clear);
