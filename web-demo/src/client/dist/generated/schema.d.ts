/** An instant as RFC 3339 text. */
export type DateTime = string;
/** A personal access token, which scripts and agents send instead of a login. */
export interface AccessToken {
    /** The id, a UUID. */
    id: string;
    /** The name that the viewer gave it. */
    name: string;
    /** The scopes that it grants: `recall.read`, `recall.write`. */
    scopes: string[];
    /** When it was created. */
    createdAt: DateTime;
    /** When it expires. */
    expiresAt: DateTime;
    /** When it was last used, to the minute; null if never. */
    lastUsedAt: DateTime | null;
}
/** A fact that the viewer states directly. */
export interface AssertFactInput {
    /** The session that receives the evidence and the events. A session of shared memory makes the fact a shared one. */
    sessionId: string;
    /** The name of the entity that the fact is about. */
    subject: string;
    /** A relation of the ontology, such as `LIVES_IN`. */
    relation: string;
    /** The name of the entity at the other end of the relation. */
    object: string;
    /** The type of the subject, used if the entity is new. */
    subjectType?: EntityType | null;
    /** The type of the object, used if the entity is new. */
    objectType?: EntityType | null;
}
/** The result of `assertFact`. */
export interface AssertFactPayload {
    /** The fact after the change. */
    fact: Fact | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** An entry of the audit log. It contains no user text and no secrets. */
export interface AuditEntry {
    /** The id, a number that grows with every entry. */
    id: string;
    /** When it happened. */
    at: DateTime;
    /** The user who acted; null for an operator at the command line and for the server itself. The user's data may have been deleted since. */
    actorId: string | null;
    /** What was done, as a stable code such as `data.deleted`. */
    action: string;
    /** The object of the action: an id or the name of a field. */
    target: string | null;
    /** The IP address of the client. */
    address: string | null;
    /** The server process that handled the action. */
    instance: string;
}
/** A page of the audit log. */
export interface AuditEntryConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: AuditEntryEdge[];
    /** A list of nodes. */
    nodes: AuditEntry[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface AuditEntryEdge {
    /** The item at the end of the edge */
    node: AuditEntry;
    /** A cursor for use in pagination */
    cursor: string;
}
/** The question whose answer is to be cancelled. */
export interface CancelAnswerInput {
    /** The message that asks the question. */
    messageId: string;
}
/** The result of `cancelAnswer`. */
export interface CancelAnswerPayload {
    /** The message that asks the question. */
    message: Message | null;
    /** Whether an answer was cancelled. A finished answer stays. */
    cancelled: boolean;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A source of an answer, with its number in the text. */
export interface Citation {
    /** The number in the text, from 1. */
    index: number;
    /** Whether the source belongs to shared memory, which all signed-in users can read. */
    shared: boolean;
    /** The cited message; null if it has been deleted since. */
    message: Message | null;
    /** The fact that the message is evidence for, if the answer used one. */
    fact: Fact | null;
    /** The cited words. */
    excerpt: string;
}
/** An entity that active facts connect to two others. */
export interface CommonNeighbour {
    /** The entity. */
    entity: Entity;
    /** The strongest fact to each of the two entities, in the order of the arguments. */
    facts: Fact[];
}
/** The messages, facts and entities found for a question. */
export interface Context {
    /** Matching messages, best first. */
    messages: RankedMessage[];
    /** Matching facts, best first. */
    facts: RankedFact[];
    /** Entities that the question names. */
    entities: Entity[];
    /** Retrieval methods that contributed results. */
    methodsUsed: RetrievalMethod[];
    /** The time that each step took. */
    timings: RetrievalTimings;
}
/** A question, and where to search. */
export interface ContextInput {
    /** The question. */
    query: string;
    /** The session to search. Required if `scope` is `SESSION`. */
    sessionId?: string | null;
    /** Whether to search all of the viewer's sessions or one. */
    scope?: ContextScope | null;
    /** The largest number of messages, 1 to 100. */
    first?: number | null;
    /** The retrieval methods to use. Default: all. */
    methods?: RetrievalMethod[] | null;
    /** Use only messages sent, and facts that were known and held, at this time. Default: now. */
    asOf?: DateTime | null;
    /** Whether to search shared memory too. Has no effect for visitors or if `scope` is `SESSION`. */
    shared?: boolean | null;
}
/** The part of the memory that is searched. */
export type ContextScope = "USER" | "SESSION";
/** A new personal access token. */
export interface CreateAccessTokenInput {
    /** The name, 1 to 100 characters. */
    name: string;
    /** The scopes: `recall.read`, `recall.write`. They cannot exceed those of the login that creates the token. */
    scopes: string[];
    /** The lifetime in days, 1 to 366. Default: 90. */
    expiresInDays?: number | null;
}
/** The result of `createAccessToken`. */
export interface CreateAccessTokenPayload {
    /** The new token. */
    accessToken: AccessToken | null;
    /** The secret to send as `Authorization: Bearer …`. The server returns it only once and does not store it. */
    secret: string | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A new session. */
export interface CreateSessionInput {
    /** The title. Default: taken from the first message. */
    title?: string | null;
    /** Whether to create it in shared memory, which all signed-in users can read. Requires the role `ADMIN`. */
    shared?: boolean;
}
/** The result of `createSession`. */
export interface CreateSessionPayload {
    /** The new session. */
    session: Session | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** The number of deleted rows or objects of one kind. */
export interface DeletedRows {
    /** The engine: the database (`sqlite`, `postgres`) or the graph engine (`neo4j`). */
    engine: string;
    /** The kind: a table of the database, or `nodes` or `relationships` of the graph engine. */
    kind: string;
    /** The number deleted. */
    count: number;
}
/** The confirmation that all data is to be deleted. */
export interface DeleteMyDataInput {
    /** The word `DELETE`, which prevents accidents. */
    confirm: string;
}
/** The result of `deleteMyData`. */
export interface DeleteMyDataPayload {
    /** What was deleted. */
    receipt: DeletionReceipt | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** The session to delete. */
export interface DeleteSessionInput {
    /** The id of the session. */
    id: string;
}
/** The result of `deleteSession`. */
export interface DeleteSessionPayload {
    /** The id of the deleted session. */
    deletedId: string | null;
    /** What was deleted. A very large session may take longer than ten seconds: the receipt then covers what was deleted so far, and the rest follows in the background. */
    receipt: SessionReceipt | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** The receipt for the deletion of all of a user's data. */
export interface DeletionReceipt {
    /** When the deletion started; null if there was nothing to delete. */
    begunAt: DateTime | null;
    /** When the deletion finished; null while it is running. */
    endedAt: DateTime | null;
    /** What has been deleted so far. Kinds without rows are left out. */
    deleted: DeletedRows[];
    /** Copies that still hold data, such as `neo4j`. The server deletes it there in the background. */
    pending: string[];
}
/** A person, organization, place or thing in the memory, distinct from others of the same name. */
export interface Entity {
    /** The id, a UUID. */
    id: string;
    /** The name, as first written or as renamed. */
    name: string;
    /** The type. */
    type: EntityType;
    /** Other names of the same entity. */
    aliases: string[];
    /** A short description from the messages, such as "manager". */
    description: string | null;
    /** The number of messages that mention it. */
    mentionCount: number;
    /** The highest confidence with which a mention was recognized, 0 to 1. */
    confidence: number;
    /** Whether this entity represents the user. */
    isViewer: boolean;
    /** Whether it belongs to shared memory, which all signed-in users can read. */
    shared: boolean;
    /** When it was first mentioned. */
    createdAt: DateTime;
    /** When it last changed. */
    updatedAt: DateTime;
    /** Entities that were merged into this one and can be separated again with `unmergeEntities`; latest first. */
    merged: MergedEntity[];
    /** Facts with this entity as subject or object, latest change first. */
    facts: FactConnection;
    /** Entities that active facts connect to this one, in either direction. Nearest first, then by the weight of the connecting fact. */
    neighbours: Neighbour[];
    /** Messages that mention this entity, latest first. */
    mentions: MessageConnection;
}
/** An entity that a name may refer to. */
export interface EntityCandidate {
    /** The entity. */
    entity: Entity;
    /** How well it matches, 0 to 1. */
    confidence: number;
    /** The reason, for people, such as "given name of a known full name, spoken of in this session". */
    reason: string;
}
/** A page of entities. */
export interface EntityConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: EntityEdge[];
    /** A list of nodes. */
    nodes: Entity[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface EntityEdge {
    /** The item at the end of the edge */
    node: Entity;
    /** A cursor for use in pagination */
    cursor: string;
}
/** Conditions on entities. All given conditions must hold. */
export interface EntityFilter {
    /** The entity has this type. */
    type?: EntityType | null;
    /** The name or an alias contains this text, ignoring case. */
    text?: string | null;
    /** A message of this session mentions the entity. */
    sessionId?: string | null;
}
/** The entity that a name refers to, with the candidates. */
export interface EntityResolution {
    /** The entity; null if no candidate is certain enough. */
    entity: Entity | null;
    /** The entity's name. */
    canonicalForm: string | null;
    /** Confidence in the choice, 0 to 1; 0 if nothing was found. */
    confidence: number;
    /** The possible entities, best first; at most 20. */
    candidates: EntityCandidate[];
}
/** The type of an entity. */
export type EntityType = "PERSON" | "ORGANIZATION" | "PLACE" | "PROJECT" | "TOOL" | "CONCEPT" | "EVENT" | "THING";
/** An entry of a session's event log. */
export interface Event {
    /** The number within the session, from 1, without gaps. Ephemeral events (`answer_delta`, `context_ready`) are not numbered: they repeat the last number. A `gap` has the number of the last event that it replaces. */
    seq: number;
    /** The cursor of this event. To resume after it, pass it as `after`. */
    cursor: string;
    /** The type, such as `message_stored` or `fact_update`. `gap` means that events could not be delivered: fetch the current state, then continue from here. */
    type: string;
    /** When it was recorded. */
    createdAt: DateTime;
    /** The content of the event, as defined in `schema.events.json`. A `gap` has `from`, `to` and `reason`. */
    data: unknown;
}
/** The statement of one message about one fact. */
export interface Evidence {
    /** The message. */
    message: Message;
    /** Whether the message supports, opposes or ends the fact. */
    stance: EvidenceStance;
    /** The confidence of the extraction, 0 to 1. */
    confidence: number;
    /** The part of the message that states it. */
    excerpt: string | null;
    /** When the message was said. */
    createdAt: DateTime;
}
/** A page of evidence. */
export interface EvidenceConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: EvidenceEdge[];
    /** A list of nodes. */
    nodes: Evidence[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface EvidenceEdge {
    /** The item at the end of the edge */
    node: Evidence;
    /** A cursor for use in pagination */
    cursor: string;
}
/** The effect of a message on a fact. */
export type EvidenceStance = "SUPPORTS" | "OPPOSES" | "ENDS";
/** A fact: subject, relation and object, with the evidence for and against it. */
export interface Fact {
    /** The id, a UUID. */
    id: string;
    /** The entity that the fact is about. */
    subject: Entity;
    /** The name of the relation in the ontology, such as `LIVES_IN`. */
    relation: string;
    /** The relation in words, such as "lives in". */
    phrase: string;
    /** The entity at the other end of the relation. */
    object: Entity;
    /** Whether it belongs to shared memory, which all signed-in users can read. Only evidence in shared memory counts for it. */
    shared: boolean;
    /** The support at the time of the request. Each statement adds its confidence, which halves with every half-life of the relation. */
    weight: number;
    /** The estimated probability that the fact holds, 0 to 1. */
    belief: number;
    /** How little evidence there is, 0 to 1. */
    uncertainty: number;
    /** The fact's share of the total support of itself and its rivals, 0 to 1; 1 if nothing contradicts it. */
    relativeWeight: number;
    /** Whether the fact is active, ended or retracted. */
    status: FactStatus;
    /** Whether all its supporting evidence has low confidence. */
    flagged: boolean;
    /** The time from which the fact is known to hold. */
    validFrom: DateTime | null;
    /** When the fact ended. */
    validTo: DateTime | null;
    /** When the fact was first recorded. */
    createdAt: DateTime;
    /** When the fact last changed. */
    updatedAt: DateTime;
    /** The evidence for and against the fact, latest first. */
    evidence: EvidenceConnection;
    /** Active facts that contradict it: another object of a functional relation, or the opposite relation. */
    rivals: Fact[];
}
/** A page of facts. */
export interface FactConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: FactEdge[];
    /** A list of nodes. */
    nodes: Fact[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface FactEdge {
    /** The item at the end of the edge */
    node: Fact;
    /** A cursor for use in pagination */
    cursor: string;
}
/** Conditions on facts. All given conditions must hold. */
export interface FactFilter {
    /** The subject is this entity. */
    subjectId?: string | null;
    /** The object is this entity. */
    objectId?: string | null;
    /** The subject or the object is this entity. */
    entityId?: string | null;
    /** The fact uses this relation of the ontology, such as `LIVES_IN`. */
    relation?: string | null;
    /** The fact has this status. */
    status?: FactStatus | null;
    /** The fact has evidence in this session. */
    sessionId?: string | null;
    /** The belief was at least this high when the fact last changed, 0 to 1. */
    minBelief?: number | null;
    /** The fact was known and held at this time. */
    asOf?: DateTime | null;
    /** The name of the subject or object contains this text, ignoring case. */
    text?: string | null;
}
/** Whether a fact holds. */
export type FactStatus = "ACTIVE" | "ENDED" | "RETRACTED";
/** A STUN or TURN server. */
export interface IceServer {
    /** The addresses, such as `stun:stun.example.org:3478`. */
    urls: string[];
    /** The user name, for TURN. */
    username: string | null;
    /** The password, for TURN. */
    credential: string | null;
}
/** One message of an import. */
export interface ImportedMessage {
    /** Whether the user or the assistant wrote it. */
    role?: MessageRole | null;
    /** The speaker, if it is not the user. */
    speaker?: string | null;
    /** The text, up to 64 KiB. */
    text: string;
    /** When it was said. Default: now. */
    sentAt?: DateTime | null;
    /** The id in the source system. Importing the same id again into a session returns the first message. */
    externalId?: string | null;
}
/** Messages of a conversation that took place elsewhere. */
export interface ImportMessagesInput {
    /** The id of the session. */
    sessionId: string;
    /** The messages in order, up to 500. Either all are stored or none. */
    messages: ImportedMessage[];
}
/** The result of `importMessages`. */
export interface ImportMessagesPayload {
    /** The stored messages, in the order given. */
    messages: Message[];
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A place in a message where an entity is named. */
export interface Mention {
    /** The entity. */
    entity: Entity;
    /** Index of the first Unicode code point in the message text, from 0. */
    start: number;
    /** Index after the last code point. */
    end: number;
    /** The words in the text. */
    surface: string;
    /** Confidence that the words mean this entity, or that the entity is new, 0 to 1; null if not recorded. */
    score: number | null;
    /** The reason, for people, such as "same name, spoken of in this session"; null if not recorded. */
    reason: string | null;
}
/** An entity that was merged into another one. */
export interface MergedEntity {
    /** Its id. Queries for this id return the entity that it was merged into. */
    id: string;
    /** Its name. */
    name: string;
    /** When it was merged. */
    mergedAt: DateTime;
    /** Confidence that both are the same, 0 to 1. */
    score: number;
    /** The reason for the merge, for people. */
    reason: string;
}
/** Two entities that are the same. */
export interface MergeEntitiesInput {
    /** The id of the entity that stays. */
    intoId: string;
    /** The id of the entity that is merged into it with its names, facts and mentions. */
    fromId: string;
}
/** The result of `mergeEntities`. */
export interface MergeEntitiesPayload {
    /** The entity that stays. */
    entity: Entity | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A message: one turn of a conversation. */
export interface Message {
    /** The id, a UUID. */
    id: string;
    /** Who wrote it. */
    role: MessageRole;
    /** The speaker, if it is not the user. "I" in the text then means the speaker. */
    speaker: string | null;
    /** The text. */
    text: string;
    /** The kind; null until the message is processed. */
    kind: MessageKind | null;
    /** The processing state. */
    status: MessageStatus;
    /** When it was said, according to the client. Facts are dated with this time. */
    sentAt: DateTime;
    /** When it was stored. */
    createdAt: DateTime;
    /** JSON that the client stored with the message. */
    sourceMetadata: unknown | null;
    /** The client's own id, given as `clientMessageId` or `externalId`. */
    externalId: string | null;
    /** Whether it belongs to shared memory, which all signed-in users can read. */
    shared: boolean;
    /** The session that it belongs to. */
    session: Session;
    /** The answer to this question; null until it is written. */
    answer: Message | null;
    /** The question that this message answers. */
    answerTo: Message | null;
    /** The sources of an answer, in the order of the numbers in its text. */
    citations: Citation[];
    /** Tokens that model servers used to process and answer this message; null if none was called. */
    usage: TokenUsage | null;
    /** The entities that the message mentions, each once, in order of appearance. */
    entities: Entity[];
    /** The mentions of entities, in order of appearance. */
    mentions: Mention[];
    /** The facts that the message is evidence for or against. */
    facts: Fact[];
    /** The effect of the message on facts; each fact once. */
    evidence: MessageEvidence[];
    /** The cursor of the message in `Session.messages`, for `after` and `before`. */
    cursor: string;
}
/** A page of messages. */
export interface MessageConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: MessageEdge[];
    /** A list of nodes. */
    nodes: Message[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface MessageEdge {
    /** The item at the end of the edge */
    node: Message;
    /** A cursor for use in pagination */
    cursor: string;
}
/** The effect of a message on a fact. */
export interface MessageEvidence {
    /** The fact. */
    fact: Fact;
    /** Whether the message supports, opposes or ends the fact. */
    stance: EvidenceStance;
}
/** The kind of a message. */
export type MessageKind = "STATEMENT" | "QUESTION" | "MIXED" | "OTHER";
/** Who wrote a message. */
export type MessageRole = "USER" | "ASSISTANT";
/** The processing state of a message. */
export type MessageStatus = "PROCESSING" | "PROCESSED" | "FAILED";
/** The purpose of a request to a model server. */
export type ModelOperation = "EXTRACT" | "ANSWER";
/** An entity that active facts connect to another one. */
export interface Neighbour {
    /** The entity. */
    entity: Entity;
    /** The smallest number of facts between the two entities. */
    distance: number;
    /** The strongest fact that connects it to an entity one step nearer. */
    fact: Fact;
}
/** An object that can be read again by its id. */
export interface Node {
    /** The id, a UUID. */
    id: string;
}
/** A WebRTC offer for the events of a session. */
export interface OpenEventStreamInput {
    /** The id of the session. */
    sessionId: string;
    /** The session description (SDP) with one data channel. Create the channel `events` before the offer. */
    offer: string;
}
/** The result of `openEventStream`. */
export interface OpenEventStreamPayload {
    /** The id of the connection on this server. */
    peerId: string | null;
    /** The server's session description (SDP). */
    answer: string | null;
    /** The address for trickled candidates (`PATCH`) and for closing the connection (`DELETE`). */
    location: string | null;
    /** The entity tag that a `PATCH` must send in `If-Match`. */
    etag: string | null;
    /** STUN and TURN servers that the client can use. */
    iceServers: IceServer[];
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** Information about pagination in a connection */
export interface PageInfo {
    /** When paginating backwards, are there more items? */
    hasPreviousPage: boolean;
    /** When paginating forwards, are there more items? */
    hasNextPage: boolean;
    /** When paginating backwards, the cursor to continue. */
    startCursor: string | null;
    /** When paginating forwards, the cursor to continue. */
    endCursor: string | null;
}
/** A path between two entities over active facts in either direction. It visits no entity twice. */
export interface Path {
    /** The entities on the path, both ends included. */
    entities: Entity[];
    /** The facts between the entities, in order. */
    facts: Fact[];
}
/** A fact with its score. */
export interface RankedFact {
    /** The fact. */
    fact: Fact;
    /** Relevance, 0 to 1; comparable only within this result. */
    score: number;
    /** Whether it belongs to shared memory. Own and shared facts are listed next to each other, even if they agree or contradict. */
    shared: boolean;
}
/** A message with its score. */
export interface RankedMessage {
    /** The message. */
    message: Message;
    /** Relevance, 0 to 1; comparable only within this result. */
    score: number;
    /** Retrieval methods that found it. */
    methods: RetrievalMethod[];
    /** Whether it belongs to shared memory. */
    shared: boolean;
}
/** A relation of the ontology, which facts can use. */
export interface Relation {
    /** The name, in upper case with underscores. */
    name: string;
    /** The verb phrase in the third person singular, such as "lives in". */
    phrase: string;
    /** The meaning. */
    description: string;
    /** Whether "A relation B" also means "B relation A". */
    symmetric: boolean;
    /** Whether a subject has one object at a time. Facts with other objects are then rivals. */
    functional: boolean;
    /** The number of days after which support counts half, unless it is repeated. */
    halfLifeDays: number;
    /** The relation that states the opposite about the same pair. */
    opposite: string | null;
    /** Allowed types of the subject; empty means any. */
    subjectTypes: EntityType[];
    /** Allowed types of the object; empty means any. */
    objectTypes: EntityType[];
}
/** A new name for an entity. */
export interface RenameEntityInput {
    /** The id of the entity. */
    id: string;
    /** The new name. The old name becomes an alias. */
    name: string;
}
/** The result of `renameEntity`. */
export interface RenameEntityPayload {
    /** The renamed entity. */
    entity: Entity | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A name to resolve to an entity. */
export interface ResolveEntityInput {
    /** The name as written in a text, such as "my sister" or "Mary". */
    mention: string;
    /** The expected type of the entity. Default: any. */
    type?: EntityType | null;
    /** Prefer entities that this session mentions. A session of shared memory resolves the name there. */
    sessionId?: string | null;
}
/** The fact to retract. */
export interface RetractFactInput {
    /** The id of the fact. */
    id: string;
}
/** The result of `retractFact`. */
export interface RetractFactPayload {
    /** The retracted fact, which stays readable. */
    fact: Fact | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A retrieval method. */
export type RetrievalMethod = "VECTOR" | "KEYWORD" | "GRAPH";
/** The time spent on each step of retrieval, in milliseconds. */
export interface RetrievalTimings {
    /** Embedding the question. */
    embedMs: number;
    /** Vector search. */
    vectorMs: number;
    /** Keyword search. */
    keywordMs: number;
    /** Looking up facts about the entities that the question names. */
    graphMs: number;
    /** Total time. */
    totalMs: number;
}
/** The personal access token to revoke. */
export interface RevokeAccessTokenInput {
    /** The id of the token. */
    id: string;
}
/** The result of `revokeAccessToken`. */
export interface RevokeAccessTokenPayload {
    /** The id of the revoked token. */
    revokedId: string | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** The token of an identity provider to revoke. */
export interface RevokeTokenInput {
    /** The issuer, exactly as in the token's claim `iss`. */
    issuer: string;
    /** The id of the token, from its claim `jti`. */
    tokenId: string;
    /** When the token expires (`exp`). The server forgets the revocation then. Default: the revocation is kept forever. */
    expiresAt?: DateTime | null;
}
/** The result of `revokeToken`. */
export interface RevokeTokenPayload {
    /** Whether the token was revoked. */
    revoked: boolean;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A message to store and process. */
export interface SendMessageInput {
    /** The id of the session. */
    sessionId: string;
    /** The text, up to 64 KiB. */
    text: string;
    /** Whether the user or the assistant wrote it. */
    role?: MessageRole | null;
    /** The speaker, if it is not the user. "I" in the text then means the speaker. */
    speaker?: string | null;
    /** When it was said. Default: now. */
    sentAt?: DateTime | null;
    /** JSON to store with the message. */
    sourceMetadata?: unknown | null;
    /** The client's own id. Sending the same id again in a session returns the first message. */
    clientMessageId?: string | null;
}
/** The result of `sendMessage`. */
export interface SendMessagePayload {
    /** The message as stored. */
    message: Message | null;
    /** The processing state. Facts follow as events. */
    status: MessageStatus | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** A session: one conversation with its messages and a numbered event log. */
export interface Session {
    /** The id, a UUID. */
    id: string;
    /** The title, chosen by the user or taken from the first message; null until then. */
    title: string | null;
    /** Whether it belongs to shared memory, which all signed-in users can read and administrators can change. */
    shared: boolean;
    /** When it was created. */
    createdAt: DateTime;
    /** When its last message was stored. */
    updatedAt: DateTime;
    /** The cursor of the newest event. To follow the session from here, pass it to a subscription as `after`. */
    head: string;
    /** The messages, oldest first. `last` and `before` select from the end; the order stays the same. */
    messages: MessageConnection;
    /** Facts with evidence in this session, latest change first. */
    facts: FactConnection;
}
/** A page of sessions. */
export interface SessionConnection {
    /** Information to aid in pagination. */
    pageInfo: PageInfo;
    /** A list of edges. */
    edges: SessionEdge[];
    /** A list of nodes. */
    nodes: Session[];
    /** The number of items in the whole list, regardless of the page; null if counting would be expensive. */
    totalCount: number | null;
}
/** An edge in a connection. */
export interface SessionEdge {
    /** The item at the end of the edge */
    node: Session;
    /** A cursor for use in pagination */
    cursor: string;
}
/** What was deleted with a session. Events and jobs are not counted. */
export interface SessionReceipt {
    /** The number of deleted messages. */
    messages: number;
    /** The number of deleted facts, which had evidence only in this session. */
    factsDeleted: number;
    /** The number of facts that have other evidence and were re-weighed. */
    factsReweighed: number;
    /** The number of deleted entities, which nothing else mentions. */
    entitiesDeleted: number;
}
/** Tokens that models read and wrote. */
export interface TokenUsage {
    /** Tokens read. */
    inputTokens: number;
    /** Tokens written. */
    outputTokens: number;
}
/** A merge to undo. */
export interface UnmergeEntitiesInput {
    /** The id of the entity that was merged, or of the one that stayed. The latter undoes its latest merge. */
    entityId: string;
}
/** The result of `unmergeEntities`. */
export interface UnmergeEntitiesPayload {
    /** The restored entity. */
    entity: Entity | null;
    /** The entity that it had been merged into. */
    from: Entity | null;
    /** Errors that the client can correct; empty on success. */
    errors: UserError[];
}
/** Tokens that model servers used for the viewer, without embeddings. */
export interface Usage {
    /** Tokens used today (UTC). The daily token budget counts these. */
    today: TokenUsage;
    /** Tokens used on all days of the period. */
    total: TokenUsage;
    /** Tokens by day and purpose, latest first. Days without use are left out. */
    days: UsageOfDay[];
}
/** Tokens of one day and one purpose. */
export interface UsageOfDay {
    /** The day in UTC, such as `2026-01-31`. */
    date: string;
    /** The purpose. */
    operation: ModelOperation;
    /** The number of requests. */
    requests: number;
    /** Tokens read. */
    inputTokens: number;
    /** Tokens written. */
    outputTokens: number;
}
/** An error in a request that the client can correct. */
export interface UserError {
    /** A stable code for programs, such as `TEXT_TOO_LONG`. */
    code: string;
    /** A sentence for people. */
    message: string;
    /** The path of the wrong argument, such as `["input", "text"]`; empty if no single argument is wrong. */
    path: string[];
}
/** The user who sends the request. */
export interface Viewer {
    /** The user's id on this server. */
    id: string;
    /** The user's role. */
    role: ViewerRole;
    /** The user's name, as far as the messages tell it. */
    name: string | null;
    /** Tokens that model servers used for the viewer, by day (UTC). */
    usage: Usage;
    /** The latest deletion of all of the viewer's data; null if there was none. It is kept until the end of the next day. */
    deletion: DeletionReceipt | null;
    /** The entity that represents the viewer; null until a message says something about them. */
    entity: Entity | null;
}
/** The role of a caller. Every role can read and write its own data. */
export type ViewerRole = "ADMIN" | "USER" | "ANONYMOUS";
