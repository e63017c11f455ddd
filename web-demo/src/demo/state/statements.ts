// What the user states of facts: a new fact, or that a known one holds, is not so, or no longer holds.
import { RecallError, type EntityType, type EvidenceStance, type RecallClient } from "@relevantic/recall";
import { sessionId } from "./current-session.ts";
import { client } from "./login.ts";
import { sessions } from "./session-list.ts";

/** A fact as the user states it. */
export interface Statement {
  subject: string;
  subjectType?: EntityType | undefined;
  relation: string;
  object?: string;
  objectType?: EntityType | undefined;
  value?: { text: string; label?: string };
}

interface Named { readonly name: string; readonly type: EntityType; readonly isViewer: boolean }

export interface StatedFact {
  readonly id: string;
  readonly relation: string;
  readonly subject: Named;
  readonly object: Named | null;
  readonly value: { readonly text: string; readonly label: string | null } | null;
}

/** The name that the server reads as the user. */
const USER = "I";
const nameForServer = (entity: Named) => (entity.isViewer ? USER : entity.name);

/** What the user would say to state this fact again. */
export function statementOf({ subject, relation, object, value }: StatedFact): Statement {
  return {
    subject: nameForServer(subject), subjectType: subject.type, relation,
    ...(value ? { value: { text: value.text, ...(value.label ? { label: value.label } : {}) } } : object ? { object: nameForServer(object), objectType: object.type } : {}),
  };
}

/** The open session if it is the user's own, else the newest own session, else a new one. */
export async function homeSession(): Promise<string> {
  const open = sessions.value.find((s) => s.id === sessionId.value);
  const home = open && !open.shared ? open : sessions.value.find((s) => !s.shared);
  return home?.id ?? (await client.createSession("Facts that I stated")).id;
}

type Said = { readonly message: { readonly role: string; readonly session: { readonly id: string } } };

/** The session of the latest message about a fact. A document takes no statements, and an own session none about shared memory. */
export async function sessionOf(evidence: readonly Said[], shared: boolean): Promise<string> {
  const said = evidence.find(({ message }) => message.role !== "DOCUMENT")?.message.session.id;
  if (said !== undefined || !shared) return said ?? homeSession();
  const open = sessions.value.find((s) => s.shared);
  if (!open) throw new RecallError("NO_SHARED_SESSION", "Only a shared document says this. Create a shared session first, which takes the statement.", 200);
  return open.id;
}

/** Whether a message is a statement by hand. */
export const wasAsserted = ({ sourceMetadata }: { readonly sourceMetadata: unknown }): boolean =>
  typeof sourceMetadata === "object" && sourceMetadata !== null && "asserted" in sourceMetadata;

/** What a piece of evidence says; nothing if it is forgotten. The message of a statement by hand has the reason behind the statement, where the excerpt ends. */
export const quoteOf = ({ message, excerpt }: { readonly message: { readonly text: string; readonly sourceMetadata: unknown }; readonly excerpt: string | null }): string =>
  (wasAsserted(message) ? message.text : excerpt ?? message.text);

/** States something. Without a stance, that it is so. */
export function assertStatement(on: RecallClient, { subjectType, objectType, ...said }: Statement, sessionId: string, { stance, reason = "" }: { stance?: EvidenceStance; reason?: string } = {}) {
  return on.assertFact({ ...said, sessionId, ...(subjectType ? { subjectType } : {}), ...(objectType ? { objectType } : {}), ...(reason ? { reason } : {}), ...(stance ? { stance } : {}) });
}

/** States a known fact again. With a stance, that it is not so or no longer so. */
export async function assertKnown(on: RecallClient, fact: StatedFact, sessionId: string, stance?: "OPPOSES" | "ENDS"): Promise<void> {
  const stated = await assertStatement(on, statementOf(fact), sessionId, stance ? { stance } : {});
  // The server finds entities by name, so it may find another one of the same name.
  if (stated.id !== fact.id) throw new RecallError("OTHER_FACT", "The memory took this as another fact. Two things have the same name.", 200);
}

/** What people can say of a fact that holds, and what it does. */
export const sayings = {
  confirm: ["Confirm", "This is so. It counts as one more statement: the belief grows."],
  deny: ["Deny", "This is not so. It counts as a statement against it: the fact stays, with a lower belief."],
  end: ["No longer true", "It was true, and is not any more. The fact ends today, and stays in the past."],
  retract: ["Retract", "It should never have been noted. The fact no longer counts, whatever was said for it."],
} as const;
