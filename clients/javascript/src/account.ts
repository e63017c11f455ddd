// Login state of a page that the server itself serves. Scripts cannot read the login cookie, so the page asks the server.
import type { Endpoint } from "./graphql.ts";
import { request } from "./rest.ts";

export interface Who {
  readonly id: string;
  readonly name: string | null;
  readonly role: "ADMIN" | "USER" | "ANONYMOUS";
}

export interface Account {
  /** Available login methods: `oidc` (log in), `visit` (use without a login), `token`. Empty on a server without login. */
  readonly methods: readonly string[];
  /** null: nobody has logged in. */
  readonly user: Who | null;
  /** Required by every request that changes data. Pass it to the client as `csrfToken`. */
  readonly csrfToken: string | null;
  readonly expiresAt: string | null;
  /** The visit of this browser. It stays after a login, until the account adopts it or the user ends it. */
  readonly visit?: { readonly messages: number; readonly expiresAt: string } | null;
}

/** Data that an account took over from a visit. */
export interface Adopted {
  readonly sessions: readonly string[];
  readonly messages: number;
  readonly facts: number;
}

export const fetchAccount = async (endpoint: Endpoint): Promise<Account> => (await request(endpoint, "/auth/session", { method: "GET" })).json() as Promise<Account>;

/** Starts a visit: a private memory without a login. The server deletes it some hours after its last use. */
export const beginVisit = async (endpoint: Endpoint): Promise<void> => void (await request(endpoint, "/auth/visit", { method: "POST" }));

/** Ends this browser's visit and deletes its data. */
export const endVisit = async (endpoint: Endpoint): Promise<void> => void (await request(endpoint, "/auth/visit", { method: "DELETE" }));

/** Moves this browser's visit into the logged-in account. Returns null without a visit. */
export const adoptVisit = async (endpoint: Endpoint): Promise<Adopted | null> =>
  ((await (await request(endpoint, "/auth/adopt", { method: "POST" })).json()) as { adopted: Adopted | null }).adopted;
