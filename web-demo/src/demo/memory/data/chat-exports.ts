// Reads what other programs export: ChatGPT, Claude and Open WebUI. The same rules as `recall import --format`.

export interface Turn {
  readonly id: string;
  readonly role: "USER" | "ASSISTANT";
  readonly text: string;
  /** Who said it, if it is neither the user nor the assistant. */
  readonly speaker?: string | null;
  /** Milliseconds since 1970. null: unknown. */
  readonly sentAt: number | null;
}

export interface Chat {
  readonly id: string;
  readonly title: string;
  readonly turns: readonly Turn[];
  /** Messages that are left out: hidden ones, replaced branches, and those without text. */
  readonly leftOut: number;
}

export interface ChatExport {
  readonly program: "ChatGPT" | "Claude" | "Open WebUI" | "mem0" | "Recall";
  readonly chats: readonly Chat[];
  /** Chats without a message to import, or in an unknown form. */
  readonly unread: number;
  /** Documents, which only `recall import` takes. */
  readonly documents?: number;
}

export type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const arrayOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Larger numbers are milliseconds: the year 5138 in seconds. */
const LARGEST_SECONDS = 1e11;
export function timeOf(value: unknown): number | null {
  // Dates without a time zone are UTC.
  const text = textOf(value).replace(" ", "T");
  const time = typeof value === "number" ? (value > LARGEST_SECONDS ? value : value * 1000) : Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  return time > 0 ? Math.round(time) : null;
}

/** The texts of parts that have one: images and files have none. */
const joined = (parts: unknown[]): string => parts.map((part) => textOf(part) || textOf(objectOf(part)["text"])).filter(Boolean).join("\n");

/** The branch from the root to `leaf`. Ends at an unknown parent and at a cycle. */
function branchTo<Node>(leaf: string, nodes: ReadonlyMap<string, Node>, parentOf: (node: Node) => unknown): Node[] {
  const branch: Node[] = [];
  const seen = new Set<string>();
  for (let id = leaf; !seen.has(id); ) {
    const node = nodes.get(id);
    if (node === undefined) break;
    seen.add(id);
    branch.unshift(node);
    id = textOf(parentOf(node));
  }
  return branch;
}

/** The id of the latest node that has no reply, for exports that do not name the current one. */
function latestLeaf<Node>(nodes: ReadonlyMap<string, Node>, parentOf: (node: Node) => unknown, sentAt: (node: Node) => number | null): string {
  const parents = new Set([...nodes.values()].map((node) => textOf(parentOf(node))));
  let [latest, time] = ["", -1];
  for (const [id, node] of nodes) if (!parents.has(id) && (sentAt(node) ?? 0) >= time) [latest, time] = [id, sentAt(node) ?? 0];
  return latest;
}

/** A message before it is checked. Without a role it is hidden. */
type Draft = Omit<Turn, "role"> & { role: Turn["role"] | null };
const roleOf = (name: unknown): Draft["role"] => (name === "user" || name === "human" ? "USER" : name === "assistant" ? "ASSISTANT" : null);

/** In characters. The server takes 200 bytes. */
const LONGEST_TITLE = 50;

/** `all`: number of messages in all branches. */
export function chatOf(id: string, title: unknown, drafts: readonly Draft[], all: number): Chat {
  const turns = drafts.filter((draft): draft is Turn => draft.role !== null && draft.text.trim() !== "");
  return { id, title: [...textOf(title).replace(/[\s\p{Cc}]+/gu, " ").trim()].slice(0, LONGEST_TITLE).join(""), turns, leftOut: all - turns.length };
}

/** Marks of citations and other parts of the interface, between two characters of private use. */
const MARKS = /\u{e200}[^\u{e201}]*\u{e201}?/gu;

function readChatGpt(chat: Json): Chat {
  const nodes = new Map(Object.entries(objectOf(chat["mapping"])).map(([id, node]) => [id, objectOf(node)]));
  const parentOf = (node: Json) => node["parent"];
  const messageOf = (node: Json) => objectOf(node["message"]);
  const leaf = textOf(chat["current_node"]) || latestLeaf(nodes, parentOf, (node) => timeOf(messageOf(node)["create_time"]));
  const draft = (message: Json): Draft => {
    const content = objectOf(message["content"]);
    const isHidden = objectOf(message["metadata"])["is_visually_hidden_from_conversation"] === true
      // Calls of tools have another recipient. Thoughts and custom instructions have other types of content.
      || (textOf(message["recipient"]) || "all") !== "all" || !["text", "multimodal_text"].includes(textOf(content["content_type"]));
    return {
      id: textOf(message["id"]), role: isHidden ? null : roleOf(objectOf(message["author"])["role"]),
      text: joined(arrayOf(content["parts"])).replace(MARKS, ""), sentAt: timeOf(message["create_time"]),
    };
  };
  const withMessage = (list: Json[]) => list.filter((node) => isObject(node["message"]));
  return chatOf(
    textOf(chat["conversation_id"]) || textOf(chat["id"]), chat["title"],
    withMessage(branchTo(leaf, nodes, parentOf)).map((node) => draft(messageOf(node))), withMessage([...nodes.values()]).length,
  );
}

function readClaude(chat: Json): Chat {
  const all = arrayOf(chat["chat_messages"]).map(objectOf);
  const nodes = new Map(all.map((message) => [textOf(message["uuid"]), message]));
  const parentOf = (message: Json) => message["parent_message_uuid"];
  const named = textOf(chat["current_leaf_message_uuid"]);
  const leaf = nodes.has(named) ? named : latestLeaf(nodes, parentOf, (message) => timeOf(message["created_at"]));
  const draft = (message: Json): Draft => {
    const blocks = arrayOf(message["content"]);
    // `text` also describes the blocks that are not text. Older exports have only `text`.
    const text = blocks.length > 0 ? joined(blocks.filter((block) => objectOf(block)["type"] === "text")) : textOf(message["text"]);
    return { id: textOf(message["uuid"]), role: roleOf(message["sender"]), text, sentAt: timeOf(message["created_at"]) };
  };
  // Older exports name no message before another one.
  const branch = all.some((message) => textOf(parentOf(message))) ? branchTo(leaf, nodes, parentOf) : all;
  return chatOf(textOf(chat["uuid"]), chat["name"], branch.map(draft), all.length);
}

/** Folded parts of an answer: the reasoning of a model, and calls of tools. Without an end, the model was stopped inside. */
const FOLDED = /<details type="[^]*?(<\/details>\s*|$)/g;

function readOpenWebUi(exported: Json): Chat {
  const chat = objectOf(exported["chat"]);
  const history = objectOf(chat["history"]);
  const nodes = new Map(Object.entries(objectOf(history["messages"])).map(([id, message]) => [id, objectOf(message)]));
  const tree = branchTo(textOf(history["currentId"]), nodes, (message) => message["parentId"]);
  // Older chats have a list only.
  const branch = tree.length > 0 ? tree : arrayOf(chat["messages"]).map(objectOf);
  const draft = (message: Json, index: number): Draft => {
    const role = roleOf(message["role"]);
    const text = textOf(message["content"]) || joined(arrayOf(message["content"]));
    return { id: textOf(message["id"]) || `message ${index}`, role, text: role === "ASSISTANT" ? text.replace(FOLDED, "") : text, sentAt: timeOf(message["timestamp"]) };
  };
  return chatOf(textOf(exported["id"]) || textOf(chat["id"]), exported["title"] ?? chat["title"], branch.map(draft), Math.max(nodes.size, branch.length));
}

const formats = [
  { program: "ChatGPT", field: "mapping", read: readChatGpt }, { program: "Claude", field: "chat_messages", read: readClaude }, { program: "Open WebUI", field: "chat", read: readOpenWebUi },
] as const;

/** Names under which an export contains its list, if it is not a list itself. */
const LISTS = ["results", "memories", "conversations", "data"];

/** The chats or memories of an export, unread. */
export function elementsOf(json: unknown): Json[] {
  const list = Array.isArray(json) ? json : LISTS.map((name) => objectOf(json)[name]).find(Array.isArray);
  return (list ?? [json]).map(objectOf);
}

/** Reads an export. null: it is of another program. */
export function readChatExport(json: unknown): ChatExport | null {
  const elements = elementsOf(json);
  const format = formats.find(({ field }) => elements.some((element) => isObject(element[field]) || Array.isArray(element[field])));
  if (!format) return null;
  const chats = elements.filter((element) => format.field in element).map(format.read).filter(({ id, turns }) => id !== "" && turns.length > 0);
  return { program: format.program, chats, unread: elements.length - chats.length };
}
