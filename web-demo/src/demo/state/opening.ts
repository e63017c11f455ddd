// Opens sessions: the one in the URL, from the server or from this browser's copy.
import { batch } from "@preact/signals";
import { RecallError } from "@relevantic/recall";
import { Head } from "../generated/operations.ts";
import { awaited, type Awaited, connection, highlight, memory, missing, openFact, sessionId, wantedMessage } from "./current-session.ts";
import { isUnreachable } from "./errors.ts";
import { clearBrowserData, client, loginMethods } from "./login.ts";
import { Memory } from "./memory.ts";
import { dropSession, keepOpenSession, keepSession, knownAt, notKept, readCopy, watch } from "./offline.ts";
import { confirmSent, hasUnsent, sendEarly, sender, unsendEarly } from "./outgoing.ts";
import { loadAround, loadSnapshot } from "./paging.ts";
import { handleError, reportProblem, startError } from "./problem.ts";
import { navigate, redirect, route, sessionHref } from "./route.ts";
import { listing, refreshSessions, sessions, type SessionItem } from "./session-list.ts";
import { sessionStream } from "./stream.ts";
import { beforeDeadline, debounce, delay } from "./timing.ts";
import { phrases, start } from "./viewer.ts";

/** Time after which a place that shows no session opens one. */
const AFTER_PLACE_MS = 1500;
/** Time after a deletion in which others may follow. */
const AFTER_DELETION_MS = 300;

const newestOrOpen = () => sessionId.value ?? sessions.value.find((s) => !s.shared)?.id;

export function closeSession(): void {
  sessionStream.close();
  sessionId.value = null;
  memory.value = null;
}

/** Ends the stream of the open session. Returns a function that opens it again. */
export function disconnectSession(): () => void {
  const id = sessionId.value;
  closeSession();
  connection.value = null;
  return () => { if (id) void opener.open(id); };
}

/** Nobody waits for a session any more. Another one may have been asked for meanwhile. */
function endWait(id: string) {
  if (awaited.value?.id === id) awaited.value = null;
}

function showMissing(id: string) {
  dropSession(id);
  // The page offers the newest of the others.
  sessions.value = sessions.value.filter((s) => s.id !== id);
  closeSession();
  endWait(id);
  connection.value = null;
  notKept.value = null;
  missing.value = id;
}

/** Whether the page of a deleted session is all that is left: everything was deleted elsewhere. */
const isAllGone = () => missing.value !== null && awaited.value === null && listing.value.archived === 0 && sessions.value.every(({ shared }) => shared);

/**
 * Leaves the open session if it was deleted elsewhere. Its stream may have missed that together with other events.
 * If everything was deleted, nothing on the page is true any more, and it starts again.
 */
async function leaveIfDeleted(): Promise<void> {
  const id = sessionId.value;
  await refreshSessions();
  // The list always contains the open session.
  if (id !== null && id === sessionId.value && knownAt.value === null && !sessions.value.some((s) => s.id === id)) showMissing(id);
  if (!isAllGone()) return;
  await clearBrowserData(start.value?.viewer.id);
  location.assign("/");
}

/** Ignores errors: the next event reads the list again. A deletion of everything deletes one session after another. */
export const leaveIfDeletedSoon = debounce(() => void leaveIfDeleted().catch(() => {}), AFTER_DELETION_MS);

/** Whether a session is as it was created: nothing was written in it, and the user has not marked it. */
const isUnused = ({ id, title, pinned, archived, paused, messages }: SessionItem): boolean =>
  (id === sessionId.value ? memory.value?.messages.size === 0 : messages.nodes.length === 0 && !hasUnsent(id)) && !title && !pinned && !archived && !paused;

/** The open session or an older own one that is unused. A shared one may belong to another administrator. */
function findUnused(shared: boolean): SessionItem | undefined {
  const unused = sessions.value.filter((s) => s.shared === shared && isUnused(s));
  return unused.find((s) => s.id === sessionId.value) ?? unused.find((s) => !s.shared);
}

/** Opens an unused session, or creates one. */
export async function newSession(shared = false): Promise<void> {
  const isNew = shared ? "shared" : "own";
  // A second press means the same session.
  if (awaited.value?.isNew === isNew) return;
  const from = route.value;
  const show = (id: string) => (from.page === "home" ? redirect : navigate)(sessionHref(id));
  const unused = findUnused(shared);
  if (unused) return show(unused.id);
  // What is written from now on is for the new session.
  const wanted: Awaited = { id: null, isNew };
  awaited.value = wanted;
  let id: string;
  try {
    id = (await client.createSession(undefined, { shared })).id;
  } catch (error) {
    reportProblem(error);
    if (awaited.value === wanted) awaited.value = null;
    return unsendEarly(wanted);
  }
  sendEarly(wanted, id);
  const created: Awaited = { id, isNew };
  // The user may have gone elsewhere meanwhile, or have asked for another new session.
  const isWanted = () => route.value === from && (awaited.value === wanted || awaited.value === created || !awaited.value?.isNew);
  if (isWanted()) awaited.value = created;
  else if (awaited.value === wanted) awaited.value = null;
  await refreshSessions().catch(reportProblem);
  if (isWanted()) show(id);
  else if (awaited.value === created) awaited.value = null;
}

class SessionOpener {
  /** The session that is being opened or was opened last. The latest request wins. null: the page shows a copy. */
  #id: string | null = null;
  #followsRoute = false;

  /** Opens the session of each new route. */
  followRoute(): void {
    if (!this.#followsRoute) route.subscribe(() => void (loginMethods.value === null && this.openRoute()));
    this.#followsRoute = true;
  }

  /** Opens the session of the current route. An entity page keeps the open session. */
  async openRoute(): Promise<void> {
    const { value } = route;
    // The server is back, and the page is where it was.
    const stays = value.page === "session" && value.id === sessionId.value;
    if (!stays) openFact.value = highlight.value = null;
    if (value.page === "session") {
      if (value.id !== sessionId.value || this.#id !== value.id) await this.open(value.id);
      return;
    }
    const newest = newestOrOpen();
    if (value.page === "home") {
      if (newest) return redirect(sessionHref(newest));
      // Only the server creates sessions.
      return watch.active.value ? undefined : newSession();
    }
    if (value.page !== "memory" && value.page !== "graph") return this.#keepOrOpen(newest);
    // They show the whole memory, which loads first. The line of a session then tells whether the server is there.
    void delay(AFTER_PLACE_MS).then(() => {
      if (route.value === value && loginMethods.value === null) return this.#keepOrOpen(newestOrOpen());
    });
  }

  async #keepOrOpen(id: string | undefined) {
    if (id && (id !== sessionId.value || this.#id === null)) await this.open(id);
  }

  /** Opens a session. The previous one stays usable until the new one is loaded. */
  async open(id: string): Promise<void> {
    this.#id = id;
    awaited.value = id === sessionId.value ? null : { id, isNew: null };
    if (knownAt.value !== null) return this.#openCopy(id);
    try {
      await this.#openPresent(id);
    } catch (error) {
      if (this.#id !== id) return;
      if (error instanceof RecallError && error.code === "INVALID_ID") return showMissing(id);
      if (isUnreachable(error)) return this.#openCopy(id);
      endWait(id);
      startError.value = handleError(error);
    }
  }

  async #openPresent(id: string) {
    const { session } = await beforeDeadline(client.graphql(Head, { id }));
    if (this.#id !== id) return;
    const opened = new Memory(phrases(), session?.shared);
    sender.showWaiting(id, opened);
    if (!session) return showMissing(id);
    const load = async () => {
      for (const clientId of await loadSnapshot(id, opened)) confirmSent(id, clientId);
    };
    await load();
    if (wantedMessage.value && !opened.byId(wantedMessage.value)) await loadAround(id, opened, wantedMessage.value);
    if (this.#id !== id) return;
    keepOpenSession();
    batch(() => {
      closeSession();
      endWait(id);
      missing.value = notKept.value = null;
      sessionId.value = id;
      memory.value = opened;
    });
    keepSession(id, opened);
    sessionStream.open(id, session.head, opened, load, () => { showMissing(id); leaveIfDeletedSoon(); });
    // The list does not yet contain a session that another page created, such as GraphiQL.
    if (!sessions.value.some((s) => s.id === id)) await refreshSessions();
  }

  /** Shows the copy of a session that this browser keeps, until the server returns. */
  async #openCopy(id: string) {
    watch.start();
    watch.tryNow();
    const kept = await readCopy(id);
    if (this.#id !== id) return;
    // The server's state replaces the copy.
    this.#id = null;
    // The server is back, and the page shows its present.
    if (!watch.active.value && knownAt.value === null) return;
    batch(() => {
      closeSession();
      endWait(id);
      connection.value = missing.value = null;
      knownAt.value = kept?.knownAt ?? knownAt.value ?? new Date().toISOString();
      notKept.value = kept ? null : id;
      if (!kept) return;
      const opened = new Memory(phrases(), kept.shared);
      opened.restore(kept.snapshot);
      sender.showWaiting(id, opened);
      sessionId.value = id;
      memory.value = opened;
    });
  }
}

export const opener = new SessionOpener();

/** Loads the open session again after its stream closed permanently. */
export const reopenSession = (): void => {
  if (sessionId.value) void opener.open(sessionId.value);
};
