// Reads the memories of mem0. The same rules as `recall import --format mem0`.
import { chatOf, elementsOf, textOf, timeOf, type ChatExport, type Json } from "./chat-exports.ts";

const SEVERAL_USERS = 'This file has the memories of several users. Import those of one with "recall import --source-user".';

/** Verbs with which notes begin, and what they are after "I". */
const VERBS = new Map([["is", "am"], ["was", "was"], ["has", "have"], ["does", "do"], ["goes", "go"], ["doesn't", "don't"], ["isn't", "am not"], ["hasn't", "haven't"]]);
/** Other verbs with which a note without a subject may begin. Other words that end in "s" may be plural nouns. */
const BEGINNINGS = new Set((
  "adores appreciates attends avoids believes builds collects comes cooks dislikes drinks drives eats enjoys feels follows hates holds hopes keeps knows lacks learns likes listens lives loves manages " +
  "needs owns plans plays practices prefers reads runs speaks studies suffers supports teaches thinks travels uses visits wants watches wears wishes works writes"
).split(" "));
/** Nouns with which a note may begin that says what something of the user is. */
const NOUNS = /^(name|age|birthday|favou?rite|hobby|hobbies|job|hometown|nickname|occupation)(?=\s).* (is|are) /is;

/** "studies" -> "study", "watches" -> "watch", "likes" -> "like". */
const withoutEnding = (verb: string): string => (
  verb.length > 4 && verb.endsWith("ies") ? `${verb.slice(0, -3)}y` : /(sses|shes|ches|xes|zzes)$/.test(verb) ? verb.slice(0, -2) : verb.replace(/(?<!s)s$/, "")
);

/** Puts "I" before a note that begins with a verb. */
function afterI(note: string, isVerb: (word: string) => boolean): string {
  const [first = "", ...rest] = note.split(" ");
  const verb = first.toLowerCase();
  const base = VERBS.get(verb) ?? (isVerb(verb) ? withoutEnding(verb) : null);
  return base === null ? note : ["I", base, ...rest].join(" ").trimEnd();
}

/** "Lives in Ghent" -> "I live in Ghent". A note that does not speak of the user stays. */
export function inFirstPerson(text: string): string {
  const note = text.trim();
  const [, of] = /^(?:the )?user['’]s (.*)$/is.exec(note) ?? [];
  if (of !== undefined) return `My ${of}`;
  const [, does] = /^(?:the )?user (.*)$/is.exec(note) ?? [];
  if (does !== undefined) return afterI(does, () => true);
  return NOUNS.test(note) ? `My ${note.charAt(0).toLowerCase()}${note.slice(1)}` : afterI(note, (word) => BEGINNINGS.has(word));
}

const noteOf = (memory: Json): string => textOf(memory["memory"]) || textOf(memory["text"]) || textOf(memory["data"]);
const isMemory = (element: Json): boolean => textOf(element["id"]) !== "" && noteOf(element) !== "";

/** All memories become one session. Returns null if there are none, and a sentence if they cannot be imported here. */
export function readMemories(json: unknown): ChatExport | string | null {
  const elements = elementsOf(json);
  const memories = elements.filter(isMemory);
  if (memories.length === 0) return null;
  const [owner = "", ...others] = new Set(memories.map((memory) => textOf(memory["user_id"])));
  if (others.length > 0) return SEVERAL_USERS;
  const turns = memories.map((memory) => ({
    id: textOf(memory["id"]), role: "USER" as const, text: inFirstPerson(noteOf(memory)),
    // The words are those of the last update.
    sentAt: timeOf(memory["updated_at"]) ?? timeOf(memory["created_at"]),
  }));
  return { program: "mem0", chats: [chatOf(encodeURIComponent(owner || "memories"), "Memories from mem0", turns, elements.length)], unread: 0 };
}
