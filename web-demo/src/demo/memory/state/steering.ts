// What the reader does to the memory. Each action reports what happened and how to take it back.
import { type AssertFactInput, type EntityType, type ForgetInput, type RecallClient, RecallError } from "@relevantic/recall";
import { FactEvidencePage, Retype, Split, type KnownFact, type Named } from "../generated/operations.ts";
import type { UndoList } from "./undo.ts";
import { changeSession, type SessionChange } from "../../state/session-actions.ts";
import { placeHref } from "../../common/state/place.ts";
import { factsAndMessages, sentence, typeWord } from "../../common/state/words.ts";

/** A fact as the reader states it. */
export interface Statement {
  subject: string;
  subjectType?: EntityType | undefined;
  relation: string;
  object?: string;
  objectType?: EntityType | undefined;
  value?: { text: string; label?: string };
}

/** The name that the server reads as the reader. */
const READER = "I";
const nameForServer = (entity: Named) => (entity.isViewer ? READER : entity.name);

const SAME_FACT = "This is what the memory says already. Change the statement, or retract the fact.";

/** What the reader would say to state this fact again. */
export function statementOf(fact: KnownFact): Statement {
  const { value, object } = fact;
  const label = value?.label;
  return {
    subject: nameForServer(fact.subject), subjectType: fact.subject.type, relation: fact.relation,
    ...(value ? { value: { text: value.text, ...(label ? { label } : {}) } } : object ? { object: nameForServer(object), objectType: object.type } : {}),
  };
}

const areSame = (a: Statement, b: Statement): boolean =>
  a.subject === b.subject && a.relation === b.relation && a.object === b.object && a.value?.text === b.value?.text && a.value?.label === b.value?.label;

export interface SteeringParts {
  client: RecallClient;
  undo: UndoList;
  /** Called after each change. */
  changed: () => void;
  /** Returns the session for new statements. Creates one if there is none. */
  homeSession: () => Promise<string>;
}

export class Steering {
  readonly #parts: SteeringParts;

  constructor(parts: SteeringParts) {
    this.#parts = parts;
  }

  async add(statement: Statement, sessionId?: string): Promise<void> {
    const fact = await this.#assert(statement, sessionId ?? (await this.#parts.homeSession()));
    this.#done(`Recorded: ${sentence(fact)}.`);
  }

  /** States the fact again. It counts more then. */
  async confirm(fact: KnownFact): Promise<void> {
    await this.#stateAgain(fact);
    this.#done(`Confirmed: ${sentence(fact)}.`);
  }

  /** Takes a retraction back. What ended, or was retracted by a message, is stated again. */
  async restore(fact: KnownFact): Promise<void> {
    if (fact.status === "RETRACTED") await this.#restore(fact);
    else await this.#stateAgain(fact);
    // What its retraction offers is done.
    this.#parts.undo.remove(fact.id);
    this.#done(`Restored: ${sentence(fact)}.`);
  }

  async retract(facts: readonly KnownFact[]): Promise<void> {
    for (const fact of facts) await this.#parts.client.retractFact(fact.id);
    const [only] = facts;
    const text = facts.length === 1 && only ? `Retracted: ${sentence(only)}.` : `${facts.length} facts are retracted.`;
    this.#done(text, "Restore", async () => {
      for (const fact of facts) await this.#restore(fact);
      this.#parts.changed();
      return facts.length === 1 ? "The fact holds again." : "The facts hold again.";
    }, facts.map(({ id }) => id).join());
  }

  /** States the right fact and the reason, then retracts the wrong fact. If a step fails, the steps before it stay. */
  async correct(wrong: KnownFact, right: Statement, reason: string): Promise<void> {
    const { client } = this.#parts;
    if (areSame(right, statementOf(wrong))) throw new RecallError("SAME_FACT", SAME_FACT, 200);
    const sessionId = await this.#sessionOf(wrong);
    const fact = await this.#assert(right, sessionId, reason);
    // Another spelling of the same names.
    if (fact.id === wrong.id) throw new RecallError("SAME_FACT", SAME_FACT, 200);
    await client.retractFact(wrong.id);
    this.#parts.undo.add(`Corrected: ${sentence(fact)}.`, null, undefined, { link: { href: placeHref({ view: "facts", id: fact.id }), label: "Open it" } });
    this.#parts.changed();
  }

  async forget(target: Omit<ForgetInput, "dryRun">): Promise<void> {
    const { factCount, messageCount, token } = await this.#parts.client.forget({ ...target, dryRun: false });
    const text = `Forgotten: ${factsAndMessages(factCount, messageCount)}.`;
    if (token) this.#parts.undo.addForgotten(token, text);
    else this.#parts.undo.add(text);
    this.#parts.changed();
  }

  async deleteMessage(id: string): Promise<void> {
    await this.#parts.client.deleteMessage(id);
    this.#done("The message is deleted.");
  }

  async rename(entity: Named, name: string): Promise<void> {
    await this.#parts.client.renameEntity({ id: entity.id, name });
    this.#done(`${entity.name} is now called ${name}.`, "Rename back", async () => {
      await this.#parts.client.renameEntity({ id: entity.id, name: entity.name });
      this.#parts.changed();
      return `It is called ${entity.name} again.`;
    });
  }

  async retype(entity: Named, type: EntityType): Promise<void> {
    await this.#retype(entity.id, type);
    this.#done(`The type of ${entity.name} is now ${typeWord[type]}.`, "Change back", async () => {
      await this.#retype(entity.id, entity.type);
      this.#parts.changed();
      return `The type of ${entity.name} is ${typeWord[entity.type]} again.`;
    });
  }

  async merge(into: Named, from: Named): Promise<void> {
    await this.#parts.client.mergeEntities({ intoId: into.id, fromId: from.id });
    this.#done(`${from.name} is now part of ${into.name}.`, "Split again", async () => {
      await this.#split(from.id);
      return `${from.name} and ${into.name} are two again.`;
    });
  }

  async split(from: { id: string; name: string }): Promise<void> {
    await this.#split(from.id);
    this.#done(`${from.name} stands alone again.`);
  }

  /** `said`: what happened, in words. */
  async changeSession(id: string, change: SessionChange, said: string): Promise<void> {
    await changeSession(id, change);
    this.#done(said);
  }

  async #retype(id: string, type: EntityType) {
    const { errors } = (await this.#parts.client.graphql(Retype, { id, type })).retypeEntity;
    if (errors[0]) throw new RecallError(errors[0].code, errors[0].message, 200);
  }

  async #split(id: string) {
    const { errors } = (await this.#parts.client.graphql(Split, { id })).unmergeEntities;
    if (errors[0]) throw new RecallError(errors[0].code, errors[0].message, 200);
    this.#parts.changed();
  }

  #assert(statement: Statement, sessionId: string, reason = "") {
    const { subjectType, objectType, ...said } = statement;
    const input: AssertFactInput = { ...said, sessionId, ...(subjectType ? { subjectType } : {}), ...(objectType ? { objectType } : {}), ...(reason ? { reason } : {}) };
    return this.#parts.client.assertFact(input);
  }

  async #restore(fact: KnownFact) {
    try {
      await this.#parts.client.restoreFact(fact.id);
    } catch (error) {
      const code = error instanceof RecallError ? error.code : "";
      if (code === "RETRACTED_BY_MESSAGE") await this.#stateAgain(fact);
      // It was stated or restored since.
      else if (code !== "NOT_RETRACTED") throw error;
    }
  }

  async #stateAgain(fact: KnownFact) {
    const stated = await this.#assert(statementOf(fact), await this.#sessionOf(fact));
    // The server finds entities by name, so it may find another one of the same name.
    if (stated.id !== fact.id) throw new RecallError("OTHER_FACT", `The memory took this as another fact: ${sentence(stated)}. Two things have the same name.`, 200);
  }

  /** The session of the latest message about the fact. A document takes no statements. */
  async #sessionOf(fact: KnownFact): Promise<string> {
    const { fact: found } = await this.#parts.client.graphql(FactEvidencePage, { id: fact.id, after: null });
    const said = found?.evidence.nodes.find(({ message }) => message.role !== "DOCUMENT");
    return said?.message.session.id ?? this.#parts.homeSession();
  }

  #done(text: string, label: string | null = null, undo?: () => Promise<string>, key?: string) {
    this.#parts.undo.add(text, label, undo, { key });
    this.#parts.changed();
  }
}
