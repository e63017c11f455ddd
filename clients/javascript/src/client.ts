// Entry point of the package: the usual work, login and event streams of one server.
import { adoptVisit, beginVisit, endVisit, fetchAccount, type Account, type Adopted } from "./account.ts";
import { upload, type AddedDocument, type ComparisonReport, type DocumentChunk, type DocumentComparison, type UploadOptions } from "./documents.ts";
import { EventStream } from "./event-stream.ts";
import type { AnswerDelta } from "./events.ts";
import * as operations from "./generated/operations.ts";
import type { CitationFields, DocumentFields, EntityFields, FactFields, ForgottenFields, MessageFields, SessionFields } from "./generated/operations.ts";
import type {
  AddDocumentInput, AssertFactInput, CompareDocumentsInput, ContextInput, DocumentFilter, EntityFilter, FactFilter, ForgetInput, ImportedMessage, MergeEntitiesInput, RenameEntityInput, ResolveEntityInput, SendMessageInput, UpdateSessionInput,
} from "./generated/schema.ts";
import { RecallError, graphql, type Endpoint, type TypedDocument } from "./graphql.ts";
import { MemoryStream, type MemoryStreamOptions } from "./memory-stream.ts";
import { toPage, type Page, type PageOptions, type SharedPageOptions } from "./pages.ts";
import { foundOrThrow, resultOrThrow } from "./results.ts";
import type { StreamOptions } from "./stream-types.ts";
import { waitForOutcome, waitForWork, type Outcome, type ProgressOptions, type WaitOptions } from "./waiting.ts";

export interface RecallClientOptions {
  /** Origin of the server, without a path. Default: the page's origin. Another server must allow this page (http.cors_origins). Node requires it. */
  readonly url?: string;
  /** The user's bearer token, or a function that returns it and is called before each request. */
  readonly token?: string | (() => string | undefined);
  /** Returns the CSRF token from `GET /auth/session`, for pages that use the login cookie. Called before each request. */
  readonly csrfToken?: () => string | undefined;
}

/** An answer with its sources. `nearest` is what comes nearest to an answer, if nothing answers the question. */
export type Answer = MessageFields & { citations: CitationFields[]; nearest: CitationFields[] };
export type ContextResult = operations.GetContextResult["context"];
/** What one message says about a fact. */
export type FactEvidence = NonNullable<operations.GetEvidenceResult["fact"]>["evidence"]["nodes"][number];
/** Up to 100 facts and 100 messages that are forgotten, would be or were restored. `factCount` and `messageCount` count all of them. */
export type Forgotten = ForgottenFields;

export interface AskOptions extends WaitOptions {
  /** Called for each part of the answer while the server writes it. */
  readonly onDelta?: (delta: AnswerDelta) => void;
}

export class RecallClient {
  readonly endpoint: Endpoint;

  constructor({ url = "", token, csrfToken }: RecallClientOptions = {}) {
    this.endpoint = { url: url.replace(/\/+$/, ""), token: typeof token === "string" ? () => token : token, csrfToken };
  }

  /** Runs one typed query or mutation. Throws a `RecallError`. */
  graphql<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables): Promise<Result> {
    return graphql(this.endpoint, document, variables);
  }

  /** Returns the user who sends the requests. */
  async viewer(): Promise<operations.GetViewerResult["viewer"]> {
    return (await this.graphql(operations.GetViewer, {})).viewer;
  }

  // Sessions

  /** Creates a session. All signed-in users read a `shared` session; only administrators create and write it. */
  async createSession(title?: string, { shared = false }: { shared?: boolean } = {}): Promise<SessionFields> {
    const input = { ...(title === undefined ? {} : { title }), ...(shared ? { shared } : {}) };
    const { createSession } = await this.graphql(operations.CreateSession, { input });
    return resultOrThrow(createSession.session, createSession.errors);
  }

  /** Returns a session, or null if it does not exist. */
  async session(id: string): Promise<SessionFields | null> {
    return (await this.graphql(operations.GetSession, { id })).session;
  }

  /** Lists sessions, latest change first. */
  async sessions(options: SharedPageOptions = {}): Promise<Page<SessionFields>> {
    return toPage((await this.graphql(operations.GetSessions, options)).sessions);
  }

  /** Gives a session another title. */
  async renameSession(sessionId: string, title: string): Promise<SessionFields> {
    return this.updateSession({ sessionId, title });
  }

  /** Changes the title of a session, pins or archives it, or pauses remembering in it. Absent values stay. */
  async updateSession(input: UpdateSessionInput): Promise<SessionFields> {
    const { updateSession } = await this.graphql(operations.UpdateSession, { input });
    return resultOrThrow(updateSession.session, updateSession.errors);
  }

  /** Deletes a session with its messages, events and evidence. */
  async deleteSession(id: string): Promise<void> {
    const { deleteSession } = await this.graphql(operations.DeleteSession, { input: { id } });
    resultOrThrow(deleteSession.deletedId, deleteSession.errors);
  }

  // Messages

  /** Sends one message. With a `clientMessageId`, a retry returns the first result instead of storing the message twice. */
  async sendMessage(input: SendMessageInput): Promise<MessageFields> {
    const { sendMessage } = await this.graphql(operations.SendMessage, { input });
    return resultOrThrow(sendMessage.message, sendMessage.errors);
  }

  /** Sends one message and waits until its facts are stored. */
  async sendAndWait(input: SendMessageInput, options: WaitOptions = {}): Promise<MessageFields> {
    const from = await this.#head(input.sessionId);
    const { id, status } = await this.sendMessage(input);
    const read = async () => resultOrThrow(await this.message(id), []);
    if (status !== "PROCESSING") return read();
    await waitForOutcome<true>(
      {
        open: (onGap) => this.#follow(input.sessionId, from, onGap),
        readState: async () => ((await read()).status === "PROCESSING" ? undefined : { value: true }),
        inspect: (event) => {
          if (event.type === "message_failed" && event.message_id === id) throw new RecallError(event.code, "The message could not be processed.");
          return event.type === "message_processed" && event.message_id === id ? { value: true } : undefined;
        },
      },
      options,
    );
    return read();
  }

  /** Sends a question and waits for its answer. Returns null if the message asks nothing. */
  async ask(input: SendMessageInput, { onDelta, ...options }: AskOptions = {}): Promise<Answer | null> {
    const from = await this.#head(input.sessionId);
    const { id, status } = await this.sendMessage(input);
    const isAnswered = input.role !== "ASSISTANT" && !input.speaker;
    const readState = async (): Promise<Outcome<Answer | null> | undefined> => {
      const { message } = await this.graphql(operations.GetAnswer, { id });
      if (message?.answer) return { value: message.answer };
      return message?.status === "PROCESSING" || (isAnswered && isQuestion(message?.kind)) ? undefined : { value: null };
    };
    // A repeated `clientMessageId` may have been answered before.
    const outcome = status === "PROCESSING" ? undefined : await readState();
    if (outcome) return outcome.value;
    const answered = await waitForOutcome<boolean>(
      {
        open: (onGap) => {
          const stream = this.#follow(input.sessionId, from, onGap);
          if (onDelta) stream.on("answer_delta", (delta) => delta.answer_to === id && onDelta(delta));
          return stream;
        },
        readState: async () => ((await readState()) ? { value: true } : undefined),
        inspect: (event) => {
          if (event.type === "answer_completed" && event.answer_to === id) return { value: true };
          const failed = event.type === "answer_failed" || event.type === "message_failed";
          if (failed && event.message_id === id) throw new RecallError(event.code, "The question could not be answered.");
          const asksNothing = event.type === "message_processed" && event.message_id === id && !(isAnswered && isQuestion(event.kind));
          return asksNothing ? { value: false } : undefined;
        },
      },
      options,
    );
    return answered ? ((await readState())?.value ?? null) : null;
  }

  /** Stores messages of a conversation that took place elsewhere, up to 500. Either all are stored or none. */
  async importMessages(sessionId: string, messages: ImportedMessage[]): Promise<MessageFields[]> {
    const { importMessages } = await this.graphql(operations.ImportMessages, { input: { sessionId, messages } });
    return resultOrThrow(importMessages.messages, importMessages.errors);
  }

  /** Returns a message, or null if it does not exist. */
  async message(id: string): Promise<(MessageFields & { sourceMetadata: unknown }) | null> {
    return (await this.graphql(operations.GetMessage, { id })).message;
  }

  /** Lists the messages of a session, oldest first. */
  async messages(sessionId: string, options: PageOptions = {}): Promise<Page<MessageFields>> {
    const { session } = await this.graphql(operations.GetMessages, { ...options, sessionId });
    return toPage(foundOrThrow(session, "session").messages);
  }

  /** Lists the latest messages of a session, oldest first. `next` is the cursor for `before`. */
  async latestMessages(sessionId: string, { last = 20, before = null }: { last?: number; before?: string | null } = {}): Promise<Page<MessageFields>> {
    const { session } = await this.graphql(operations.GetLatestMessages, { sessionId, last, before });
    const { nodes, pageInfo } = foundOrThrow(session, "session").messages;
    return { items: nodes, next: pageInfo.hasPreviousPage ? pageInfo.startCursor : null };
  }

  /** Deletes a message for good, with its evidence and the answers that cite it. `forget` can be undone. */
  async deleteMessage(messageId: string): Promise<void> {
    const { deleteMessage } = await this.graphql(operations.DeleteMessage, { input: { messageId } });
    resultOrThrow(deleteMessage.deletedId, deleteMessage.errors);
  }

  /** Cancels the answer to a question. Returns false if it was finished. */
  async cancelAnswer(messageId: string): Promise<boolean> {
    const { cancelAnswer } = await this.graphql(operations.CancelAnswer, { input: { messageId } });
    return resultOrThrow(cancelAnswer.cancelled, cancelAnswer.errors);
  }

  // Memory

  /** Finds the messages, facts and entities that are relevant to a question, best first. */
  async context(input: string | ContextInput): Promise<ContextResult> {
    return (await this.graphql(operations.GetContext, { input: typeof input === "string" ? { query: input } : input })).context;
  }

  /** Finds the entity that a name refers to. */
  async resolveEntity(input: string | ResolveEntityInput): Promise<operations.ResolveEntityResult["resolveEntity"]> {
    return (await this.graphql(operations.ResolveEntity, { input: typeof input === "string" ? { mention: input } : input })).resolveEntity;
  }

  /** Returns an entity, or null if it does not exist. */
  async entity(id: string): Promise<EntityFields | null> {
    return (await this.graphql(operations.GetEntity, { id })).entity;
  }

  /** Lists entities, most mentioned first. */
  async entities(options: SharedPageOptions & { filter?: EntityFilter } = {}): Promise<Page<EntityFields>> {
    return toPage((await this.graphql(operations.GetEntities, options)).entities);
  }

  /** Renames an entity. The old name becomes an alias. */
  async renameEntity(input: RenameEntityInput): Promise<EntityFields> {
    const { renameEntity } = await this.graphql(operations.RenameEntity, { input });
    return resultOrThrow(renameEntity.entity, renameEntity.errors);
  }

  /** Merges two entities that are the same. */
  async mergeEntities(input: MergeEntitiesInput): Promise<EntityFields> {
    const { mergeEntities } = await this.graphql(operations.MergeEntities, { input });
    return resultOrThrow(mergeEntities.entity, mergeEntities.errors);
  }

  /** Returns a fact, or null if it does not exist. */
  async fact(id: string): Promise<FactFields | null> {
    return (await this.graphql(operations.GetFact, { id })).fact;
  }

  /** Lists facts, latest change first. */
  async facts(options: SharedPageOptions & { filter?: FactFilter } = {}): Promise<Page<FactFields>> {
    return toPage((await this.graphql(operations.GetFacts, options)).facts);
  }

  /** Lists the messages that support, oppose or end a fact, latest first. */
  async evidence(factId: string, options: PageOptions = {}): Promise<Page<FactEvidence>> {
    const { fact } = await this.graphql(operations.GetEvidence, { ...options, factId });
    return toPage(foundOrThrow(fact, "fact").evidence);
  }

  /** Records a fact that the user states directly. */
  async assertFact(input: AssertFactInput): Promise<FactFields> {
    const { assertFact } = await this.graphql(operations.AssertFact, { input });
    return resultOrThrow(assertFact.fact, assertFact.errors);
  }

  /** Retracts a fact. It stays readable but no longer counts, until it is restored or stated again. */
  async retractFact(id: string): Promise<FactFields> {
    const { retractFact } = await this.graphql(operations.RetractFact, { input: { id } });
    return resultOrThrow(retractFact.fact, retractFact.errors);
  }

  /** Undoes `retractFact`: status, evidence and rivals become what they were. Refused if a message retracted the fact. */
  async restoreFact(id: string): Promise<FactFields> {
    const { restoreFact } = await this.graphql(operations.RestoreFact, { input: { id } });
    return resultOrThrow(restoreFact.fact, restoreFact.errors);
  }

  /** Forgets facts and messages, by words or ids. By default (`dryRun`) it only returns what would be forgotten. */
  async forget(input: ForgetInput): Promise<Forgotten> {
    const { forget } = await this.graphql(operations.Forget, { input });
    return resultOrThrow(forget, forget.errors);
  }

  /** Restores what `forget` took, for ten minutes by default. `token`: its result. */
  async undoForget(token: string): Promise<Forgotten> {
    const { undoForget } = await this.graphql(operations.UndoForget, { input: { token } });
    return resultOrThrow(undoForget, undoForget.errors);
  }

  // Documents

  /** Adds a text as a document and returns at once. The server then finds its passages and facts. */
  async addDocument(input: AddDocumentInput): Promise<AddedDocument> {
    const { addDocument } = await this.graphql(operations.AddDocument, { input });
    return { ...resultOrThrow(addDocument.document, addDocument.errors), duplicate: addDocument.duplicate };
  }

  /** Adds a file (PDF, DOCX, HTML, Markdown, CSV or text) as a document and returns at once. In Node: `await openAsBlob(path)` of `node:fs`. */
  async uploadDocument(file: Blob, options: UploadOptions = {}): Promise<AddedDocument> {
    const { id, duplicate } = await upload(this.endpoint, file, options);
    return { ...(await this.#existingDocument(id)), duplicate };
  }

  /** Waits until a document is completed. Throws `DOCUMENT_FAILED` if it cannot be read. Default of `timeoutMs`: ten minutes. */
  async waitForDocument(id: string, options: ProgressOptions = {}): Promise<DocumentFields> {
    const from = await this.#head(id, "document");
    const open = (onGap: () => Promise<void>) => this.#follow(id, from, onGap);
    return waitForWork({ open, update: "document_update", read: () => this.#existingDocument(id), failure: "DOCUMENT_FAILED" }, options);
  }

  /** Returns a document, or null if it does not exist. */
  async document(id: string): Promise<DocumentFields | null> {
    return (await this.graphql(operations.GetDocument, { id })).document;
  }

  /** Lists documents, latest first. */
  async documents(options: SharedPageOptions & { filter?: DocumentFilter } = {}): Promise<Page<DocumentFields>> {
    return toPage((await this.graphql(operations.GetDocuments, options)).documents);
  }

  /** Lists the chunks of a document, in order. */
  async chunks(documentId: string, options: PageOptions = {}): Promise<Page<DocumentChunk>> {
    const { document } = await this.graphql(operations.GetChunks, { ...options, documentId });
    return toPage(foundOrThrow(document, "document").chunks);
  }

  /** Deletes a document with its file, chunks and evidence. `originalOnly`: deletes only the file. */
  async deleteDocument(id: string, { originalOnly = false }: { originalOnly?: boolean } = {}): Promise<void> {
    const { deleteDocument } = await this.graphql(operations.DeleteDocument, { input: { id, originalOnly } });
    resultOrThrow(deleteDocument.deletedId, deleteDocument.errors);
  }

  /** Starts to compare two to five documents, and returns at once. */
  async compareDocuments(input: CompareDocumentsInput): Promise<DocumentComparison> {
    const { compareDocuments } = await this.graphql(operations.CompareDocuments, { input });
    return resultOrThrow(compareDocuments.comparison, compareDocuments.errors);
  }

  /** Compares two to five documents and waits for the result. */
  async compareAndWait(input: CompareDocumentsInput, options: ProgressOptions = {}): Promise<ComparisonReport> {
    return this.waitForComparison((await this.compareDocuments(input)).id, options);
  }

  /** Waits until a comparison is completed. Throws `COMPARISON_FAILED` if the server fails. Default of `timeoutMs`: ten minutes. */
  async waitForComparison(id: string, options: ProgressOptions = {}): Promise<ComparisonReport> {
    const from = await this.#head(id, "comparison");
    const open = (onGap: () => Promise<void>) => this.#follow(id, from, onGap);
    const read = async () => foundOrThrow(await this.comparison(id), "comparison");
    return waitForWork({ open, update: "comparison_update", read, failure: "COMPARISON_FAILED" }, options);
  }

  /** Returns a comparison with the points found so far, or null if it does not exist. */
  async comparison(id: string): Promise<ComparisonReport | null> {
    return (await this.graphql(operations.GetComparison, { id })).comparison;
  }

  /** Lists comparisons, latest first: all, or those of one document. */
  async comparisons(options: PageOptions & { documentId?: string } = {}): Promise<Page<DocumentComparison>> {
    return toPage((await this.graphql(operations.GetComparisons, options)).comparisons);
  }

  /** Deletes a comparison. Its documents stay. */
  async deleteComparison(id: string): Promise<void> {
    const { deleteComparison } = await this.graphql(operations.DeleteComparison, { input: { id } });
    resultOrThrow(deleteComparison.deletedId, deleteComparison.errors);
  }

  async #existingDocument(id: string): Promise<DocumentFields> {
    return foundOrThrow(await this.document(id), "document");
  }

  // Login

  /** Returns the logged-in user and the available login methods. */
  whoIsThere(): Promise<Account> {
    return fetchAccount(this.endpoint);
  }

  /** Starts a visit without a login, if the server offers `visit`. Call `whoIsThere()` again afterwards. */
  beginVisit(): Promise<void> {
    return beginVisit(this.endpoint);
  }

  /** Ends this browser's visit and deletes its data. */
  endVisit(): Promise<void> {
    return endVisit(this.endpoint);
  }

  /** Moves this browser's visit into the logged-in account. Returns null without a visit. */
  adoptVisit(): Promise<Adopted | null> {
    return adoptVisit(this.endpoint);
  }

  // Events

  /** Creates the session's event stream. Add listeners, then call `start()`. */
  stream(sessionId: string, options: Omit<StreamOptions, "endpoint" | "sessionId"> = {}): EventStream {
    return new EventStream({ ...options, endpoint: this.endpoint, sessionId });
  }

  /** Returns the cursor of the newest event of all that the user may read. */
  memoryHead = async (): Promise<string> => (await this.graphql(operations.MemoryHead, {})).viewer.head;

  /** Creates the stream of the events of all sessions, documents and comparisons, own and shared. Add listeners, then call `start()`. */
  memoryStream = (options: Omit<MemoryStreamOptions, "endpoint"> = {}): MemoryStream => new MemoryStream({ ...options, endpoint: this.endpoint });

  /** Follows for a short time. A data channel takes longer to open than the other transports. */
  #follow(sessionId: string, from: string, onGap: () => Promise<void>): EventStream {
    return this.stream(sessionId, { from, onGap, transports: ["websocket", "sse"] });
  }

  /** Reads the head of a log: of a session, or of a document or a comparison with the same id. */
  async #head(sessionId: string, kind = "session"): Promise<string> {
    return foundOrThrow((await this.graphql(operations.StreamHead, { sessionId })).session, kind).head;
  }
}

/** Both spellings: GraphQL writes `QUESTION`, events write `question`. */
const isQuestion = (kind: string | null | undefined): boolean => ["question", "mixed"].includes(kind?.toLowerCase() ?? "");
