// GraphQL over fetch, typed by the generated operations. There is no cache, because the event stream reports changes.

/** GraphQL text with its result and variables types. The phantom fields do not exist at run time. */
export type TypedDocument<Result, Variables> = string & { readonly __result?: Result; readonly __variables?: Variables };

/** A failed request. `code` is stable and for programs, `message` is for people. */
export class RecallError extends Error {
  override readonly name = "RecallError";
  readonly code: string;
  /** HTTP status. 0: no answer. */
  readonly status: number;
  /** The names that lead to the wrong argument, such as `["input", "text"]`. Empty if no single argument is wrong. */
  readonly path: readonly string[];
  /** Milliseconds after which the server accepts the call again, if it says so. */
  readonly retryAfterMs: number | undefined;
  constructor(code: string, message: string, status = 0, path: readonly string[] = [], retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.status = status;
    this.path = path;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Endpoint {
  /** Origin of the server, without a path or trailing slash. Empty: the page's origin; Node has none. */
  readonly url: string;
  /** Returns the user's bearer token. Called before each request. */
  readonly token?: (() => string | undefined) | undefined;
  /** Returns the CSRF token from `GET /auth/session`, for pages that use the login cookie. Called before each request. */
  readonly csrfToken?: (() => string | undefined) | undefined;
}

/** Authentication headers. The browser adds the login cookie itself. */
export const authHeaders = ({ token, csrfToken }: Endpoint): Record<string, string> => {
  const [bearer, csrf] = [token?.(), csrfToken?.()];
  return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { "x-csrf-token": csrf } : {}) };
};

/** Payload of `connection_init` with the credentials: a page cannot set headers of a WebSocket. */
export const connectionParams = ({ token, csrfToken }: Endpoint): Record<string, string> => {
  const [bearer, csrf] = [token?.(), csrfToken?.()];
  return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { csrfToken: csrf } : {}) };
};

interface GraphqlResponse {
  data?: unknown;
  /** Of an error below GraphQL, such as a refused token (application/problem+json). */
  code?: string;
  detail?: string;
  errors?: Array<{ message: string; extensions?: { code?: string; path?: string[]; retryAfterMs?: number } }>;
}

/**
 * Runs one query or mutation.
 *
 * Throws a `RecallError` if the server does not answer within `timeoutMs`, or if any part of the operation fails. Expected failures of a
 * mutation are in its payload's `errors`.
 */
export async function graphql<Result, Variables>(
  endpoint: Endpoint,
  document: TypedDocument<Result, Variables>,
  variables: Variables,
  { timeoutMs = 15_000, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Result> {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: GraphqlResponse;
  try {
    response = await fetch(`${endpoint.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...authHeaders(endpoint) },
      body: JSON.stringify({ query: document, variables }),
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
    });
    body = (await response.json()) as GraphqlResponse;
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new RecallError("UNREACHABLE", timeout.aborted ? "The server did not answer in time." : "The server cannot be reached.");
  }
  const error = body.errors?.[0];
  if (error) {
    const { code = "INTERNAL", path, retryAfterMs } = error.extensions ?? {};
    throw new RecallError(code, error.message, response.status, path, retryAfterMs);
  }
  if (!response.ok || body.data == null) {
    throw new RecallError(body.code ?? "BAD_RESPONSE", body.detail ?? `The server answered ${response.status} without data.`, response.status);
  }
  return body.data as Result;
}
