// The page's state and what a visitor can do with it. Views only read signals and call these functions.
import { batch, computed, signal } from "@preact/signals";
import { EventStream, RecallClient, RecallError, type StreamState } from "../../client/index.ts";
import {
  Around, CancelAnswer, DeleteSession, Earlier, Head, Later, MoreFacts, Place, RetractFact, Sessions, Snapshot, Start,
  type FactRow, type SessionRow, type StartResult,
} from "../generated/operations.ts";
import { answerOffer, credentials, door, enter, lock } from "./login.ts";
import { Memory } from "./memory.ts";
import * as outbox from "./outbox.ts";
import { go, replace, route, sessionHref } from "./route.ts";
import { note } from "./tour.ts";

export const client = new RecallClient(credentials);

export type SessionItem = SessionRow;
export const start = signal<StartResult | null>(null);
export const sessions = signal<SessionItem[]>([]);
export const memory = signal<Memory | null>(null);
export const sessionId = signal<string | null>(null);
export const line = signal<StreamState | null>(null);
/** What the last return of the line brought; shown for a while. */
export const caughtUp = signal<{ replayed: number; gaps: number; at: number } | null>(null);
/** A sentence about something that went wrong; null when nothing did. */
export const problem = signal<string | null>(null);
/** The session that the address names and that does not exist, or not for this person. */
export const missing = signal<string | null>(null);
/** The page itself cannot start. */
export const broken = signal<string | null>(null);
export const relations = computed(() => new Map(start.value?.relations.map((r) => [r.name, r])));

/** Whether the one at the page may change what is open: what is shared only administrators change. */
export const mayWrite = (shared: boolean): boolean => !shared || start.value?.viewer.role === "ADMIN";

/** Fact or entity under the pointer or focus; the graph and the lists light up together. */
export const spotlight = signal<{ fact?: string; entity?: string } | null>(null);
/** The fact whose evidence is open. */
export const openFact = signal<string | null>(null);
/** A message to scroll to and flash, once it is on the page. */
export const wantedMessage = signal<string | null>(null);

/** The other tabs of this browser; told that the list of sessions has changed. */
const tabs = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("recall.sessions");
if (tabs) tabs.onmessage = () => void (start.value && refreshSoon());
const tellTabs = () => tabs?.postMessage("changed");

const AWAY = "Not sent yet: the server is away. It will be sent when it is back.";
/** Reasons of the stream that mean that the login has ended. */
const NOBODY = new Set(["auth_expired", "SIGNALING_401", "SOCKET_4403", "UNAUTHENTICATED"]);
let stream: EventStream | null = null;
let gaps = 0;

const sentence = (error: unknown) => {
  if (error instanceof RecallError && error.status === 401) void shutOut();
  return error instanceof RecallError ? error.message : "Something went wrong on this page.";
};

/** The login has ended. What is on the page is somebody's own, so it goes. */
async function shutOut(): Promise<void> {
  leave();
  line.value = null;
  await lock();
  if (door.value) problem.value = broken.value = null;
  // Somebody is there all the same: they have logged in in another tab.
  else await boot();
}

let follows = false;

export async function boot(): Promise<void> {
  broken.value = null;
  try {
    if (!(await enter())) return;
    start.value = await client.graphql(Start, {});
    await refreshSessions();
    await follow();
    if (!follows) route.subscribe(() => void (door.value === null && follow()));
    follows = true;
  } catch (error) {
    broken.value = sentence(error);
  }
}

/** Answers whether what was told on a visit comes into the account. */
export async function settleVisit(take: boolean): Promise<void> {
  try {
    await answerOffer(take);
    await refreshSessions();
    // What stands on the page may have got facts from the other memory.
    // The address may be that of the visit, which was nobody's until now.
    const id = route.value.page === "session" ? route.value.id : sessionId.value;
    if (take && id) await open(id);
  } catch (error) {
    problem.value = sentence(error);
  }
}

export async function refreshSessions(): Promise<void> {
  const { sessions: own, shared } = await client.graphql(Sessions, { first: 50, shared: start.value?.viewer.role !== "ANONYMOUS" });
  sessions.value = [...own.nodes, ...(shared?.nodes ?? [])];
}

let refreshTimer: ReturnType<typeof setTimeout> | undefined;
function refreshSoon() {
  clearTimeout(refreshTimer);
  // The list is a convenience: when the server is away the next event refreshes it.
  refreshTimer = setTimeout(() => void refreshSessions().catch(() => {}), 600);
}

/** Makes the open session match the address. An entity page keeps the session beside it. */
async function follow(): Promise<void> {
  const { value } = route;
  openFact.value = null;
  spotlight.value = null;
  if (value.page === "session") {
    if (value.id !== sessionId.value || wanted !== value.id) await open(value.id);
    return;
  }
  const newest = sessionId.value ?? sessions.value.find((s) => !s.shared)?.id;
  if (value.page === "home") {
    if (newest) return replace(sessionHref(newest));
    return newSession();
  }
  if (newest && newest !== sessionId.value) await open(newest);
}

/** The session that is being opened; what was asked for last wins. */
let wanted: string | null = null;

/** Opens a session. The former one stays on the page, whole, until the new one is there: nothing typed meanwhile goes astray. */
async function open(id: string): Promise<void> {
  wanted = id;
  try {
    const { session } = await client.graphql(Head, { id });
    if (wanted !== id) return;
    const mine = new Memory(new Map(start.value?.relations.map((r) => [r.name, r.phrase])), session?.shared);
    for (const [key, text] of outbox.of(id)) {
      mine.sending(key, text);
      mine.refused(key, AWAY, false);
    }
    if (!session) return lost(id);
    const load = async () => {
      const snapshot = await fewerIfTooLarge((count) => client.graphql(Snapshot, { id, count }));
      if (!snapshot.session) return;
      mine.load(snapshot.session, await furtherFacts(id, snapshot.session.facts.pageInfo));
      for (const { externalId } of snapshot.session.messages.nodes) if (externalId) outbox.remove(id, externalId);
    };
    await load();
    if (wantedMessage.value && !mine.byId(wantedMessage.value)) await loadAround(id, mine, wantedMessage.value);
    if (wanted !== id) return;
    batch(() => {
      leave();
      missing.value = null;
      sessionId.value = id;
      memory.value = mine;
    });
    listen(id, session.head, mine, load);
    // A session of another page, such as GraphiQL's, is not in the list yet.
    if (!sessions.value.some((s) => s.id === id)) await refreshSessions();
  } catch (error) {
    if (wanted !== id) return;
    if (error instanceof RecallError && error.code === "INVALID_ID") lost(id);
    else broken.value = sentence(error);
  }
}

/** The address names no session of this person. */
function lost(id: string) {
  outbox.forget(id);
  leave();
  line.value = null;
  missing.value = id;
}

function leave() {
  stream?.close();
  stream = null;
  sessionId.value = null;
  memory.value = null;
}

/** Asks for a page of messages, and for a smaller one when long messages exceed what an answer may hold. */
async function fewerIfTooLarge<Result>(ask: (count: number) => Promise<Result>): Promise<Result> {
  try {
    return await ask(50);
  } catch (error) {
    if (error instanceof RecallError && error.code === "RESPONSE_TOO_LARGE") return ask(10);
    throw error;
  }
}

/** The facts after the first page. The page shows some hundreds well; past that the entity pages and the API are the place. */
async function furtherFacts(id: string, first: { hasNextPage: boolean; endCursor: string | null }): Promise<FactRow[]> {
  const rows: FactRow[] = [];
  for (let page = first; page.hasNextPage && page.endCursor && rows.length < 400; ) {
    const { session } = await client.graphql(MoreFacts, { id, after: page.endCursor });
    if (!session) break;
    rows.push(...session.facts.nodes);
    page = session.facts.pageInfo;
  }
  return rows;
}

export async function showEarlier(): Promise<void> {
  const [id, mine] = [sessionId.value, memory.value];
  if (!id || !mine?.earlier) return;
  try {
    const before = mine.earlier;
    const { session } = await fewerIfTooLarge((count) => client.graphql(Earlier, { id, before, count }));
    if (session) mine.loadEarlier(session.messages);
  } catch (error) {
    problem.value = sentence(error);
  }
}

/** Loads what comes after the messages around an older one. */
export async function showLater(): Promise<void> {
  const [id, mine] = [sessionId.value, memory.value];
  if (!id || !mine?.gap) return;
  try {
    const after = mine.gap.cursor;
    const { session } = await fewerIfTooLarge((count) => client.graphql(Later, { id, after, count }));
    if (session) mine.loadLater(session.messages);
  } catch (error) {
    problem.value = sentence(error);
  }
}

/** Takes a fact back: it was never so. (What ended is said in the chat: "I no longer …".) */
export async function retract(factId: string): Promise<void> {
  try {
    const { retractFact } = await client.graphql(RetractFact, { input: { id: factId } });
    if (retractFact.fact) memory.value?.adopt(retractFact.fact);
    else problem.value = retractFact.errors[0]?.message ?? "The fact could not be taken back.";
  } catch (error) {
    problem.value = sentence(error);
  }
}

/** Ends the answering of a question; the event that follows ends it on the page. */
export async function stopAnswer(messageId: string): Promise<void> {
  try {
    const { errors } = (await client.graphql(CancelAnswer, { input: { messageId } })).cancelAnswer;
    if (errors[0]) problem.value = errors[0].message;
  } catch (error) {
    problem.value = sentence(error);
  }
}

function listen(id: string, head: string, mine: Memory, load: () => Promise<void>) {
  const opened = client.stream(id, { from: head, onGap: load });
  stream = opened;
  caughtUp.value = null;
  let last: StreamState | null = null;
  opened.on("state", (state) => {
    if (opened !== stream) return;
    if (state.phase === "replaying" && last?.phase !== "replaying") mine.lineOpened();
    if (state.phase === "connecting" && last?.phase !== "connecting") gaps = 0;
    if (state.phase === "closed" && NOBODY.has(state.reason ?? "")) void shutOut();
    if (state.phase === "closed" && (state.reason === "deleted" || state.reason?.endsWith("404"))) problem.value = "This session does not exist any more.";
    last = state;
    line.value = state;
  });
  opened.on("gap", () => {
    gaps += 1;
  });
  opened.on("caughtUp", ({ replayed, afterReconnect }) => {
    if (afterReconnect) caughtUp.value = { replayed, gaps, at: Date.now() };
    if (afterReconnect && replayed > 0) note("replay");
    void resend(id, mine);
  });
  opened.on("event", (event, meta) => {
    mine.apply(event, meta);
    if (event.type === "message_stored" && event.client_message_id) outbox.remove(id, event.client_message_id);
    if (event.type === "fact_update") note(event.change === "reinforced" ? "again" : event.change === "ended" || event.change === "opposed" ? "change" : "tell");
    if (event.type === "answer_completed") note("ask");
    if (event.type !== "entity_update") refreshSoon();
  });
  opened.on("answer_delta", (event) => mine.apply(event, null));
  opened.on("context_ready", (event) => mine.apply(event, null));
  opened.start();
}

/** Shows a message: on the page, from further back in the open session, or in its own session. */
export async function showMessage(id: string): Promise<void> {
  try {
    const [open, mine] = [sessionId.value, memory.value];
    let session: string | undefined = open ?? undefined;
    if (!mine?.byId(id)) {
      session = (await client.graphql(Place, { id })).message?.session.id;
      if (session && session === open && mine) await loadAround(session, mine, id);
    }
    if (!session) {
      problem.value = "This message has been deleted.";
      return;
    }
    wantedMessage.value = id;
    if (session !== sessionId.value || route.value.page !== "session") go(sessionHref(session));
  } catch (error) {
    problem.value = sentence(error);
  }
}

/** Loads a message that is further back than what is loaded, with those around it. */
async function loadAround(id: string, mine: Memory, message: string): Promise<void> {
  const place = (await client.graphql(Place, { id: message })).message;
  if (place?.session.id !== id) return;
  const at = place.cursor;
  const around = await fewerIfTooLarge((count) => client.graphql(Around, { id, message, at, count: count / 2 }));
  if (!around.session || !around.message) return;
  const { older, newer } = around.session;
  mine.loadAround([...older.nodes, around.message, ...newer.nodes], older.pageInfo, newer.pageInfo);
}

/** Starts a session: one's own, or as an administrator one that all who have signed in read. */
export async function newSession(shared = false): Promise<void> {
  const current = sessions.value.find((s) => s.id === sessionId.value && s.shared === shared);
  const empty = current && memory.value?.messages.size === 0 ? current.id : undefined;
  try {
    const id = empty ?? (await client.createSession(undefined, { shared })).id;
    if (!empty) {
      tellTabs();
      await refreshSessions();
    }
    (route.value.page === "home" ? replace : go)(sessionHref(id));
  } catch (error) {
    problem.value = sentence(error);
  }
}

export async function deleteSession(id: string): Promise<void> {
  // The line goes first: the server would end it anyway, and would say so as if it were a mistake. One that was cut on purpose stays cut.
  const cut = id === sessionId.value && stream?.state.phase !== "paused" ? stream : null;
  cut?.pause();
  try {
    const { errors } = (await client.graphql(DeleteSession, { input: { id } })).deleteSession;
    if (errors[0]) throw new RecallError(errors[0].code, errors[0].message, 200);
  } catch (error) {
    cut?.start();
    problem.value = sentence(error);
    return;
  }
  outbox.forget(id);
  tellTabs();
  sessions.value = sessions.value.filter((s) => s.id !== id);
  refreshSoon();
  if (id === sessionId.value) {
    leave();
    line.value = null;
  }
  const next = sessions.value.find((s) => !s.shared);
  if (sessionId.value === null) replace(next ? sessionHref(next.id) : "#/");
  if (sessionId.value === null) await follow();
}

/** 128 random bits. `crypto.randomUUID` is missing where the page is served without TLS from another machine. */
const uniqueId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

export async function send(text: string, clientMessageId: string = uniqueId()): Promise<void> {
  const [id, mine] = [sessionId.value, memory.value];
  if (id && mine) await sendTo(id, mine, text, clientMessageId);
}

/** The session is fixed before the first wait: another may be open when the answer comes. */
async function sendTo(id: string, mine: Memory, text: string, clientMessageId: string): Promise<void> {
  mine.sending(clientMessageId, text);
  outbox.add(id, clientMessageId, text);
  try {
    const message = await client.sendMessage({ sessionId: id, text, clientMessageId });
    outbox.remove(id, clientMessageId);
    mine.accepted(clientMessageId, message.id);
    tellTabs();
    if (id === sessionId.value && line.value?.phase === "paused") note("cut");
  } catch (error) {
    const away = error instanceof RecallError && (error.status === 0 || error.status >= 500);
    if (!away) outbox.remove(id, clientMessageId);
    mine.refused(clientMessageId, away ? AWAY : sentence(error), !away);
  }
}

/** Messages that found no server go out again when the line is back; their client ids keep them from being stored twice. */
async function resend(id: string, mine: Memory): Promise<void> {
  for (const key of [...mine.messages.keys()]) {
    const message = mine.messages.get(key);
    if (message?.stage === "unsent") await sendTo(id, mine, message.text, key);
  }
}

export const cutLine = (): void => stream?.pause();
export const restoreLine = (): void => void stream?.start();
/** After the stream was closed for good: from the beginning, with a new snapshot. */
export const reopen = (): void => {
  if (sessionId.value) void open(sessionId.value);
};
export const retryNow = (): void => stream?.retryNow();

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && start.value) refreshSoon();
});
