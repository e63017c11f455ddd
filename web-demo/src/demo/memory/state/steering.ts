// What the reader does to the memory. Each action reports what happened and how to take it back.
import { type EntityType, type EvidenceStance, type ForgetInput, type RecallClient, RecallError, type UnmergeEntitiesInput } from "@relevantic/recall";
import { FactEvidencePage, Retype, Split, type KnownFact, type Named } from "../generated/operations.ts";
import type { UndoList } from "./undo.ts";
import { assertKnown, assertStatement, homeSession, sessionOf, statementOf, wasAsserted, type Statement } from "../../state/statements.ts";
import { changeSession, type SessionChange } from "../../state/session-actions.ts";
import { placeHref } from "../../common/state/place.ts";
import { factsAndMessages, sentence, typeWord } from "../../common/state/words.ts";

const SAME_FACT = "This is what the memory says already. Change the statement, or retract the fact.";

const areSame = (a: Statement, b: Statement): boolean =>
  a.subject === b.subject && a.relation === b.relation && a.object === b.object && a.value?.text === b.value?.text && a.value?.label === b.value?.label;

export interface SteeringParts {
  client: RecallClient;
  undo: UndoList;
  /** Called after each change. */
  changed: () => void;
}

export class Steering {
  readonly #parts: SteeringParts;

  constructor(parts: SteeringParts) {
    this.#parts = parts;
  }

  async add(statement: Statement, sessionId?: string): Promise<void> {
    const fact = await assertStatement(this.#parts.client, statement, sessionId ?? (await homeSession()));
    this.#done(`Recorded: ${sentence(fact)}.`);
  }

  /** States the fact again. It counts more then. */
  async confirm(fact: KnownFact): Promise<void> {
    await this.#state(fact);
    await this.#said(`Confirmed: ${sentence(fact)}.`, fact, "SUPPORTS");
  }

  /** States that the fact is not so. It counts less then. */
  async deny(fact: KnownFact): Promise<void> {
    await this.#state(fact, "OPPOSES");
    await this.#said(`Noted as not so: ${sentence(fact)}.`, fact, "OPPOSES");
  }

  /** States that the fact no longer holds. */
  async end(fact: KnownFact): Promise<void> {
    await this.#state(fact, "ENDS");
    await this.#said(`Ended: ${sentence(fact)}.`, fact, "ENDS");
  }

  /** Takes a retraction back. What ended, or was retracted by a message, is stated again. */
  async restore(fact: KnownFact): Promise<void> {
    if (fact.status === "RETRACTED") await this.#restore(fact);
    else await this.#state(fact);
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

  /** States the right fact and the reason, then retracts the wrong fact. If a step fails, the steps before it stay. Undo takes both back. */
  async correct(wrong: KnownFact, right: Statement, reason: string): Promise<void> {
    const { client } = this.#parts;
    if (areSame(right, statementOf(wrong))) throw new RecallError("SAME_FACT", SAME_FACT, 200);
    const sessionId = await this.#sessionOf(wrong);
    const fact = await assertStatement(client, right, sessionId, { reason });
    // Another spelling of the same names.
    if (fact.id === wrong.id) throw new RecallError("SAME_FACT", SAME_FACT, 200);
    await client.retractFact(wrong.id);
    const own = await this.#findStatement(fact.id, "SUPPORTS");
    this.#parts.undo.add(`Corrected: ${sentence(fact)}.`, own ? "Undo" : null, async () => {
      if (own) await client.deleteMessage(own);
      await this.#restore(wrong);
      this.#parts.changed();
      return "The correction is taken back.";
    }, { key: own && `${wrong.id} ${own}`, link: { href: placeHref({ view: "facts", id: fact.id }), label: "Open it" } });
    this.#parts.changed();
  }

  async forget(target: Omit<ForgetInput, "dryRun">): Promise<void> {
    const { factCount, messageCount, token, undoUntil } = await this.#parts.client.forget({ ...target, dryRun: false });
    const text = `Forgotten: ${factsAndMessages(factCount, messageCount)}.`;
    this.#parts.undo.supersede([...(target.factIds ?? []), ...(target.entityIds ?? [])]);
    if (token && undoUntil) this.#parts.undo.addForgotten(token, text, undoUntil);
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
    }, `name ${entity.id}`);
  }

  async retype(entity: Named, type: EntityType): Promise<void> {
    await this.#retype(entity.id, type);
    this.#done(`The type of ${entity.name} is now ${typeWord[type]}.`, "Change back", async () => {
      await this.#retype(entity.id, entity.type);
      this.#parts.changed();
      return `The type of ${entity.name} is ${typeWord[entity.type]} again.`;
    }, `type ${entity.id}`);
  }

  async merge(into: Named, from: Named): Promise<void> {
    await this.#parts.client.mergeEntities({ intoId: into.id, fromId: from.id });
    this.#done(`${from.name} is now part of ${into.name}.`, "Split again", async () => {
      await this.#split({ entityId: from.id });
      return `${from.name} and ${into.name} are two again.`;
    }, `merge ${from.id}`);
  }

  /** Undoes a merge, or separates what was said under one of the names. `name`: what stands alone then. */
  async split(target: Omit<UnmergeEntitiesInput, "dryRun">, name: string, from: Named): Promise<void> {
    const apart = await this.#split(target);
    this.#done(`${name} stands alone${target.name ? "" : " again"}.`, apart ? "Merge again" : null, async () => {
      if (apart) await this.#parts.client.mergeEntities({ intoId: from.id, fromId: apart.id });
      this.#parts.changed();
      return `${name} is part of ${from.name} again.`;
    }, apart ? `merge ${apart.id}` : undefined);
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

  /** Returns the entity that stands alone. */
  async #split(input: UnmergeEntitiesInput): Promise<Named | null> {
    const { entity, errors } = (await this.#parts.client.graphql(Split, { input })).unmergeEntities;
    if (errors[0]) throw new RecallError(errors[0].code, errors[0].message, 200);
    this.#parts.changed();
    return entity;
  }

  async #restore(fact: KnownFact) {
    try {
      await this.#parts.client.restoreFact(fact.id);
    } catch (error) {
      const code = error instanceof RecallError ? error.code : "";
      if (code === "RETRACTED_BY_MESSAGE") await this.#state(fact);
      // It was stated or restored since.
      else if (code !== "NOT_RETRACTED") throw error;
    }
  }

  async #state(fact: KnownFact, stance?: "OPPOSES" | "ENDS") {
    await assertKnown(this.#parts.client, fact, await this.#sessionOf(fact), stance);
  }

  /** Reports a statement about a fact. Undo deletes its message. A second statement instead would count only from now on. */
  async #said(text: string, { id }: KnownFact, stance: EvidenceStance) {
    const own = await this.#findStatement(id, stance);
    this.#done(text, own ? "Undo" : null, async () => {
      if (own) await this.#parts.client.deleteMessage(own);
      this.#parts.changed();
      return "The fact is what it was.";
    }, own && `${id} ${own}`);
  }

  /** The message of the latest statement by hand about a fact. */
  async #findStatement(id: string, stance: EvidenceStance): Promise<string | undefined> {
    const evidence = (await this.#parts.client.graphql(FactEvidencePage, { id, after: null })).fact?.evidence.nodes ?? [];
    return evidence.find((item) => item.stance === stance && wasAsserted(item.message))?.message.id;
  }

  async #sessionOf(fact: KnownFact): Promise<string> {
    const { fact: found } = await this.#parts.client.graphql(FactEvidencePage, { id: fact.id, after: null });
    return sessionOf(found?.evidence.nodes ?? [], fact.shared);
  }

  #done(text: string, label: string | null = null, undo?: () => Promise<string>, key?: string) {
    this.#parts.undo.add(text, label, undo, { key });
    this.#parts.changed();
  }
}
