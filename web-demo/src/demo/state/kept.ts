// What this browser keeps for reading without the server: the viewer, the list of sessions, the sessions that were opened last, and answers.
// It belongs to one account at a time. IndexedDB is optional: without it, the page keeps nothing.
import type { Who } from "@relevantic/recall";
import type { SessionRow, StartResult } from "../generated/operations.ts";
import type { Snapshot } from "./memory.ts";

const MOST_SESSIONS = 20;
const MOST_ANSWERS = 500;
/** Increase it when the form of what is kept changes. The browser then deletes what an older page kept. */
const FORM = 4;

export interface KeptPage {
  /** The id of the viewer. */
  readonly account: string;
  readonly who: Who | null;
  readonly visitEnds: Date | null;
  readonly start: StartResult;
  readonly sessions: readonly SessionRow[];
  /** Cursor of the memory. Copies of sessions contain nothing that was forgotten before it. */
  readonly head: string;
  readonly knownAt: string;
}

export interface KeptSession {
  readonly id: string;
  readonly account: string;
  readonly shared: boolean;
  readonly snapshot: Snapshot;
  readonly knownAt: string;
}

/** An answer of the server to one query. */
export interface KeptAnswer {
  /** The query with its variables. */
  readonly key: string;
  readonly account: string;
  readonly result: unknown;
  readonly knownAt: string;
}

const done = <T>(request: IDBRequest<T>) => new Promise<T>((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open("recall", FORM);
  request.onupgradeneeded = () => {
    const { result: database } = request;
    for (const name of [...database.objectStoreNames]) database.deleteObjectStore(name);
    database.createObjectStore("page");
    database.createObjectStore("sessions", { keyPath: "id" });
    database.createObjectStore("answers", { keyPath: "key" }).createIndex("knownAt", "knownAt");
  };
  return done(request);
}

interface Stores { page: IDBObjectStore; sessions: IDBObjectStore; answers: IDBObjectStore }

/** Runs one transaction. Returns null if the browser refuses it. */
async function transact<T>(mode: IDBTransactionMode, work: (stores: Stores) => Promise<T>): Promise<T | null> {
  try {
    const database = await open();
    try {
      const transaction = database.transaction(["page", "sessions", "answers"], mode);
      const committed = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
      });
      const [result] = await Promise.all([work({ page: transaction.objectStore("page"), sessions: transaction.objectStore("sessions"), answers: transaction.objectStore("answers") }), committed]);
      return result;
    } finally {
      database.close();
    }
  } catch {
    return null;
  }
}

export const readPage = (): Promise<KeptPage | null> => transact("readonly", async ({ page }) => ((await done(page.get("page"))) as KeptPage | undefined) ?? null);

/** Deletes what was kept of another account, and sessions that no longer exist. `complete`: the list contains all sessions. */
export const savePage = (kept: KeptPage, complete: boolean): Promise<unknown> => transact("readwrite", async ({ page, sessions, answers }) => {
  const old = (await done(page.get("page"))) as KeptPage | undefined;
  if (old && old.account !== kept.account) {
    answers.clear();
    await done(sessions.clear());
  }
  const listed = new Set(kept.sessions.map(({ id }) => id));
  for (const id of complete ? await done(sessions.getAllKeys()) : []) if (!listed.has(String(id))) sessions.delete(id);
  await done(page.put(kept, "page"));
});

export const readSession = (account: string, id: string): Promise<KeptSession | null> => transact("readonly", async ({ sessions }) => {
  const kept = (await done(sessions.get(id))) as KeptSession | undefined;
  return kept?.account === account ? kept : null;
});

/** Keeps a session, and evicts those that were kept least lately. Has no effect after a logout or with another account. */
export const saveSession = (kept: KeptSession): Promise<unknown> => transact("readwrite", async ({ page, sessions }) => {
  const owner = (await done(page.get("page"))) as KeptPage | undefined;
  if (owner?.account !== kept.account) return;
  await done(sessions.put(kept));
  if ((await done(sessions.count())) <= MOST_SESSIONS) return;
  const all = (await done(sessions.getAll())) as KeptSession[];
  for (const { id } of all.sort((a, b) => b.knownAt.localeCompare(a.knownAt)).slice(MOST_SESSIONS)) sessions.delete(id);
});

export const dropSessions = (ids: readonly string[]): Promise<unknown> => transact("readwrite", async ({ sessions }) => {
  for (const id of ids) sessions.delete(id);
});

/** Deletes the sessions of the user's own memory, or all. */
export const dropSessionsOf = (whose: "own" | "all"): Promise<unknown> => transact("readwrite", async ({ sessions }) => {
  for (const { id, shared } of (await done(sessions.getAll())) as KeptSession[]) if (whose === "all" || !shared) sessions.delete(id);
});

export const readAnswer = (account: string, key: string): Promise<unknown> => transact("readonly", async ({ answers }) => {
  const kept = (await done(answers.get(key))) as KeptAnswer | undefined;
  return kept?.account === account ? kept.result : null;
});

/** Keeps an answer, and evicts those that were kept least lately. Has no effect after a logout or with another account. */
export const saveAnswer = (kept: KeptAnswer): Promise<unknown> => transact("readwrite", async ({ page, answers }) => {
  const owner = (await done(page.get("page"))) as KeptPage | undefined;
  if (owner?.account !== kept.account) return;
  await done(answers.put(kept));
  const surplus = (await done(answers.count())) - MOST_ANSWERS;
  if (surplus <= 0) return;
  for (const key of await done(answers.index("knownAt").getAllKeys(null, surplus))) answers.delete(key);
});

export const dropAnswers = (): Promise<unknown> => transact("readwrite", async ({ answers }) => done(answers.clear()));

/** Deletes everything: after a logout, and after the deletion of the user's data. */
export const clearKept = (): Promise<unknown> => transact("readwrite", async ({ page, sessions, answers }) => {
  page.clear();
  answers.clear();
  await done(sessions.clear());
});
