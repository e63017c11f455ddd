// Who is at the page, for pages of the server itself: a login or a visit is a cookie that scripts cannot read, and what they must
// show besides is asked for here.
import { RecallError, authorization, type Endpoint } from "./graphql.ts";

export interface Who {
  readonly id: string;
  readonly name: string | null;
  readonly role: "ADMIN" | "USER" | "ANONYMOUS";
}

export interface Account {
  /** Ways in: `oidc` (log in), `visit` (go on without a login), `token`. Empty on a server without a login. */
  readonly methods: readonly string[];
  /** null while nobody is there. */
  readonly user: Who | null;
  /** To be shown with every request that changes something; give it to the client as `csrfToken`. */
  readonly csrfToken: string | null;
  readonly expiresAt: string | null;
  /** The visit of this browser, be it that somebody has logged in since: then it can be adopted. */
  readonly visit?: { readonly messages: number; readonly expiresAt: string } | null;
}

/** What an account took over from a visit. */
export interface Adopted {
  readonly sessions: readonly string[];
  readonly messages: number;
  readonly facts: number;
}

async function ask(endpoint: Endpoint, path: string, method: "GET" | "POST" | "DELETE"): Promise<Response> {
  const response = await fetch(`${endpoint.url}${path}`, { method, cache: "no-store", headers: authorization(endpoint) }).catch(() => null);
  if (!response) throw new RecallError("UNREACHABLE", "The server cannot be reached.");
  if (response.ok) return response;
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  throw new RecallError(problem.code ?? "BAD_RESPONSE", problem.detail ?? `The server answered ${response.status}.`, response.status);
}

export const whoIsThere = async (endpoint: Endpoint): Promise<Account> => (await ask(endpoint, "/auth/session", "GET")).json() as Promise<Account>;

/** Goes on without a login, in a memory of its own that ends some hours after it was last used. */
export const beginVisit = async (endpoint: Endpoint): Promise<void> => void (await ask(endpoint, "/auth/visit", "POST"));

/** Ends the visit of this browser and deletes everything of it. */
export const endVisit = async (endpoint: Endpoint): Promise<void> => void (await ask(endpoint, "/auth/visit", "DELETE"));

/** Takes everything of this browser's visit into the account that has logged in with it; null when there is nothing. */
export const adoptVisit = async (endpoint: Endpoint): Promise<Adopted | null> =>
  ((await (await ask(endpoint, "/auth/adopt", "POST")).json()) as { adopted: Adopted | null }).adopted;
