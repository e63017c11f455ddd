// The lists of documents, own and shared. Events of unfinished documents update their rows.
import { batch, computed, effect, signal } from "@preact/signals";
import { RecallError, type DocumentStatus, type EventOf, type EventStream } from "@relevantic/recall";
import { Documents, GetDocument, MarkViewed, type DocumentRow, type GetDocumentResult } from "../generated/operations.ts";
import { client, loginMethods } from "../../state/login.ts";
import { dropSession, read } from "../../state/offline.ts";
import { handleError } from "../../state/problem.ts";
import { start } from "../../state/viewer.ts";

const ROWS_PER_PAGE = 50;
const MAX_ROWS_PER_PAGE = 100;
/** A visitor may open six streams. The open session and the memory have one each. The server parses two documents at a time. */
const MAX_FOLLOWED = 2;
/** Documents that no stream follows are looked up this often while they are unfinished. */
const POLL_MS = 4000;

export interface Filter {
  text: string;
  status: DocumentStatus | null;
  /** Show versions that a newer one replaced. */
  older: boolean;
}
const NO_FILTER: Filter = { text: "", status: null, older: false };

export interface Shelf {
  rows: readonly DocumentRow[];
  total: number;
  /** Cursor of the next page. null: all rows are loaded. */
  next: string | null;
}
export type OpenedDocument = NonNullable<GetDocumentResult["document"]>;

const EMPTY: Shelf = { rows: [], total: 0, next: null };

export const filter = signal<Filter>(NO_FILTER);
export const own = signal<Shelf>(EMPTY);
export const shared = signal<Shelf>(EMPTY);
/** The document in the reading view, which the lists may not contain. */
export const opened = signal<OpenedDocument | null>(null);
/** The first answer has arrived. */
export const isLoaded = signal(false);
export const loadError = signal<string | null>(null);
/** What a screen reader announces. */
export const announcement = signal("");
export const isFiltered = computed(() => filter.value.text.trim() !== "" || filter.value.status !== null);

export const isUnfinished = ({ status }: Pick<DocumentRow, "status">): boolean => status === "PENDING" || status === "PROCESSING";
const allRows = (): DocumentRow[] => [...(opened.value ? [opened.value] : []), ...own.value.rows, ...shared.value.rows];
export const findRow = (id: string): DocumentRow | undefined => allRows().find((row) => row.id === id);

let latestRefresh = 0;

function conditions() {
  const { status, older } = filter.value;
  const text = filter.value.text.trim();
  return { current: !older, ...(text ? { text } : {}), ...(status ? { status } : {}) };
}

async function loadShelf(isShared: boolean, loaded: number): Promise<Shelf> {
  const first = Math.min(MAX_ROWS_PER_PAGE, Math.max(ROWS_PER_PAGE, loaded));
  const { documents } = await read(Documents, { filter: conditions(), first, shared: isShared });
  return { rows: documents.nodes, total: documents.totalCount ?? documents.nodes.length, next: documents.pageInfo.hasNextPage ? documents.pageInfo.endCursor : null };
}

/** Loads the lists again. Keeps the number of loaded rows, up to a page of the server. `isQuiet`: the next attempt follows, so errors are not shown. */
export async function refresh(isQuiet = false): Promise<void> {
  const current = ++latestRefresh;
  try {
    const mayReadShared = start.value?.viewer.role !== "ANONYMOUS";
    const [mine, everyones] = await Promise.all([
      loadShelf(false, own.value.rows.length), mayReadShared ? loadShelf(true, shared.value.rows.length) : EMPTY,
    ]);
    if (current !== latestRefresh) return;
    for (const row of [...mine.rows, ...everyones.rows]) announceEnd(row);
    batch(() => {
      own.value = mine;
      shared.value = everyones;
      const known = [...mine.rows, ...everyones.rows].find((row) => row.id === opened.value?.id);
      if (known && opened.value) opened.value = { ...opened.value, ...known };
    });
    isLoaded.value = true;
    loadError.value = null;
  } catch (error) {
    const message = handleError(error);
    if (current === latestRefresh && !(isQuiet && isLoaded.value)) loadError.value = message;
  }
  follow();
}

export async function showMore(isShared: boolean): Promise<void> {
  const shelf = isShared ? shared : own;
  const before = latestRefresh;
  try {
    const { documents } = await read(Documents, { filter: conditions(), first: ROWS_PER_PAGE, after: shelf.value.next, shared: isShared });
    if (before !== latestRefresh) return;
    const known = new Set(shelf.value.rows.map((row) => row.id));
    shelf.value = {
      ...shelf.value, rows: [...shelf.value.rows, ...documents.nodes.filter((row) => !known.has(row.id))],
      next: documents.pageInfo.hasNextPage ? documents.pageInfo.endCursor : null,
    };
    follow();
  } catch (error) {
    loadError.value = handleError(error);
  }
}

let filterTimer: ReturnType<typeof setTimeout> | undefined;

/** Changes the filter. Waits for the end of typing. */
export function setFilter(change: Partial<Filter>): void {
  filter.value = { ...filter.value, ...change };
  clearTimeout(filterTimer);
  filterTimer = setTimeout(() => void refresh(), change.text === undefined ? 0 : 250);
}

export function clearFilter(): void {
  if (isFiltered.value) setFilter(NO_FILTER);
}

function updateRow(id: string, change: (row: DocumentRow) => DocumentRow | null) {
  if (opened.value?.id === id) {
    const changed = change(opened.value);
    opened.value = changed && { ...opened.value, ...changed };
  }
  for (const shelf of [own, shared]) {
    if (!shelf.value.rows.some((row) => row.id === id)) continue;
    const rows = shelf.value.rows.flatMap((row) => (row.id === id ? (change(row) ?? []) : row));
    shelf.value = { ...shelf.value, rows, total: shelf.value.total + rows.length - shelf.value.rows.length };
  }
}

/** "photo.png could not be read. …", "notes.md is ready." */
export const endText = ({ filename, status, error }: Pick<DocumentRow, "filename" | "status" | "error">): string =>
  status === "FAILED" ? `${filename} could not be read. ${error ?? ""}` : `${filename} is ready.`;

/** Says that a document is ready or failed, once. */
function announceEnd(row: DocumentRow) {
  const before = findRow(row.id);
  if (!before || !isUnfinished(before) || isUnfinished(row)) return;
  announcement.value = endText(row);
}

/** Loads a document for the reading view. Returns null if it does not exist. */
export async function openDocument(id: string): Promise<OpenedDocument | null> {
  const { document } = await read(GetDocument, { id });
  opened.value = document;
  follow();
  return document;
}

/** Records that the user views a document. The page goes on showing when it was viewed before. */
export const markViewed = (id: string) => client.graphql(MarkViewed, { input: { documentId: id } });

async function refreshRow(id: string): Promise<void> {
  const { document: loaded } = await read(GetDocument, { id });
  const document = loaded && { ...loaded, viewedAt: opened.value?.id === id ? opened.value.viewedAt : loaded.viewedAt };
  const hasEnded = document !== null && !isUnfinished(document);
  if (document) announceEnd(document);
  updateRow(id, () => document);
  // A new version takes the place of the one before.
  if (hasEnded && document.version > 1) await refresh(true);
}

function applyUpdate(event: EventOf<"document_update">) {
  const row = findRow(event.document_id);
  if (!row) return;
  const status = event.status.toUpperCase() as DocumentStatus;
  // The title, the pages and the number of chunks are known after parsing. Events do not contain them.
  if (status !== row.status || row.chunkCount === 0) void refreshRow(row.id).catch(() => {});
  else updateRow(row.id, (known) => ({ ...known, done: Math.max(known.done, event.done), total: event.total }));
}

// Events

const streams = new Map<string, EventStream>();
let watchers = 0;
let pollTimer: ReturnType<typeof setTimeout> | undefined;

/** Follows the oldest unfinished documents, which the server processes first. */
function follow() {
  const unfinished = watchers > 0 ? allRows().filter(isUnfinished).reverse() : [];
  const ids = [...new Set(unfinished.map((row) => row.id))].slice(0, MAX_FOLLOWED);
  for (const [id, stream] of streams) {
    if (ids.includes(id)) continue;
    streams.delete(id);
    stream.close();
  }
  for (const id of ids) if (!streams.has(id)) streams.set(id, openStream(id));
  clearTimeout(pollTimer);
  if (unfinished.length > 0) pollTimer = setTimeout(() => void refresh(true), POLL_MS);
}

function openStream(id: string): EventStream {
  // A data channel takes longer to open. What works here says nothing about the session's stream, so it is not remembered.
  const transportStore = { load: () => null, save: () => {} };
  const stream = client.stream(id, { transports: ["websocket", "sse"], transportStore });
  stream.on("document_update", applyUpdate);
  // The stream starts with new events, so read what happened before.
  stream.on("caughtUp", () => void refreshRow(id).then(follow, () => {}));
  stream.on("state", ({ phase, reason }) => {
    if (phase !== "closed" || streams.get(id) !== stream) return;
    streams.delete(id);
    if (reason === "deleted") updateRow(id, () => null);
  });
  return stream.start();
}

effect(() => {
  void [own.value, shared.value, opened.value];
  queueMicrotask(closeFinished);
});

/** Closes the streams of documents that have ended, and follows the next ones. */
function closeFinished() {
  if ([...streams.keys()].some((id) => { const row = findRow(id); return !row || !isUnfinished(row); })) follow();
}

/** Loads the lists and keeps them up to date until the returned function is called. */
export function watchLibrary(): () => void {
  watchers += 1;
  void refresh();
  return () => {
    watchers -= 1;
    clearTimeout(pollTimer);
    follow();
  };
}

/** Handles the error of a deletion: what another tab has deleted is gone, too. */
export function ignoreMissing(error: unknown): void {
  if (!(error instanceof RecallError) || error.code !== "NOT_FOUND") throw error;
}

/** Deletes a document. Returns whether it is gone. */
export async function deleteDocument({ id, filename }: Pick<DocumentRow, "id" | "filename">): Promise<boolean> {
  const stream = streams.get(id);
  streams.delete(id);
  stream?.close();
  try {
    await client.deleteDocument(id).catch(ignoreMissing);
  } catch (error) {
    announcement.value = loadError.value = handleError(error);
    return false;
  }
  dropSession(id);
  updateRow(id, () => null);
  announcement.value = `${filename} was deleted.`;
  // An older version may be current again.
  void refresh();
  return true;
}

// The next user of the page must not see the lists.
effect(() => {
  if (loginMethods.value === null) return;
  own.value = shared.value = EMPTY;
  opened.value = null;
  filter.value = NO_FILTER;
  isLoaded.value = false;
  announcement.value = "";
});
