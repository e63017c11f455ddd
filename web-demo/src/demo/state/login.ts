// Who uses the page. The login is a cookie that scripts cannot read, so the page asks the server for the account and a CSRF token.
// A pasted access token stays in memory until the page closes.
import { signal } from "@preact/signals";
import { RecallClient, RecallError, type Account, type Who } from "@relevantic/recall";
import { clearDrafts } from "./drafts.ts";
import { rememberLogin, showPage } from "./early-page.ts";
import { writeTokens } from "./forget-tokens.ts";
import { clearKept } from "./kept.ts";
import { outbox } from "./outbox.ts";

/** The logged-in user or the visitor. null: nobody, or a server without login. */
export const account = signal<Who | null>(null);
/** When the visit ends. null: the user is not a visitor. */
export const visitEnds = signal<Date | null>(null);
/** Messages of a visit before the login, which the account can adopt. null: there are none. */
export const visitOffer = signal<{ messages: number } | null>(null);
/** Available login methods while the page requires a login. null: no login is required. */
export const loginMethods = signal<readonly string[] | null>(null);
/** Why the login page appeared. null: the user has not logged in yet. */
export const logoutReason = signal<string | null>(null);
export const hasToken = signal(false);

let csrfToken: string | undefined;
let token: string | undefined;

export const client = new RecallClient({ token: () => token, csrfToken: () => csrfToken });

/** Reads the account from the server. Returns false if the user must log in first. */
export async function loadAccount(): Promise<boolean> {
  const session: Account = await client.whoIsThere().finally(showPage);
  const { user, visit } = session;
  const visiting = user?.role === "ANONYMOUS";
  account.value = user;
  csrfToken = session.csrfToken ?? undefined;
  visitEnds.value = visiting && session.expiresAt ? new Date(session.expiresAt) : null;
  visitOffer.value = user && !visiting && visit && visit.messages > 0 ? { messages: visit.messages } : null;
  const loggedIn = session.methods.length === 0 || user !== null || token !== undefined;
  loginMethods.value = loggedIn ? null : session.methods;
  rememberLogin(session.methods.length > 0 && user === null);
  return loggedIn;
}

/** Forgets the token and reloads the account, after the server rejected the login or the token. */
export async function resetLogin(): Promise<void> {
  logoutReason.value = token !== undefined ? "The server does not accept this token."
    : visitEnds.value ? "Your visit has ended and its data was deleted." : "Your login has ended.";
  token = undefined;
  hasToken.value = false;
  await loadAccount().catch(() => {});
}

/** Login URL that returns to the current page. */
export const loginHref = (): string => `/auth/login?return_to=${encodeURIComponent(location.pathname + location.hash)}`;

export function setToken(text: string): void {
  token = text.trim().replace(/^bearer\s+/i, "");
  hasToken.value = true;
  logoutReason.value = null;
  loginMethods.value = null;
}

export async function beginVisit(): Promise<void> {
  logoutReason.value = null;
  await client.beginVisit();
}

/** Moves the data of the visit into the account, or deletes it. Returns the sessions that were moved. */
export async function settleVisitOffer(adopt: boolean): Promise<readonly string[]> {
  const adopted = adopt ? await client.adoptVisit() : void (await client.endVisit());
  visitOffer.value = null;
  return adopted?.sessions ?? [];
}

/** Deletes what this browser keeps of a user. */
export async function clearBrowserData(userId: string | undefined): Promise<void> {
  if (userId !== undefined) outbox.clear(userId);
  writeTokens([]);
  clearDrafts();
  await clearKept();
}

/** Ends the login here and opens the provider's logout page. Visitors end their visit; a token is forgotten. */
export async function logOut(userId: string | undefined): Promise<void> {
  await clearBrowserData(userId);
  if (token !== undefined) return location.reload();
  if (visitEnds.value) {
    await client.endVisit();
    return location.assign("/");
  }
  const response = await fetch("/auth/logout", { method: "POST", headers: csrfToken ? { "x-csrf-token": csrfToken } : {} }).catch(() => null);
  if (!response) throw new RecallError("UNREACHABLE", "The server cannot be reached.");
  if (!response.ok) throw new RecallError("BAD_RESPONSE", `The server answered ${response.status}.`, response.status);
  const { logoutUrl } = (await response.json()) as { logoutUrl: string | null };
  location.assign(logoutUrl ?? "/");
}
