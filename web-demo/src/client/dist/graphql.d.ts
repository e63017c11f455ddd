/** GraphQL text with its result and variables types. The phantom fields do not exist at run time. */
export type TypedDocument<Result, Variables> = string & {
    readonly __result?: Result;
    readonly __variables?: Variables;
};
/** A failed request. `code` is stable and for programs, `message` is for people. */
export declare class RecallError extends Error {
    readonly name = "RecallError";
    readonly code: string;
    /** HTTP status. 0: no answer. */
    readonly status: number;
    constructor(code: string, message: string, status?: number);
}
export interface Endpoint {
    /** Origin of the server, without a path or trailing slash. Empty: the page's origin. */
    readonly url: string;
    /** Returns the user's bearer token. Called before each request. */
    readonly token?: (() => string | undefined) | undefined;
    /** Returns the CSRF token from `GET /auth/session`, for pages that use the login cookie. Called before each request. */
    readonly csrfToken?: (() => string | undefined) | undefined;
}
/** Authentication headers. The browser adds the login cookie itself. */
export declare const authHeaders: ({ token, csrfToken }: Endpoint) => Record<string, string>;
/** Payload of `connection_init` with the credentials: a page cannot set headers of a WebSocket. */
export declare const connectionParams: ({ token, csrfToken }: Endpoint) => Record<string, string>;
/**
 * Runs one query or mutation.
 *
 * Throws a `RecallError` if the server does not answer within `timeoutMs`, or if any part of the operation fails. Expected failures of a
 * mutation are in its payload's `errors`.
 */
export declare function graphql<Result, Variables>(endpoint: Endpoint, document: TypedDocument<Result, Variables>, variables: Variables, { timeoutMs, signal }?: {
    timeoutMs?: number;
    signal?: AbortSignal;
}): Promise<Result>;
