// Who is at the page. A login is a cookie that scripts cannot read; what they must show besides is asked for at each start, and an
// access token that somebody pastes is held as long as the page.
import { signal } from "@preact/signals";
import { RecallError } from "../../client/index.ts";
import * as outbox from "./outbox.ts";

interface Account {
  readonly id: string;
  readonly name: string | null;
}

interface Session {
  readonly methods: string[];
  readonly user: Account | null;
  readonly csrfToken: string | null;
}

/** Who has logged in; null while nobody has, or where nobody needs to. */
export const account = signal<Account | null>(null);
/** The ways in while the page must wait for somebody; null when it need not. */
export const door = signal<string[] | null>(null);
/** Why the one who was there is not any more. */
export const farewell = signal<string | null>(null);
export const hasToken = signal(false);

let csrfToken: string | undefined;
let token: string | undefined;

/** For the client. */
export const credentials = { token: () => token, csrfToken: () => csrfToken };

async function ask(path: string, options: RequestInit): Promise<unknown> {
  const response = await fetch(path, options).catch(() => null);
  if (!response) throw new RecallError("UNREACHABLE", "The server cannot be reached.");
  if (!response.ok) throw new RecallError("BAD_RESPONSE", `The server answered ${response.status}.`, response.status);
  return response.json();
}

/** Asks who is there. False when somebody has to log in first. */
export async function enter(): Promise<boolean> {
  const session = (await ask("/auth/session", { cache: "no-store" })) as Session;
  account.value = session.user;
  csrfToken = session.csrfToken ?? undefined;
  const inside = session.methods.length === 0 || session.user !== null || token !== undefined;
  door.value = inside ? null : session.methods;
  return inside;
}

/** The server takes the one at the page for nobody: the login has ended, or the token is not good. */
export async function lock(): Promise<void> {
  farewell.value = token === undefined ? "Your login has ended." : "The server does not accept this token.";
  token = undefined;
  hasToken.value = false;
  await enter().catch(() => {});
}

/** Where the browser goes to log in, to come back to where it is. */
export const loginHref = (): string => `/auth/login?return_to=${encodeURIComponent(location.pathname + location.hash)}`;

export function showToken(text: string): void {
  token = text.trim().replace(/^bearer\s+/i, "");
  hasToken.value = true;
  farewell.value = null;
  door.value = null;
}

/** Ends the login here, and leads to where it ends at the provider as well. */
export async function logOut(): Promise<void> {
  outbox.forgetAll();
  if (token !== undefined) return location.reload();
  const { logoutUrl } = (await ask("/auth/logout", { method: "POST", headers: csrfToken ? { "x-csrf-token": csrfToken } : {} })) as {
    logoutUrl: string | null;
  };
  location.assign(logoutUrl ?? "/");
}
