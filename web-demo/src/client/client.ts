// Entry point of the package: GraphQL, login and event streams of one server.
import { adoptVisit, beginVisit, endVisit, fetchAccount, type Account, type Adopted } from "./account.ts";
import { EventStream } from "./event-stream.ts";
import { CreateSession, SendMessage, type CreateSessionResult, type SendMessageResult } from "./generated/operations.ts";
import type { SendMessageInput } from "./generated/schema.ts";
import { RecallError, graphql, type Endpoint, type TypedDocument } from "./graphql.ts";
import type { StreamOptions } from "./stream-types.ts";

export interface RecallClientOptions {
  /** Origin of the server, without a path. Default: the page's origin. Another server must allow this page (http.cors_origins). */
  readonly url?: string;
  /** Returns the user's bearer token. Called before each request. */
  readonly token?: () => string | undefined;
  /** Returns the CSRF token from `GET /auth/session`, for pages that use the login cookie. Called before each request. */
  readonly csrfToken?: () => string | undefined;
}

export class RecallClient {
  readonly endpoint: Endpoint;

  constructor({ url = "", token, csrfToken }: RecallClientOptions = {}) {
    this.endpoint = { url: url.replace(/\/+$/, ""), token, csrfToken };
  }

  /** Runs one typed query or mutation. Throws a `RecallError`. */
  graphql<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables): Promise<Result> {
    return graphql(this.endpoint, document, variables);
  }

  /** Creates a session. All signed-in users read a `shared` session; only administrators create and write it. */
  async createSession(title?: string, { shared = false }: { shared?: boolean } = {}): Promise<NonNullable<CreateSessionResult["createSession"]["session"]>> {
    const input = { ...(title === undefined ? {} : { title }), ...(shared ? { shared } : {}) };
    const { createSession } = await this.graphql(CreateSession, { input });
    return resultOrThrow(createSession.session, createSession.errors);
  }

  /** Sends one message. With a `clientMessageId`, a retry returns the first result instead of storing the message twice. */
  async sendMessage(input: SendMessageInput): Promise<NonNullable<SendMessageResult["sendMessage"]["message"]>> {
    const { sendMessage } = await this.graphql(SendMessage, { input });
    return resultOrThrow(sendMessage.message, sendMessage.errors);
  }

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

  /** Creates the session's event stream. Add listeners, then call `start()`. */
  stream(sessionId: string, options: Omit<StreamOptions, "endpoint" | "sessionId"> = {}): EventStream {
    return new EventStream({ ...options, endpoint: this.endpoint, sessionId });
  }
}

function resultOrThrow<T>(value: T | null, errors: ReadonlyArray<{ code: string; message: string }>): T {
  const error = errors[0];
  if (value === null || error) throw new RecallError(error?.code ?? "BAD_RESPONSE", error?.message ?? "The server sent no result.", 200);
  return value;
}
