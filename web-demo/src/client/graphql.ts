// GraphQL over fetch: one function, typed by the generated operations. No cache: the event stream tells what changed.

/** GraphQL text that carries its result and variables types (the phantom fields never exist at run time). */
export type TypedDocument<Result, Variables> = string & { readonly __result?: Result; readonly __variables?: Variables };

/** A failed request. `code` is stable and for programs, `message` is for people. */
export class RecallError extends Error {
  override readonly name = "RecallError";
  readonly code: string;
  /** HTTP status, 0 when there was no answer at all. */
  readonly status: number;
  constructor(code: string, message: string, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export interface Endpoint {
  /** Origin of the server, without a path or a slash at the end; empty for the page's own. */
  readonly url: string;
  /** Asked before each request; the bearer token of the signed-in user, or nothing. */
  readonly token?: (() => string | undefined) | undefined;
  /** Asked before each request of a page whose login is a cookie: what `GET /auth/session` told, or nothing. */
  readonly csrfToken?: (() => string | undefined) | undefined;
}

/** The headers that say who asks, besides the cookies that the browser sends by itself. */
export const authorization = ({ token, csrfToken }: Endpoint): Record<string, string> => {
  const [bearer, csrf] = [token?.(), csrfToken?.()];
  return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { "x-csrf-token": csrf } : {}) };
};

/** The same in the first frame of a WebSocket, where a page can set no headers. */
export const introduction = ({ token, csrfToken }: Endpoint): Record<string, string> => {
  const [bearer, csrf] = [token?.(), csrfToken?.()];
  return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { csrfToken: csrf } : {}) };
};

interface Response_ {
  data?: unknown;
  errors?: Array<{ message: string; extensions?: { code?: string } }>;
}

/**
 * Runs one query or mutation. Throws a `RecallError` when the server cannot be reached within `timeoutMs`, or when any part of the
 * operation failed; expected failures of a mutation are in its payload's `errors`.
 */
export async function graphql<Result, Variables>(
  endpoint: Endpoint,
  document: TypedDocument<Result, Variables>,
  variables: Variables,
  { timeoutMs = 15_000, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Result> {
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: Response_;
  try {
    response = await fetch(`${endpoint.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...authorization(endpoint) },
      body: JSON.stringify({ query: document, variables }),
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
    });
    body = (await response.json()) as Response_;
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new RecallError("UNREACHABLE", timeout.aborted ? "The server did not answer in time." : "The server cannot be reached.");
  }
  const error = body.errors?.[0];
  if (error) throw new RecallError(error.extensions?.code ?? "INTERNAL", error.message, response.status);
  if (!response.ok || body.data == null) throw new RecallError("BAD_RESPONSE", `The server answered ${response.status} without data.`, response.status);
  return body.data as Result;
}
