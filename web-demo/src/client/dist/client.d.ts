import { type Account, type Adopted } from "./account.ts";
import { EventStream } from "./event-stream.ts";
import { type CreateSessionResult, type SendMessageResult } from "./generated/operations.ts";
import type { SendMessageInput } from "./generated/schema.ts";
import { type Endpoint, type TypedDocument } from "./graphql.ts";
import type { StreamOptions } from "./stream-types.ts";
export interface RecallClientOptions {
    /** Origin of the server, without a path. Default: the page's origin. Another server must allow this page (http.cors_origins). */
    readonly url?: string;
    /** Returns the user's bearer token. Called before each request. */
    readonly token?: () => string | undefined;
    /** Returns the CSRF token from `GET /auth/session`, for pages that use the login cookie. Called before each request. */
    readonly csrfToken?: () => string | undefined;
}
export declare class RecallClient {
    readonly endpoint: Endpoint;
    constructor({ url, token, csrfToken }?: RecallClientOptions);
    /** Runs one typed query or mutation. Throws a `RecallError`. */
    graphql<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables): Promise<Result>;
    /** Creates a session. All signed-in users read a `shared` session; only administrators create and write it. */
    createSession(title?: string, { shared }?: {
        shared?: boolean;
    }): Promise<NonNullable<CreateSessionResult["createSession"]["session"]>>;
    /** Sends one message. With a `clientMessageId`, a retry returns the first result instead of storing the message twice. */
    sendMessage(input: SendMessageInput): Promise<NonNullable<SendMessageResult["sendMessage"]["message"]>>;
    /** Returns the logged-in user and the available login methods. */
    whoIsThere(): Promise<Account>;
    /** Starts a visit without a login, if the server offers `visit`. Call `whoIsThere()` again afterwards. */
    beginVisit(): Promise<void>;
    /** Ends this browser's visit and deletes its data. */
    endVisit(): Promise<void>;
    /** Moves this browser's visit into the logged-in account. Returns null without a visit. */
    adoptVisit(): Promise<Adopted | null>;
    /** Creates the session's event stream. Add listeners, then call `start()`. */
    stream(sessionId: string, options?: Omit<StreamOptions, "endpoint" | "sessionId">): EventStream;
}
