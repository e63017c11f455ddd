// The page's copy of one session: messages, facts, entities. A snapshot fills it and the event stream updates it.
// Events are idempotent, so a snapshot may be newer than its cursor.
import { signal } from "@preact/signals";
import type { EventMeta, EventOf, RecallEvent } from "@relevantic/recall";
import type { AroundResult, FactRow, LaterResult, MessageRow, SnapshotResult } from "../generated/operations.ts";
import { type Change, type CitationView, type Entity, type Fact, type Forgetting, type Message, type Pulse, valueText } from "./model.ts";
import { phraseFromName } from "./format.ts";
import { Redraws } from "./redraws.ts";

const lower = <T extends string>(text: T) => text.toLowerCase() as Lowercase<T>;
const REPLAY_STEP_MS = 90;
const REPLAY_MAX_MS = 2400;
const NO_PULSE: Pulse = { count: 0, delay: 0, at: 0, kind: "learned" };
type Around = NonNullable<AroundResult["session"]>;

/** A session as the page keeps it for reading without the server. */
export interface Snapshot {
  readonly messages: readonly Message[];
  readonly facts: readonly Fact[];
  readonly entities: readonly Entity[];
}

export class Memory {
  readonly version = signal(0);
  readonly messages = new Map<string, Message>();
  readonly facts = new Map<string, Fact>();
  readonly entities = new Map<string, Entity>();
  /** Phrases of the ontology by relation name. */
  readonly #phrases: Map<string, string>;
  readonly #byServerId = new Map<string, Message>();
  /** `performance.now()` of each send, by client id. */
  readonly #sendStartedAt = new Map<string, number>();
  #order = 0;
  #replayed = 0;
  /** Questions whose answer failed or was cancelled. */
  #unanswered = new Set<string>();
  readonly #redraws = new Redraws(() => { this.version.value += 1; });

  /** The session belongs to shared memory. */
  readonly shared: boolean;

  constructor(phrases: Map<string, string>, shared = false) {
    this.#phrases = phrases;
    this.shared = shared;
  }

  #changed() {
    this.#redraws.request();
  }

  byId(id: string | null | undefined): Message | undefined {
    return id ? this.#byServerId.get(id) : undefined;
  }

  /** Cursor of the messages before the first one. null: there are none. */
  earlier: string | null = null;
  /** The message after which messages are not loaded, because the user opened an older one. */
  gap: { key: string; cursor: string } | null = null;

  /** Counts active and ended facts, but no retracted ones. */
  counts(): { active: number; ended: number } {
    const counts = { active: 0, ended: 0 };
    for (const { status } of this.facts.values()) if (status !== "retracted") counts[status] += 1;
    return counts;
  }

  load(session: NonNullable<SnapshotResult["session"]>, moreFacts: readonly FactRow[] = []): void {
    const unsent = [...this.messages.values()].filter((m) => m.stage === "sending" || m.stage === "unsent");
    this.messages.clear();
    this.#byServerId.clear();
    this.facts.clear();
    this.gap = null;
    for (const row of [...session.facts.nodes, ...moreFacts].sort((a, b) => a.updatedAt.localeCompare(b.updatedAt))) this.#fact(row);
    for (const row of session.messages.nodes) this.#messageRow(row);
    // The server has stored every message of the snapshot, even if its answer or event has not arrived here.
    for (const message of unsent) if (!this.messages.has(message.key)) this.messages.set(message.key, message);
    this.#setEarlier(session.messages.pageInfo);
  }

  /** The newest messages and facts that the server has confirmed. A retracted fact may have been forgotten, so it is left out, also as a rival. */
  snapshot(maxMessages: number, maxFacts: number): Snapshot {
    const messages = this.#splitAtGap()[1].filter((m) => m.id !== null && m.stage !== "streaming").slice(-maxMessages).map((m) => ({ ...m, asking: false, forgetting: null }));
    const isRetracted = (id: string) => this.facts.get(id)?.status === "retracted";
    const present = [...this.facts.values()].filter(({ id }) => !isRetracted(id)).sort((a, b) => a.order - b.order).slice(-maxFacts);
    const facts = present.map((fact) => ({ ...fact, rivals: fact.rivals.filter(({ factId }) => !isRetracted(factId)) }));
    const sides = new Set(facts.flatMap((fact) => [fact.subject, fact.object]));
    return { messages, facts, entities: [...this.entities.values()].filter(({ id }) => sides.has(id)) };
  }

  restore({ messages, facts, entities }: Snapshot): void {
    for (const entity of entities) this.entities.set(entity.id, entity);
    for (const fact of facts) this.facts.set(fact.id, { ...fact, order: ++this.#order, pulse: NO_PULSE });
    for (const message of messages) this.#put(message);
    this.#changed();
  }

  #setEarlier(page: Around["older"]["pageInfo"]) {
    this.earlier = page.hasPreviousPage ? page.startCursor : null;
    this.#changed();
  }

  /** Inserts a page of older messages at the start. */
  loadEarlier(page: NonNullable<SnapshotResult["session"]>["messages"]): void {
    const here = [...this.messages.values()];
    this.messages.clear();
    for (const row of page.nodes) this.#messageRow(row);
    for (const message of here) if (!this.messages.has(message.key)) this.messages.set(message.key, message);
    this.#setEarlier(page.pageInfo);
  }

  /** Inserts an older message and its neighbours before the newest messages. Removes those of a previous call. */
  loadAround(rows: readonly MessageRow[], older: Around["older"]["pageInfo"], newer: Around["newer"]["pageInfo"]): void {
    const [before, newest] = this.#splitAtGap();
    for (const { id } of this.gap ? before : []) if (id) this.#byServerId.delete(id);
    this.messages.clear();
    this.#join([], rows, newest, newer);
    this.#setEarlier(older);
  }

  /** Inserts a page of messages into the gap. */
  loadLater(page: NonNullable<LaterResult["session"]>["messages"]): void {
    const [before, newest] = this.#splitAtGap();
    this.messages.clear();
    this.#join(before, page.nodes, newest, page.pageInfo);
    this.#changed();
  }

  /** Returns the messages before and after the gap. Without a gap, all are after it. */
  #splitAtGap(): [Message[], Message[]] {
    const all = [...this.messages.values()];
    const at = this.gap ? all.findIndex((m) => m.key === this.gap?.key) + 1 : 0;
    return [all.slice(0, at), all.slice(at)];
  }

  /** Rebuilds the messages from both sides of the gap and a new page, and updates the gap. */
  #join(before: readonly Message[], rows: readonly MessageRow[], newest: readonly Message[], page: Around["newer"]["pageInfo"]) {
    const loaded = new Set(newest.map((m) => m.id));
    for (const message of before) this.messages.set(message.key, message);
    const missing = rows.filter((row) => !loaded.has(row.id));
    for (const row of missing) this.#messageRow(row);
    for (const message of newest) this.messages.set(message.key, message);
    const last = missing.at(-1);
    const complete = missing.length < rows.length || !page.hasNextPage || !page.endCursor || !last;
    this.gap = complete ? null : { key: keyOf(last), cursor: page.endCursor ?? "" };
  }

  /** Shows that the user retracted a fact, before the event arrives. */
  markRetracted(id: string): void {
    const fact = this.facts.get(id);
    if (fact) this.facts.set(id, { ...fact, status: "retracted" });
    this.#changed();
  }

  /** Sets how what a reply has forgotten can be undone. null: it cannot be, or is undone. */
  setForgetting(replyId: string, forgetting: Forgetting | null, isUndone = false): void {
    const reply = this.byId(replyId);
    if (!reply || (reply.isUndone === isUndone && reply.forgetting?.token === forgetting?.token && reply.forgetting?.undoUntil === forgetting?.undoUntil)) return;
    this.#edit(reply, { forgetting, isUndone });
    this.#changed();
  }

  #entity(row: FactRow["subject"]): string {
    this.entities.set(row.id, { id: row.id, name: row.name, type: lower(row.type), mentionCount: row.mentionCount, isViewer: row.isViewer });
    return row.id;
  }

  #fact(row: FactRow) {
    this.facts.set(row.id, this.toFact(row, ++this.#order));
  }

  /** Converts a GraphQL fact without adding it to the session. Keeps the fields that only events contain. */
  toFact(row: FactRow, order = 0): Fact {
    const known = this.facts.get(row.id);
    return {
      id: row.id, subject: this.#entity(row.subject), object: this.#entity(row.object ?? row.subject), value: valueText(row.value),
      relation: row.relation, phrase: this.#phrases.get(row.relation) ?? phraseFromName(row.relation),
      weight: row.weight, belief: row.belief, uncertainty: row.uncertainty, relativeWeight: row.relativeWeight, status: lower(row.status), shared: row.shared,
      statedAt: row.statedAt,
      rivals: known?.rivals ?? [], excerpt: known?.excerpt ?? null, change: known?.change ?? null,
      order: known?.order ?? order, pulse: known?.pulse ?? NO_PULSE,
    };
  }

  #messageRow(row: MessageRow) {
    this.#put({
      ...blankMessage(keyOf(row), row.text), id: row.id, role: lower(row.role), speaker: row.speaker, sentAt: row.sentAt, remembered: row.remembered,
      stage: row.status === "PROCESSED" ? "processed" : row.status === "FAILED" ? "failed" : "stored",
      kind: row.kind && lower(row.kind), answerTo: row.answerTo?.id ?? null, forgetting: row.forgetting, isUndone: row.forgettingUndoneAt !== null,
      mentions: row.mentions.map((m) => ({ entityId: m.entity.id, name: m.entity.name, type: lower(m.entity.type), start: m.start, end: m.end })),
      citations: row.citations.map(citationOfRow), nearest: row.nearest.map(citationOfRow),
      learned: new Map(row.evidence.map(({ fact, stance }) => [fact.id, this.#changeOf(fact.id, stance, row.sentAt)])),
    });
  }

  /** Derives how a message changed a fact. The first supporting message added it; later ones reinforced it. */
  #changeOf(factId: string, stance: MessageRow["evidence"][number]["stance"], sentAt: string): Change {
    if (stance !== "SUPPORTS") return stance === "ENDS" ? "ended" : "opposed";
    const first = this.facts.get(factId)?.statedAt;
    return first && Date.parse(sentAt) > Date.parse(first) ? "reinforced" : "added";
  }

  #put(message: Message): Message {
    this.messages.set(message.key, message);
    if (message.id) this.#byServerId.set(message.id, message);
    return message;
  }

  #edit(message: Message, change: Partial<Message>): Message {
    return this.#put({ ...message, ...change });
  }

  /** Adds a message that is being sent. */
  startSending(clientId: string, text: string): void {
    this.#edit(this.messages.get(clientId) ?? blankMessage(clientId, text), { stage: "sending", problem: null });
    this.#sendStartedAt.set(clientId, performance.now());
    this.#changed();
  }

  /** Records that the server stored the message. Its event may have arrived before. */
  markSent(clientId: string, id: string): void {
    const message = this.messages.get(clientId);
    if (!message) return;
    this.#edit(message, { id, stage: message.stage === "sending" || message.stage === "unsent" ? "stored" : message.stage });
    this.#changed();
  }

  markSendFailed(clientId: string, problem: string, final: boolean): void {
    const message = this.messages.get(clientId);
    if (!message || message.id) return;
    this.#edit(message, { stage: final ? "failed" : "unsent", problem });
    this.#changed();
  }

  /** Restarts the delays of replay animations when a new link opens. */
  startReplay(): void {
    this.#replayed = 0;
  }

  #pulse(old: Pulse | undefined, kind: Pulse["kind"], meta: EventMeta | null): Pulse {
    const delay = meta?.replayed ? Math.min(REPLAY_MAX_MS, this.#replayed++ * REPLAY_STEP_MS) : 0;
    return { count: (old?.count ?? 0) + 1, delay, at: performance.now(), kind };
  }

  apply(event: RecallEvent, meta: EventMeta | null): void {
    switch (event.type) {
      case "message_stored": this.#applyStored(event); break;
      case "message_processed": this.#applyProcessed(event, meta); break;
      case "message_failed": this.#markFailed(event.message_id, `The message could not be processed (${event.code}).`); break;
      case "entity_update": {
        const { entity_id: id, name, entity_type: type, mention_count: mentionCount, is_viewer: isViewer } = event;
        this.entities.set(id, { id, name, type, mentionCount, isViewer });
        if (event.change === "merged" && event.merged_id) this.entities.delete(event.merged_id);
        break;
      }
      case "fact_update": this.#applyFact(event, meta); break;
      case "message_forgotten":
        for (const id of event.message_ids) {
          const message = this.byId(id);
          if (message) this.messages.delete(message.key);
        }
        break;
      case "answer_delta": this.#applyDelta(event); break;
      case "context_ready":
        for (const { fact_id } of event.facts) {
          const fact = this.facts.get(fact_id);
          if (fact) this.facts.set(fact_id, { ...fact, pulse: this.#pulse(fact.pulse, "recalled", meta) });
        }
        break;
      case "answer_completed": this.#applyAnswer(event); break;
      case "answer_failed": this.#applyAnswerFailed(event); break;
    }
    this.#changed();
  }

  #applyStored(event: EventOf<"message_stored">) {
    const own = this.byId(event.message_id) ?? (event.client_message_id ? this.messages.get(event.client_message_id) : undefined);
    const streamed = event.answer_to ? this.messages.get(streamKey(event.answer_to)) : undefined;
    const message = own ?? streamed ?? blankMessage(event.client_message_id ?? event.message_id, event.text);
    const stage = event.status === "processed" ? "processed" : "stored";
    this.#edit(message, {
      id: event.message_id, role: event.role, speaker: event.speaker ?? null, text: event.text, sentAt: event.sent_at, answerTo: event.answer_to ?? null,
      remembered: event.remembered ?? true,
      stage: message.stage === "processed" ? "processed" : stage, problem: null,
    });
    this.#stopAsking(event.answer_to);
  }

  #stopAsking(questionId: string | null | undefined) {
    const question = this.byId(questionId);
    if (question?.asking) this.#edit(question, { asking: false });
  }

  #applyProcessed(event: EventOf<"message_processed">, meta: EventMeta | null) {
    const message = this.byId(event.message_id);
    if (!message) return;
    const answered = [...this.messages.values()].some((m) => m.answerTo === event.message_id);
    this.#edit(message, {
      stage: "processed", kind: event.kind,
      mentions: event.mentions.map((m) => ({ entityId: m.entity_id, name: m.name, type: m.entity_type, start: m.start, end: m.end })),
      asking: !answered && !this.#unanswered.has(event.message_id) && (event.kind === "question" || event.kind === "mixed"),
      roundTripMs: this.#roundTripOf(message, meta),
    });
  }

  /** Milliseconds since Send. Replayed events do not count, because they arrive late. */
  #roundTripOf(message: Message, meta: EventMeta | null): number | null {
    const started = this.#sendStartedAt.get(message.key);
    this.#sendStartedAt.delete(message.key);
    return started === undefined || meta?.replayed ? message.roundTripMs : performance.now() - started;
  }

  #markFailed(id: string, problem: string) {
    const message = this.byId(id);
    if (message) this.#edit(message, { stage: "failed", asking: false, problem });
  }

  /** Removes the streamed part of the answer: it must not look like a complete answer. */
  #applyAnswerFailed(event: EventOf<"answer_failed">) {
    this.#unanswered.add(event.message_id);
    this.messages.delete(streamKey(event.message_id));
    const question = this.byId(event.message_id);
    if (question && event.code === "CANCELLED") this.#edit(question, { asking: false, problem: event.message });
    else this.#markFailed(event.message_id, event.message);
  }

  #applyFact(event: EventOf<"fact_update">, meta: EventMeta | null) {
    if (event.change === "removed") {
      this.facts.delete(event.fact_id);
      return;
    }
    const known = this.facts.get(event.fact_id);
    // Entities that only other sessions mention have no event in this session.
    for (const [id, name, type] of [[event.entity_id, event.entity, event.entity_type], [event.target_id, event.target, event.target_type]] as const) {
      if (id && !this.entities.has(id)) this.entities.set(id, { id, name, type: type ?? "thing", mentionCount: 1, isViewer: false });
    }
    const faded = event.change === "ended" || event.change === "opposed" || event.change === "retracted";
    this.facts.set(event.fact_id, {
      id: event.fact_id, subject: event.entity_id, object: event.target_id ?? event.entity_id, value: valueText(event.value), relation: event.relation_name, phrase: event.relation,
      weight: event.weight, belief: event.belief, uncertainty: event.uncertainty, relativeWeight: event.relative_weight, status: event.status, shared: this.shared,
      statedAt: known?.statedAt ?? null,
      rivals: (event.rivals ?? []).map((r) => ({ factId: r.fact_id, target: r.target, share: r.relative_weight })),
      excerpt: event.excerpt ?? known?.excerpt ?? null, change: event.change,
      order: ++this.#order, pulse: this.#pulse(known?.pulse, faded ? "faded" : "learned", meta),
    });
    const message = this.byId(event.message_id);
    if (message) this.#edit(message, { learned: new Map(message.learned).set(event.fact_id, event.change), roundTripMs: this.#roundTripOf(message, meta) });
  }

  #applyDelta(event: EventOf<"answer_delta">) {
    // Ignore late deltas of an answer that is complete or failed.
    if (this.#unanswered.has(event.answer_to)) return;
    if ([...this.messages.values()].some((m) => m.answerTo === event.answer_to && m.stage !== "streaming")) return;
    const key = streamKey(event.answer_to);
    const message = this.messages.get(key) ?? { ...blankMessage(key, ""), role: "assistant", stage: "streaming", answerTo: event.answer_to };
    this.#edit(message, { text: message.text + event.text });
    this.#stopAsking(event.answer_to);
  }

  #citationOfEvent(c: EventOf<"answer_completed">["citations"][number]): CitationView {
    return {
      index: c.index, messageId: c.message_id ?? null, factId: c.fact_id ?? null, excerpt: c.excerpt, sentAt: this.byId(c.message_id)?.sentAt ?? null, shared: c.shared ?? false,
      passage: c.chunk ? { chunkId: c.chunk.chunk_id, documentId: c.chunk.document_id, filename: c.chunk.filename, pages: c.chunk.pages ?? null } : null,
    };
  }

  #applyAnswer(event: EventOf<"answer_completed">) {
    this.#stopAsking(event.answer_to);
    const message = this.byId(event.message_id) ?? this.messages.get(streamKey(event.answer_to));
    if (!message) return;
    this.#edit(message, {
      text: event.text, stage: "processed",
      citations: event.citations.map((c) => this.#citationOfEvent(c)), nearest: (event.nearest ?? []).map((c) => this.#citationOfEvent(c)),
      answerer: { name: event.answerer, totalMs: event.timings.total_ms, grounded: event.grounded },
      forgetting: event.forgetting ? { token: event.forgetting.token, undoUntil: event.forgetting.undo_until } : null,
    });
  }
}

const keyOf = (row: MessageRow) => row.externalId ?? row.id;
const streamKey = (questionId: string) => `answer:${questionId}`;

const citationOfRow = (c: MessageRow["citations"][number]): CitationView => ({
  index: c.index, messageId: c.message?.id ?? null, factId: c.fact?.id ?? null, excerpt: c.excerpt, sentAt: c.message?.sentAt ?? null, shared: c.shared,
  passage: c.chunk && c.document ? { chunkId: c.chunk.id, documentId: c.document.id, filename: c.document.filename, pages: c.pages } : null,
});

const blankMessage = (key: string, text: string): Message => ({
  key, id: null, role: "user", speaker: null, text, sentAt: new Date().toISOString(), stage: "sending", kind: null, mentions: [], citations: [], nearest: [],
  answerTo: null, forgetting: null, isUndone: false, learned: new Map(), roundTripMs: null, asking: false, remembered: true, answerer: null, problem: null,
});
