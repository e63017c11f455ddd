// State and actions of the page. Views only read the signals and call the functions of this module.
import { batch, computed, signal } from "@preact/signals";
import { EventStream, RecallError, type EventOf, type StreamState } from "@relevantic/recall";
import { Head, Place, Sessions, Start, type SessionRow, type StartResult } from "../generated/operations.ts";
import { followMemory, onMemoryEvent, stopFollowingMemory } from "./changes.ts";
import { frames, recordFrame } from "./frames.ts";
import { client, loadAccount, loginMethods, resetLogin, settleVisitOffer } from "./login.ts";
import { Memory } from "./memory.ts";
import * as outbox from "./outbox.ts";
import { loadAround, loadEarlier, loadLater, loadSnapshot } from "./paging.ts";
import { openPassage } from "./passages.ts";
import { navigate, redirect, route, sessionHref } from "./route.ts";
import { completeStep } from "./tour.ts";

export type SessionItem = SessionRow;
export const start = signal<StartResult | null>(null);
export const sessions = signal<SessionItem[]>([]);
export const memory = signal<Memory | null>(null);
export const sessionId = signal<string | null>(null);
/** State of the open session's stream. */
export const connection = signal<StreamState | null>(null);
/** What the last reconnect replayed; shown for some seconds. */
export const caughtUp = signal<{ replayed: number; gaps: number; at: number } | null>(null);
/** Error message for the user. */
export const problem = signal<string | null>(null);
/** The session id in the URL, if this user has no such session. */
export const missing = signal<string | null>(null);
/** Why the page cannot start. */
export const startError = signal<string | null>(null);
export const relations = computed(() => new Map(start.value?.relations.map((r) => [r.name, r])));

/** An empty memory, for pages that are opened without a session. */
export const noMemory = computed(() => new Memory(new Map(start.value?.relations.map((r) => [r.name, r.phrase]))));

/** Only administrators write shared sessions. */
export const mayWrite = (shared: boolean): boolean => !shared || start.value?.viewer.role === "ADMIN";

/** The fact or entity under the pointer or focus, highlighted in the graph and the lists. */
export const highlight = signal<{ fact?: string; entity?: string } | null>(null);
/** The fact whose evidence is open. */
export const openFact = signal<string | null>(null);
/** The message to scroll to as soon as it is rendered. */
export const wantedMessage = signal<string | null>(null);

/** Events that change nothing in the list of sessions. */
const UNLISTED = new Set(["entity_update", "document_update", "comparison_update"]);
onMemoryEvent((event) => {
  if (!event || !UNLISTED.has(event.type)) refreshSessionsSoon();
});

const NOT_SENT = "Not sent yet: the server cannot be reached. The page will send it after it reconnects.";
/** Close reasons of the stream that mean that the login has ended. */
const LOGIN_ENDED = new Set(["auth_expired", "SIGNALING_401", "SOCKET_4403", "UNAUTHENTICATED"]);
let stream: EventStream | null = null;
let gaps = 0;

/** Returns an error message for the user. Shows the login page if the server requires a login. */
export const handleError = (error: unknown): string => {
  if (error instanceof RecallError && error.status === 401) void handleLoginEnd();
  return error instanceof RecallError ? error.message : "Something went wrong on this page.";
};

/** Removes the user's data from the page and shows the login page. */
async function handleLoginEnd(): Promise<void> {
  closeSession();
  stopFollowingMemory();
  connection.value = null;
  await resetLogin();
  if (loginMethods.value) problem.value = startError.value = null;
  // The user has logged in in another tab.
  else await boot();
}

let followsRoute = false;

export async function boot(): Promise<void> {
  startError.value = null;
  try {
    if (!(await loadAccount())) return;
    start.value = await client.graphql(Start, {});
    // Before the page reads what it shows.
    followMemory(start.value.viewer.head);
    await refreshSessions();
    await openRoute();
    if (!followsRoute) route.subscribe(() => void (loginMethods.value === null && openRoute()));
    followsRoute = true;
  } catch (error) {
    startError.value = handleError(error);
  }
}

/** Moves the data of the visit into the account, or deletes it. */
export async function settleVisit(adopt: boolean): Promise<void> {
  try {
    await settleVisitOffer(adopt);
    await refreshSessions();
    // Reload: the account now owns the visit's session, and the open session may have new facts.
    const id = route.value.page === "session" ? route.value.id : sessionId.value;
    if (adopt && id) await openSession(id);
  } catch (error) {
    problem.value = handleError(error);
  }
}

export async function refreshSessions(): Promise<void> {
  const { sessions: own, shared } = await client.graphql(Sessions, { first: 50, shared: start.value?.viewer.role !== "ANONYMOUS" });
  sessions.value = [...own.nodes, ...(shared?.nodes ?? [])];
}

let refreshTimer: ReturnType<typeof setTimeout> | undefined;
function refreshSessionsSoon() {
  clearTimeout(refreshTimer);
  // Ignore errors: the next event refreshes the list again.
  refreshTimer = setTimeout(() => void refreshSessions().catch(() => {}), 600);
}

/** Opens the session of the current route. An entity page keeps the open session. */
async function openRoute(): Promise<void> {
  const { value } = route;
  openFact.value = null;
  highlight.value = null;
  if (value.page === "session") {
    if (value.id !== sessionId.value || openingId !== value.id) await openSession(value.id);
    return;
  }
  const newest = sessionId.value ?? sessions.value.find((s) => !s.shared)?.id;
  if (value.page === "home") {
    if (newest) return redirect(sessionHref(newest));
    return newSession();
  }
  if (newest && newest !== sessionId.value) await openSession(newest);
}

/** The session that is being opened. The latest request wins. */
let openingId: string | null = null;

/** Opens a session. The previous one stays usable until the new one is loaded. */
async function openSession(id: string): Promise<void> {
  openingId = id;
  try {
    const { session } = await client.graphql(Head, { id });
    if (openingId !== id) return;
    const opened = new Memory(new Map(start.value?.relations.map((r) => [r.name, r.phrase])), session?.shared);
    for (const [key, text] of outbox.list(id)) {
      opened.startSending(key, text);
      opened.markSendFailed(key, NOT_SENT, false);
    }
    if (!session) return showMissing(id);
    const load = async () => {
      for (const clientId of await loadSnapshot(id, opened)) outbox.remove(id, clientId);
    };
    await load();
    if (wantedMessage.value && !opened.byId(wantedMessage.value)) await loadAround(id, opened, wantedMessage.value);
    if (openingId !== id) return;
    batch(() => {
      closeSession();
      missing.value = null;
      sessionId.value = id;
      memory.value = opened;
    });
    startStream(id, session.head, opened, load);
    // The list does not yet contain a session that another page created, such as GraphiQL.
    if (!sessions.value.some((s) => s.id === id)) await refreshSessions();
  } catch (error) {
    if (openingId !== id) return;
    if (error instanceof RecallError && error.code === "INVALID_ID") showMissing(id);
    else startError.value = handleError(error);
  }
}

function showMissing(id: string) {
  outbox.clear(id);
  closeSession();
  connection.value = null;
  missing.value = id;
}

function closeSession() {
  stream?.close();
  stream = null;
  sessionId.value = null;
  memory.value = null;
  frames.value = [];
}

const reportProblem = (error: unknown): void => {
  problem.value = handleError(error);
};

export async function showEarlier(): Promise<void> {
  const [id, open] = [sessionId.value, memory.value];
  if (!id || !open?.earlier) return;
  await loadEarlier(id, open, open.earlier).catch(reportProblem);
}

/** Loads the next page of messages into the gap. */
export async function showLater(): Promise<void> {
  const [id, open] = [sessionId.value, memory.value];
  if (!id || !open?.gap) return;
  await loadLater(id, open, open.gap.cursor).catch(reportProblem);
}

/** Retracts a fact that was never true. Facts that ended are reported in the chat: "I no longer …". */
export async function retract(factId: string): Promise<void> {
  const open = memory.value;
  await client.retractFact(factId).then(() => open?.markRetracted(factId), reportProblem);
}

/** Cancels an answer. The stream then reports the cancellation. */
export async function stopAnswer(messageId: string): Promise<void> {
  await client.cancelAnswer(messageId).catch(reportProblem);
}

function startStream(id: string, head: string, target: Memory, load: () => Promise<void>) {
  const opened = client.stream(id, { from: head, onGap: load });
  stream = opened;
  caughtUp.value = null;
  let last: StreamState | null = null;
  opened.on("state", (state) => {
    if (opened !== stream) return;
    if (state.phase === "replaying" && last?.phase !== "replaying") target.startReplay();
    if (state.phase === "connecting" && last?.phase !== "connecting") gaps = 0;
    if (state.phase === "closed" && LOGIN_ENDED.has(state.reason ?? "")) void handleLoginEnd();
    if (state.phase === "closed" && (state.reason === "deleted" || state.reason?.endsWith("404"))) problem.value = "This session no longer exists.";
    last = state;
    connection.value = state;
  });
  opened.on("gap", () => {
    gaps += 1;
  });
  opened.on("caughtUp", ({ replayed, afterReconnect }) => {
    if (afterReconnect) caughtUp.value = { replayed, gaps, at: Date.now() };
    if (afterReconnect && replayed > 0) completeStep("replay");
    void resend(id, target);
  });
  opened.on("event", (event, meta) => {
    recordFrame(event, meta);
    target.apply(event, meta);
    if (event.type === "message_stored" && event.client_message_id) outbox.remove(id, event.client_message_id);
    if (event.type === "fact_update") completeStep(event.change === "reinforced" ? "again" : event.change === "ended" || event.change === "opposed" ? "change" : "tell");
    if (event.type === "answer_completed") completeStep("ask");
  });
  const onEphemeral = (event: EventOf<"answer_delta" | "context_ready">) => {
    recordFrame(event, null);
    target.apply(event, null);
  };
  opened.on("answer_delta", onEphemeral);
  opened.on("context_ready", onEphemeral);
  opened.start();
}

/** Scrolls to a message. Loads it or opens its session first if necessary. A chunk of a document opens in the reading view. */
export async function showMessage(id: string): Promise<void> {
  try {
    const [openId, open] = [sessionId.value, memory.value];
    let session: string | undefined = openId ?? undefined;
    if (!open?.byId(id)) {
      const place = (await client.graphql(Place, { id })).message;
      if (place?.chunk) return openPassage(place.chunk.document.id, id);
      session = place?.session.id;
      if (session && session === openId && open) await loadAround(session, open, id);
    }
    if (!session) {
      problem.value = "This message has been deleted.";
      return;
    }
    wantedMessage.value = id;
    if (session !== sessionId.value || route.value.page !== "session") navigate(sessionHref(session));
  } catch (error) {
    problem.value = handleError(error);
  }
}

/** Creates a session and opens it. Reuses the open session if it is empty. */
export async function newSession(shared = false): Promise<void> {
  const current = sessions.value.find((s) => s.id === sessionId.value && s.shared === shared);
  const empty = current && memory.value?.messages.size === 0 ? current.id : undefined;
  try {
    const id = empty ?? (await client.createSession(undefined, { shared })).id;
    if (!empty) await refreshSessions();
    (route.value.page === "home" ? redirect : navigate)(sessionHref(id));
  } catch (error) {
    problem.value = handleError(error);
  }
}

export async function deleteSession(id: string): Promise<void> {
  // Disconnect first: otherwise the server closes the stream and the page shows an error. A stream that the user paused stays paused.
  const paused = id === sessionId.value && stream?.state.phase !== "paused" ? stream : null;
  paused?.pause();
  try {
    await client.deleteSession(id);
  } catch (error) {
    paused?.start();
    problem.value = handleError(error);
    return;
  }
  outbox.clear(id);
  sessions.value = sessions.value.filter((s) => s.id !== id);
  refreshSessionsSoon();
  if (id === sessionId.value) {
    closeSession();
    connection.value = null;
  }
  const next = sessions.value.find((s) => !s.shared);
  if (sessionId.value === null) redirect(next ? sessionHref(next.id) : "#/");
  if (sessionId.value === null) await openRoute();
}

/** 128 random bits. `crypto.randomUUID` does not exist on pages that another machine serves without TLS. */
const uniqueId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** `answerFrom`: what the answer may use. A message that is sent again keeps it. */
export async function send(text: string, clientMessageId: string = uniqueId(), answerFrom?: outbox.AnswerFrom): Promise<void> {
  const [id, open] = [sessionId.value, memory.value];
  if (id && open) await sendTo(id, open, text, clientMessageId, answerFrom ?? outbox.answerFromOf(id, clientMessageId));
}

/** Takes the session as a parameter, because the user may open another one before the server answers. */
async function sendTo(id: string, target: Memory, text: string, clientMessageId: string, answerFrom?: outbox.AnswerFrom): Promise<void> {
  target.startSending(clientMessageId, text);
  outbox.add(id, clientMessageId, text, answerFrom);
  try {
    const message = await client.sendMessage({ sessionId: id, text, clientMessageId, ...answerFrom });
    outbox.remove(id, clientMessageId);
    target.markSent(clientMessageId, message.id);
    if (id === sessionId.value && connection.value?.phase === "paused") completeStep("cut");
  } catch (error) {
    const retryable = error instanceof RecallError && (error.status === 0 || error.status >= 500);
    if (!retryable) outbox.remove(id, clientMessageId);
    target.markSendFailed(clientMessageId, retryable ? NOT_SENT : handleError(error), !retryable);
  }
}

/** Sends unsent messages after a reconnect. Their client ids prevent duplicates. */
async function resend(id: string, target: Memory): Promise<void> {
  for (const key of [...target.messages.keys()]) {
    const message = target.messages.get(key);
    if (message?.stage === "unsent") await sendTo(id, target, message.text, key, outbox.answerFromOf(id, key));
  }
}

export const disconnect = (): void => stream?.pause();
export const reconnect = (): void => void stream?.start();
/** Loads the open session again after its stream closed permanently. */
export const reopenSession = (): void => {
  if (sessionId.value) void openSession(sessionId.value);
};
export const retryNow = (): void => stream?.retryNow();

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && start.value) refreshSessionsSoon();
});
