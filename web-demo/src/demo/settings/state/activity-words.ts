// What the entries of the audit log say to a person.
import { count } from "../../state/format.ts";
import { documentHref, entityHref, memoryFactHref, sessionHref } from "../../state/route.ts";
import type { AuditRow } from "../generated/operations.ts";

/** What the page knows of the ids in the entries. */
export interface Known {
  readonly viewerId: string | undefined;
  /** Names of the viewer's access tokens by id. Revoked tokens have none. */
  readonly tokenNames: ReadonlyMap<string, string>;
}

/** An entry in words. */
export interface Described {
  readonly text: string;
  /** What the action was about. null: the target is an id that means nothing to a person. */
  readonly about: string | null;
  /** Where the object of the action is shown. */
  readonly href: string | null;
}

interface Words {
  readonly text: string;
  readonly about?: (target: string, entry: AuditRow, known: Known) => string | null;
  readonly href?: (target: string) => string;
}

/** Administrators look users up by id (`recall user show`), so the id stays whole. */
const userWord = (id: string, { viewerId }: Known): string => (id === viewerId ? "you" : `user ${id}`);

/** "2 facts, 0 messages" -> "2 facts". */
function forgotten(target: string): string {
  const [facts = 0, messages = 0] = (target.match(/\d+/g) ?? []).map(Number);
  return [facts > 0 && count(facts, "fact"), messages > 0 && count(messages, "message")].filter(Boolean).join(", ") || "nothing";
}

/** What only administrators can read, by field of the API. */
const adminReads = new Map([["auditLog", "the activity of all users"], ["users", "the list of users"]]);

const numberOf = (noun: string) => (target: string) => count(Number(target), noun);
const otherUser = (target: string, { actorId }: AuditRow, known: Known) => (target === actorId ? null : target === "everybody" ? "all users" : userWord(target, known));

const words = new Map<string, Words>(Object.entries({
  "login": { text: "Logged in" },
  "logout": { text: "Logged out" },
  "logout.issuer": { text: "Logged out by the login provider" },
  "access_token.created": { text: "Created an access token", about: (target, _entry, { tokenNames }) => tokenNames.get(target) ?? null },
  "access_token.revoked": { text: "Revoked an access token" },
  "token.revoked": { text: "Revoked a token of the login provider" },
  "role.admin": { text: "Became an administrator" },
  "role.user": { text: "Stopped being an administrator" },
  "admin.read": { text: "Read as an administrator", about: (target) => adminReads.get(target) ?? target },
  "session.deleted": { text: "Deleted a session" },
  "message.deleted": { text: "Deleted a message" },
  "memory.forgotten": { text: "Made Recall forget", about: forgotten },
  "memory.restored": { text: "Restored what was forgotten", about: forgotten },
  "document.deleted": { text: "Deleted a document or its file" },
  "comparison.deleted": { text: "Deleted a comparison" },
  "fact.denied": { text: "Denied a fact", href: memoryFactHref },
  "fact.ended": { text: "Said that a fact no longer holds", href: memoryFactHref },
  "fact.retracted": { text: "Retracted a fact", href: memoryFactHref },
  "fact.restored": { text: "Restored a fact", href: memoryFactHref },
  "entity.renamed": { text: "Renamed a person or thing", href: entityHref },
  "entity.retyped": { text: "Changed the type of a person or thing", href: entityHref },
  "entities.merged": { text: "Merged two people or things", href: entityHref },
  "entities.unmerged": { text: "Split a person or thing", href: entityHref },
  "session.renamed": { text: "Renamed a session", href: sessionHref },
  "session.pinned": { text: "Pinned a session", href: sessionHref },
  "session.unpinned": { text: "Unpinned a session", href: sessionHref },
  "session.archived": { text: "Archived a session", href: sessionHref },
  "session.unarchived": { text: "Took a session out of the archive", href: sessionHref },
  "session.paused": { text: "Paused remembering in a session", href: sessionHref },
  "session.resumed": { text: "Resumed remembering in a session", href: sessionHref },
  "remembering.paused": { text: "Paused remembering in all sessions" },
  "remembering.resumed": { text: "Resumed remembering in all sessions" },
  "shared.session.created": { text: "Created a shared session", href: sessionHref },
  "shared.session.renamed": { text: "Renamed a shared session", href: sessionHref },
  "shared.session.pinned": { text: "Pinned a shared session", href: sessionHref },
  "shared.session.unpinned": { text: "Unpinned a shared session", href: sessionHref },
  "shared.session.archived": { text: "Archived a shared session", href: sessionHref },
  "shared.session.unarchived": { text: "Took a shared session out of the archive", href: sessionHref },
  "shared.session.paused": { text: "Paused remembering in a shared session", href: sessionHref },
  "shared.session.resumed": { text: "Resumed remembering in a shared session", href: sessionHref },
  "shared.session.deleted": { text: "Deleted a shared session" },
  "shared.document.added": { text: "Added a shared document", href: documentHref },
  "shared.document.deleted": { text: "Deleted a shared document or its file" },
  "shared.messages.stored": { text: "Stored messages in shared memory" },
  "shared.answer.cancelled": { text: "Stopped an answer in shared memory" },
  "shared.fact.asserted": { text: "Stated a fact in shared memory", href: memoryFactHref },
  "shared.fact.retracted": { text: "Retracted a fact of shared memory", href: memoryFactHref },
  "shared.fact.restored": { text: "Restored a fact of shared memory", href: memoryFactHref },
  "shared.entity.renamed": { text: "Renamed an entity of shared memory", href: entityHref },
  "shared.entity.retyped": { text: "Changed the type of an entity of shared memory", href: entityHref },
  "shared.entities.merged": { text: "Merged two entities of shared memory", href: entityHref },
  "shared.entities.unmerged": { text: "Undid a merge of entities of shared memory", href: entityHref },
  "sessions.expired": { text: "Deleted unused sessions", about: numberOf("session") },
  "visits.expired": { text: "Deleted visits that had ended", about: numberOf("visit") },
  "visit.adopted": { text: "Moved a visit into the account" },
  "data.deleted": { text: "Began to delete all data", about: otherUser },
  "data.exported": { text: "Exported all data", about: otherUser },
  "data.imported": { text: "Imported data", about: otherUser },
  "user.shown": { text: "Looked up a user", about: otherUser },
} satisfies Record<string, Words>));

/** An unknown action is shown as its name. */
export function describe(entry: AuditRow, known: Known): Described {
  const { action, target } = entry;
  const { text, about, href } = words.get(action) ?? { text: action };
  return { text, about: (target !== null && about?.(target, entry, known)) || null, href: (target !== null && href?.(target)) || null };
}

export const actorWord = ({ actorId }: AuditRow, known: Known): string => (actorId === null ? "the server or its operator" : userWord(actorId, known));
