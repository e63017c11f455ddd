// The front door of the package: one server, its GraphQL and its streams.
import { adoptVisit, beginVisit, endVisit, whoIsThere, type Account, type Adopted } from "./account.ts";
import { EventStream, type StreamOptions } from "./event-stream.ts";
import { CreateSession, SendMessage, type CreateSessionResult, type SendMessageResult } from "./generated/operations.ts";
import type { SendMessageInput } from "./generated/schema.ts";
import { RecallError, graphql, type Endpoint, type TypedDocument } from "./graphql.ts";

export interface RecallClientOptions {
  /** Origin of the server, without a path; the page's own without it. Another server must allow this page (http.cors_origins). */
  readonly url?: string;
  /** Asked before each request; the bearer token of the signed-in user. */
  readonly token?: () => string | undefined;
  /** The same for a page of the server itself whose user has logged in there: what `GET /auth/session` told with the cookie. */
  readonly csrfToken?: () => string | undefined;
}

export class RecallClient {
  readonly endpoint: Endpoint;

  constructor({ url = "", token, csrfToken }: RecallClientOptions = {}) {
    this.endpoint = { url: url.replace(/\/+$/, ""), token, csrfToken };
  }

  /** Runs one typed query or mutation; throws a `RecallError`. */
  graphql<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables): Promise<Result> {
    return graphql(this.endpoint, document, variables);
  }

  /** Starts a session. A `shared` one is read by all who have signed in, and started and written by administrators. */
  async createSession(title?: string, { shared = false }: { shared?: boolean } = {}): Promise<NonNullable<CreateSessionResult["createSession"]["session"]>> {
    const input = { ...(title === undefined ? {} : { title }), ...(shared ? { shared } : {}) };
    const { createSession } = await this.graphql(CreateSession, { input });
    return orThrow(createSession.session, createSession.errors);
  }

  /** Sends one message. Give a `clientMessageId` to be able to send again after a lost answer: the second call returns the first result. */
  async sendMessage(input: SendMessageInput): Promise<NonNullable<SendMessageResult["sendMessage"]["message"]>> {
    const { sendMessage } = await this.graphql(SendMessage, { input });
    return orThrow(sendMessage.message, sendMessage.errors);
  }

  /** Who is at a page of the server itself, and which ways in there are. */
  whoIsThere(): Promise<Account> {
    return whoIsThere(this.endpoint);
  }

  /** Goes on without a login, where the server offers `visit`; ask `whoIsThere()` again afterwards. */
  beginVisit(): Promise<void> {
    return beginVisit(this.endpoint);
  }

  /** Ends the visit of this browser and deletes everything of it. */
  endVisit(): Promise<void> {
    return endVisit(this.endpoint);
  }

  /** Takes everything of this browser's visit into the account that has logged in with it; null when there is nothing. */
  adoptVisit(): Promise<Adopted | null> {
    return adoptVisit(this.endpoint);
  }

  /** The session's event stream; call `start()` on it once the listeners are there. */
  stream(sessionId: string, options: Omit<StreamOptions, "endpoint" | "sessionId"> = {}): EventStream {
    return new EventStream({ ...options, endpoint: this.endpoint, sessionId });
  }
}

function orThrow<T>(value: T | null, errors: ReadonlyArray<{ code: string; message: string }>): T {
  const error = errors[0];
  if (value === null || error) throw new RecallError(error?.code ?? "BAD_RESPONSE", error?.message ?? "The server sent no result.", 200);
  return value;
}
