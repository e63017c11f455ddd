// Who is at the page. A login is a cookie that scripts cannot read; what they must show besides is asked for at each start, and an
// access token that somebody pastes is held as long as the page.
import { signal } from "@preact/signals";
import { RecallClient, RecallError, type Account, type Who } from "../../client/index.ts";
import * as outbox from "./outbox.ts";

/** Who has logged in or is on a visit; null while nobody is there, or where nobody needs to be. */
export const account = signal<Who | null>(null);
/** When the visit ends, while the page is a visitor's. */
export const visitEnds = signal<Date | null>(null);
/** What was told on a visit before the login, and may be taken into the account; null when nothing was. */
export const offer = signal<{ messages: number } | null>(null);
/** The ways in while the page must wait for somebody; null when it need not. */
export const door = signal<readonly string[] | null>(null);
/** Why the one who was there is not any more. */
export const farewell = signal<string | null>(null);
export const hasToken = signal(false);

let csrfToken: string | undefined;
let token: string | undefined;

/** For the client. */
export const credentials = { token: () => token, csrfToken: () => csrfToken };
const server = new RecallClient(credentials);

async function ask(path: string, options: RequestInit): Promise<unknown> {
  const response = await fetch(path, options).catch(() => null);
  if (!response) throw new RecallError("UNREACHABLE", "The server cannot be reached.");
  if (!response.ok) throw new RecallError("BAD_RESPONSE", `The server answered ${response.status}.`, response.status);
  return response.json();
}

/** Asks who is there. False when somebody has to log in first. */
export async function enter(): Promise<boolean> {
  const session: Account = await server.whoIsThere();
  const { user, visit } = session;
  const visiting = user?.role === "ANONYMOUS";
  account.value = user;
  csrfToken = session.csrfToken ?? undefined;
  visitEnds.value = visiting && session.expiresAt ? new Date(session.expiresAt) : null;
  offer.value = user && !visiting && visit && visit.messages > 0 ? { messages: visit.messages } : null;
  const inside = session.methods.length === 0 || user !== null || token !== undefined;
  door.value = inside ? null : session.methods;
  return inside;
}

/** The server takes the one at the page for nobody: the login has ended, or the token is not good. */
export async function lock(): Promise<void> {
  farewell.value = token !== undefined ? "The server does not accept this token."
    : visitEnds.value ? "Your visit has ended, and what was told on it is gone." : "Your login has ended.";
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

/** Goes on without a login. */
export async function visit(): Promise<void> {
  farewell.value = null;
  await server.beginVisit();
}

/** Takes what was told on the visit into the account, or leaves it behind. */
export async function answerOffer(take: boolean): Promise<void> {
  await (take ? server.adoptVisit() : server.endVisit());
  offer.value = null;
}

/** Ends the login here, and leads to where it ends at the provider as well. */
export async function logOut(): Promise<void> {
  outbox.forgetAll();
  if (token !== undefined) return location.reload();
  if (visitEnds.value) {
    await server.endVisit();
    return location.assign("/");
  }
  const { logoutUrl } = (await ask("/auth/logout", { method: "POST", headers: csrfToken ? { "x-csrf-token": csrfToken } : {} })) as {
    logoutUrl: string | null;
  };
  location.assign(logoutUrl ?? "/");
}
