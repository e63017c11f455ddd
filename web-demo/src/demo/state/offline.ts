// Reading without the server: which copies this browser keeps and deletes, and the watch for the server's return.
import { signal } from "@preact/signals";
import { RecallError, type MemoryEvent, type MemoryGap, type TypedDocument } from "@relevantic/recall";
import type { SessionRow } from "../generated/operations.ts";
import { memoryCursor } from "./changes.ts";
import { connection, memory, sessionId } from "./current-session.ts";
import { setDraft } from "./drafts.ts";
import { isUnreachable } from "./errors.ts";
import { dropSessions, dropSessionsOf, readPage, readSession, savePage, saveSession, type KeptSession } from "./kept.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { account, client, hasToken, visitEnds } from "./login.ts";
import type { Memory } from "./memory.ts";
import { outbox } from "./outbox.ts";
import { ReturnWatch } from "./return-watch.ts";
import { beforeDeadline } from "./timing.ts";
import { start } from "./viewer.ts";

/** Most that the browser keeps of a session. */
const KEPT_MESSAGES = 200;
const KEPT_FACTS = 500;

/** The page shows what was known then, because the server cannot be reached. null: it shows the present. */
export const knownAt = signal<string | null>(null);
/** The session in the URL, if this browser keeps no copy of it and the server cannot be reached. */
export const notKept = signal<string | null>(null);

/** Notices when the server returns. */
export const watch = new ReturnWatch(() => beforeDeadline(client.whoIsThere()).then(() => true, (error: unknown) => !isUnreachable(error)));

const answers = new KeptAnswers();

/** Nothing is kept of users with a token, because the page forgets the token when it closes. null: the page does not know the account yet. */
const keeper = (): string | null | undefined => (hasToken.value ? undefined : (start.value?.viewer.id ?? null));

/** Keeps the viewer and the list of sessions. `complete`: the list contains all sessions. */
export function keepPage(sessions: readonly SessionRow[], complete: boolean): void {
  const id = keeper();
  if (!id || !start.value) return;
  const head = memoryCursor() ?? start.value.viewer.head;
  const kept = { account: id, who: account.value, visitEnds: visitEnds.value, start: start.value, sessions, head, knownAt: new Date().toISOString() };
  void savePage(kept, complete).then(() => answers.begin(id));
}

/** Nothing that was asked for until now is kept. */
export const endKeeping = (): void => answers.end();

/** Keeps the open session as the page shows it. */
export function keepSession(id: string, target: Memory): void {
  const owner = keeper();
  if (!owner || target !== memory.value) return;
  void saveSession({ id, account: owner, shared: target.shared, snapshot: target.snapshot(KEPT_MESSAGES, KEPT_FACTS), knownAt: new Date().toISOString() });
}

/** Keeps the open session if the page shows its present. */
export function keepOpenSession(): void {
  const [id, open] = [sessionId.value, memory.value];
  if (id && open && connection.value?.phase === "live") keepSession(id, open);
}

/** Reads the user's copy of a session. */
export async function readCopy(id: string): Promise<KeptSession | null> {
  const owner = keeper();
  return owner ? readSession(owner, id) : null;
}

/** Why a reading place shows nothing without the server. */
export const NOT_KEPT = "Not available offline: this was not opened on this device before. It loads when the line is back.";

/** Whether a read failed only because the server is missing and this device has no copy. */
export const isNotKept = (error: unknown): boolean => error instanceof RecallError && error.code === "NOT_KEPT";

/** Without a session, no stream notices that the server is missing. The start notices it itself. */
function noticeOutage() {
  if (start.value === null || connection.value !== null || knownAt.value !== null) return;
  knownAt.value = new Date().toISOString();
  watch.start();
}

/** Asks the server, and keeps the answer in this browser. Without the server, returns the kept answer. */
export async function read<Result, Variables>(query: TypedDocument<Result, Variables>, variables: Variables): Promise<Result> {
  const [owner, key] = [keeper(), `${query} ${JSON.stringify(variables)}`];
  // The server may not answer for a long time.
  const known = knownAt.value === null ? null : await answers.find<Result>(owner, key);
  if (known !== null) return known;
  try {
    return await answers.ask(keeper, key, () => client.graphql(query, variables));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const kept = await answers.find<Result>(owner, key);
    noticeOutage();
    if (kept !== null) return kept;
    throw new RecallError("NOT_KEPT", NOT_KEPT, 0);
  }
}

/** Deletes what this browser keeps of a session: its copy, its unsent messages and its draft. */
export function dropSession(id: string): void {
  setDraft(id, "");
  if (start.value) outbox.clearSession(start.value.viewer.id, id);
  answers.drop();
  void dropSessions([id]);
}

/** What was forgotten or deleted elsewhere must not stay in this browser. While the open session is followed, its copy follows its events. */
export function dropOutdatedCopy(event: MemoryEvent): void {
  if (event.type === "viewer_update") return;
  if (event.type === "session_deleted") return dropSession(event.session_id);
  const forgets = event.type === "message_forgotten" || (event.type === "fact_update" && (event.change === "removed" || event.change === "retracted"));
  if (forgets) answers.drop();
  const isFollowed = event.session_id === sessionId.value && connection.value?.phase === "live";
  if (forgets && !isFollowed) void dropSessions([event.session_id]);
}

/** After a gap, copies may contain what was forgotten meanwhile. Own sessions may cite shared memory, but not the reverse. */
export async function dropUntrustedCopies({ shared }: Pick<MemoryGap, "shared">): Promise<void> {
  answers.drop();
  await dropSessionsOf(shared ? "all" : "own");
  keepOpenSession();
}

/** Where the memory must be followed from, so that the copies of this browser learn what was forgotten while no page was open. */
export async function copiesCursor(viewer: string): Promise<string | null> {
  const kept = keeper() ? await readPage() : null;
  return kept?.account === viewer ? kept.head : null;
}
