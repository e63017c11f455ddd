/**
 * The content of an event.
 */
export type NumberedEvent = MessageStored | MessageProcessed | MessageFailed | EntityUpdate | FactUpdate | AnswerCompleted | AnswerFailed;
/**
 * One turn of a conversation.
 */
export type MessageId = string;
/**
 * One entity that a user talks about.
 */
export type EntityId = string;
/**
 * The type of an entity.
 */
export type EntityType = "person" | "organization" | "place" | "project" | "tool" | "concept" | "event" | "thing";
/**
 * A piece of user text. `Debug` is redacted and there is no `Display`; call [`UserText::as_str`] to show it on purpose.
 */
export type UserText = string;
/**
 * One fact.
 */
export type FactId = string;
/**
 * A message was stored.
 */
export interface MessageStored {
    type: "message_stored";
    /**
     * The question that this message answers.
     */
    answer_to?: MessageId | null;
    /**
     * The client's id of the message.
     */
    client_message_id?: string | null;
    /**
     * When it was stored.
     */
    created_at: string;
    /**
     * One turn of a conversation.
     */
    message_id: string;
    /**
     * Who wrote it.
     */
    role: "user" | "assistant";
    /**
     * When it was said.
     */
    sent_at: string;
    /**
     * The session.
     */
    session_id: string;
    /**
     * The speaker, if not the user.
     */
    speaker?: string | null;
    /**
     * `processing`, or `processed` for messages without extraction of facts.
     */
    status: "processing" | "processed" | "failed";
    /**
     * The text.
     */
    text: string;
}
/**
 * The facts of a message are stored.
 */
export interface MessageProcessed {
    type: "message_processed";
    /**
     * Number of entities that it mentions.
     */
    entities: number;
    /**
     * Number of facts that it changed.
     */
    facts: number;
    /**
     * The kind of the message.
     */
    kind: "statement" | "question" | "mixed" | "other";
    /**
     * Positions of the mentions.
     */
    mentions: EventMention[];
    /**
     * One turn of a conversation.
     */
    message_id: string;
    /**
     * The session.
     */
    session_id: string;
}
/**
 * A mention of an entity, positioned in Unicode code points of the text.
 */
export interface EventMention {
    /**
     * One past the last code point.
     */
    end: number;
    /**
     * The entity.
     */
    entity_id: string;
    /**
     * Its type.
     */
    entity_type: "person" | "organization" | "place" | "project" | "tool" | "concept" | "event" | "thing";
    /**
     * Its name.
     */
    name: string;
    /**
     * First code point.
     */
    start: number;
}
/**
 * The facts of a message could not be extracted.
 */
export interface MessageFailed {
    type: "message_failed";
    /**
     * Number of attempts.
     */
    attempts: number;
    /**
     * A stable code.
     */
    code: string;
    /**
     * One turn of a conversation.
     */
    message_id: string;
    /**
     * The session.
     */
    session_id: string;
}
/**
 * An entity was mentioned or changed.
 */
export interface EntityUpdate {
    type: "entity_update";
    /**
     * The change.
     */
    change: "added" | "mentioned" | "renamed" | "merged" | "unmerged" | "restored";
    /**
     * The entity.
     */
    entity_id: string;
    /**
     * Its type.
     */
    entity_type: "person" | "organization" | "place" | "project" | "tool" | "concept" | "event" | "thing";
    /**
     * Whether it stands for the user.
     */
    is_viewer: boolean;
    /**
     * Number of messages that mention it.
     */
    mention_count: number;
    /**
     * For `merged`: the entity that was merged away. For `unmerged`: the entity that was restored.
     */
    merged_id?: EntityId | null;
    /**
     * The message that caused it.
     */
    message_id?: MessageId | null;
    /**
     * Its present name.
     */
    name: string;
    /**
     * The session.
     */
    session_id: string;
}
/**
 * A fact changed.
 */
export interface FactUpdate {
    type: "fact_update";
    /**
     * Expected probability that the fact holds, 0 to 1.
     */
    belief: number;
    /**
     * The change.
     */
    change: "added" | "reinforced" | "opposed" | "ended" | "retracted" | "restored" | "revised" | "removed";
    /**
     * Name of its subject.
     */
    entity: string;
    /**
     * One entity that a user talks about.
     */
    entity_id: string;
    /**
     * Type of its subject; absent in events of older servers.
     */
    entity_type?: EntityType | null;
    /**
     * The words that state it.
     */
    excerpt?: UserText | null;
    /**
     * The fact.
     */
    fact_id: string;
    /**
     * Whether all its support has low confidence.
     */
    flagged: boolean;
    /**
     * The message that caused it.
     */
    message_id?: MessageId | null;
    /**
     * The relation's phrase: "likes".
     */
    relation: string;
    /**
     * The relation's name in the ontology: `LIKES`.
     */
    relation_name: string;
    /**
     * Share of the support among its rivals and itself, 0 to 1.
     */
    relative_weight: number;
    /**
     * Rivals that have support.
     */
    rivals: RivalFact[];
    /**
     * The session.
     */
    session_id: string;
    /**
     * Its status.
     */
    status: "active" | "ended" | "retracted";
    /**
     * Name of its object.
     */
    target: string;
    /**
     * One entity that a user talks about.
     */
    target_id: string;
    /**
     * Type of its object; absent in events of older servers.
     */
    target_type?: EntityType | null;
    /**
     * Uncertainty, 0 to 1.
     */
    uncertainty: number;
    /**
     * Present discounted support.
     */
    weight: number;
}
/**
 * A fact that contradicts another one.
 */
export interface RivalFact {
    /**
     * The rival.
     */
    fact_id: string;
    /**
     * The relation's phrase.
     */
    relation: string;
    /**
     * Its share of the support, 0 to 1.
     */
    relative_weight: number;
    /**
     * Name of its object.
     */
    target: string;
}
/**
 * A question was answered.
 */
export interface AnswerCompleted {
    type: "answer_completed";
    /**
     * One turn of a conversation.
     */
    answer_to: string;
    /**
     * The answerer: `extractive`, or a model's name.
     */
    answerer: string;
    /**
     * The sources of the marks.
     */
    citations: Citation[];
    /**
     * Whether stored knowledge supports it. `false` means that the answer is not known.
     */
    grounded: boolean;
    /**
     * One turn of a conversation.
     */
    message_id: string;
    /**
     * The session.
     */
    session_id: string;
    /**
     * A piece of user text. `Debug` is redacted and there is no `Display`; call [`UserText::as_str`] to show it on purpose.
     */
    text: string;
    timings: Timings;
}
/**
 * The source behind one numbered mark of an answer.
 */
export interface Citation {
    /**
     * A piece of user text. `Debug` is redacted and there is no `Display`; call [`UserText::as_str`] to show it on purpose.
     */
    excerpt: string;
    /**
     * The fact that the answer used, if any. The message is evidence for it.
     */
    fact_id?: FactId | null;
    /**
     * The number in the text, from 1.
     */
    index: number;
    /**
     * The message cited.
     */
    message_id?: MessageId | null;
    /**
     * Whether both belong to shared memory.
     */
    shared?: boolean;
}
/**
 * Duration of retrieval.
 */
export interface Timings {
    /**
     * Embedding the question.
     */
    embed_ms: number;
    /**
     * Looking up facts.
     */
    graph_ms: number;
    /**
     * Searching by words.
     */
    keyword_ms: number;
    /**
     * In total.
     */
    total_ms: number;
    /**
     * Searching by meaning.
     */
    vector_ms: number;
}
/**
 * A question could not be answered.
 */
export interface AnswerFailed {
    type: "answer_failed";
    /**
     * A stable code.
     */
    code: string;
    /**
     * A sentence for people.
     */
    message: string;
    /**
     * One turn of a conversation.
     */
    message_id: string;
    /**
     * The session.
     */
    session_id: string;
}
