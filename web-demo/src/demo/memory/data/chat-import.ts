// Stores exported chats as sessions. Chats and messages keep their ids, so a repeated import adds only what is new.
import { RecallError, type ImportedMessage } from "@relevantic/recall";
import { client } from "../../state/login.ts";
import { ImportChat, SessionOrigins, type SessionOriginsResult } from "./generated/operations.ts";
import type { Chat, ChatExport, Turn } from "./chat-exports.ts";

/** Limits of one request. */
const MOST_MESSAGES = 100;
const MOST_CHARACTERS = 200_000;
/** At most 16,000 characters, because the server takes 64 KiB and a character has up to 4 bytes. */
const PARTS = /[^]{1,16000}/gu;
const ATTEMPTS = 10;

export interface Progress {
  readonly done: number;
  /** Chats that were there before. */
  readonly known: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Tries again while the server is busy. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RecallError) || error.retryAfterMs === undefined || attempt === ATTEMPTS) throw error;
      await pause(error.retryAfterMs);
    }
  }
}

/** The sessions of the user by their ids, and by the id that their first message has in another program. */
async function readOrigins(): Promise<Map<string, string>> {
  const origins = new Map<string, string>();
  for (let after: string | null = null; ; ) {
    const page: string | null = after;
    const { nodes, pageInfo }: SessionOriginsResult["sessions"] = (await patiently(() => client.graphql(SessionOrigins, { after: page }))).sessions;
    for (const { id, messages } of nodes) {
      origins.set(id, id);
      const first = messages.nodes[0]?.externalId;
      if (first) origins.set(first, id).set(originOf(first), id);
    }
    if (!pageInfo.hasNextPage) return origins;
    after = pageInfo.endCursor;
  }
}

/** "ChatGPT:chat" of "ChatGPT:chat:message". */
const originOf = (externalId: string): string => externalId.split(":").slice(0, 2).join(":");
const isUnique = (id: string): boolean => id.length >= 32;

/** The session that already has this chat, and how the ids of its messages begin. `recall import` gives them no prefix. */
function sessionOf(chat: Chat, prefix: string, origins: ReadonlyMap<string, string>): { id: string; prefix: string } | null {
  const own = origins.get(prefix);
  if (own) return { id: own, prefix: `${prefix}:` };
  const first = chat.turns[0]?.id ?? "";
  const other = isUnique(first) ? origins.get(first) : undefined;
  return other ? { id: other, prefix: "" } : null;
}

/** Texts that are too long become several messages. Messages without a date get that of the one before. */
function messagesOf(turns: readonly Turn[], prefix: string, now: number): ImportedMessage[] {
  let time: number | null = null;
  return turns.flatMap(({ id, role, text, sentAt, speaker }) => {
    time = sentAt === null ? time : Math.min(sentAt, now);
    const also = { ...(time === null ? {} : { sentAt: new Date(time).toISOString() }), ...(speaker ? { speaker } : {}) };
    const parts = text.replace(/[^\P{Cc}\n\r\t]/gu, "").match(PARTS) ?? [];
    return parts.map((part, n) => ({ role, text: part, externalId: `${prefix}${id}${n > 0 ? `/${n + 1}` : ""}`, ...also }));
  }).filter(({ text }) => text.trim() !== "");
}

function batchesOf(messages: readonly ImportedMessage[]): ImportedMessage[][] {
  const batches: ImportedMessage[][] = [];
  let size = 0;
  for (const message of messages) {
    const last = batches.at(-1);
    size += message.text.length;
    if (last && last.length < MOST_MESSAGES && size <= MOST_CHARACTERS) last.push(message);
    else {
      batches.push([message]);
      size = message.text.length;
    }
  }
  return batches;
}

/** Imports chats one after another, until `signal` ends it between two requests. */
export async function importChats({ program, chats }: ChatExport, signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
  const origins = await readOrigins();
  let known = 0;
  for (const [done, chat] of chats.entries()) {
    onProgress({ done, known });
    if (signal.aborted) return;
    // The export is of this memory, and the session was not deleted since.
    if (program === "Recall" && origins.has(chat.id)) {
      known += 1;
      continue;
    }
    const prefix = `${program}:${chat.id}`;
    const there = sessionOf(chat, prefix, origins);
    if (there) known += 1;
    const session = there ?? { id: (await patiently(() => client.createSession(chat.title || undefined))).id, prefix: `${prefix}:` };
    for (const messages of batchesOf(messagesOf(chat.turns, session.prefix, Date.now()))) {
      if (signal.aborted) return;
      const [error] = (await patiently(() => client.graphql(ImportChat, { input: { sessionId: session.id, messages } }))).importMessages.errors;
      if (error) throw new RecallError(error.code, error.message, 200);
    }
  }
  onProgress({ done: chats.length, known });
}
