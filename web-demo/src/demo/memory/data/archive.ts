// Reads the conversations in an archive of Recall, which Export on the same page writes. The format is in docs/archive.md.
import { chatOf, objectOf, textOf, type Chat, type ChatExport, type Json } from "./chat-exports.ts";

const DAMAGED = "This export of Recall is incomplete: its end is missing, or a line is damaged. Export it again.";
const SEVERAL_USERS = 'This export of Recall has the data of several users. Import it on the server with "recall import".';

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

/** Whether a file is an archive of Recall: its first line says so. */
export function isArchive(text: string): boolean {
  try {
    return objectOf(JSON.parse(text.split("\n", 1)[0] ?? ""))["format"] === "recall-archive";
  } catch {
    return false;
  }
}

function readLines(text: string): Json[] | null {
  try {
    return text.split("\n").filter(Boolean).map((line) => objectOf(JSON.parse(line)));
  } catch {
    return null;
  }
}

/** What was said while remembering was paused is left out: the server would learn from it. */
function chatFrom(session: Json, messages: readonly Json[]): Chat {
  const drafts = [...messages].sort((a, b) => numberOf(a["position"]) - numberOf(b["position"])).map((message) => ({
    id: textOf(message["id"]), text: textOf(message["text"]), sentAt: numberOf(message["sent_at"]) || null, speaker: textOf(message["speaker"]) || null,
    role: message["unremembered"] === true ? null : message["role"] === "user" ? "USER" as const : message["role"] === "assistant" ? "ASSISTANT" as const : null,
  }));
  return chatOf(textOf(session["id"]), session["title"], drafts, messages.length);
}

/** Reads an archive, or returns why it cannot be imported here. */
export function readArchive(text: string): ChatExport | string {
  const records = readLines(text);
  const end = records?.at(-1);
  if (!records || end?.["type"] !== "end" || end["records"] !== records.length - 2) return DAMAGED;
  const of = (type: string) => records.filter((record) => record["type"] === type);
  if (of("user").length > 1) return SEVERAL_USERS;
  const messages = new Map<string, Json[]>();
  for (const message of of("message")) {
    const session = textOf(message["session_id"]);
    const told = messages.get(session);
    if (told) told.push(message);
    else messages.set(session, [message]);
  }
  const sessions = of("session").filter((session) => session["document"] !== true);
  const chats = sessions.map((session) => chatFrom(session, messages.get(textOf(session["id"])) ?? [])).filter(({ turns }) => turns.length > 0);
  return { program: "Recall", chats, unread: sessions.length - chats.length, documents: of("document").length };
}
