// Requests below GraphQL: login, visits and files.
import { RecallError, authHeaders, type Endpoint } from "./graphql.ts";

interface RequestOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly body?: FormData;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request and returns its successful response. Throws a `RecallError`, or the reason of the signal. */
export async function request(endpoint: Endpoint, path: string, { signal, ...options }: RequestOptions): Promise<Response> {
  const init = { ...options, cache: "no-store", headers: authHeaders(endpoint), ...(signal ? { signal } : {}) } as const;
  const response = await fetch(`${endpoint.url}${path}`, init).catch(() => null);
  signal?.throwIfAborted();
  if (!response) throw new RecallError("UNREACHABLE", "The server cannot be reached.");
  if (response.ok) return response;
  const { code, detail } = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  const retryAfter = response.headers.get("retry-after");
  const retryAfterMs = retryAfter && /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
  throw new RecallError(code ?? "BAD_RESPONSE", detail ?? `The server answered ${response.status}.`, response.status, [], retryAfterMs);
}
