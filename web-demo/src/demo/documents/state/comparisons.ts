// Comparisons of documents: the list of them, the open report, and their progress.
import { effect, signal } from "@preact/signals";
import type { EventOf, EventStream } from "@relevantic/recall";
import { Comparisons, GetComparison, type ComparisonRow, type GetComparisonResult } from "../generated/operations.ts";
import { client, loginMethods } from "../../state/login.ts";
import { dropSession, read } from "../../state/offline.ts";
import { handleError } from "../../state/problem.ts";
import { announcement, ignoreMissing, isUnfinished } from "./library.ts";

const ROWS_PER_PAGE = 20;
const MAX_ROWS_PER_PAGE = 100;
/** Unfinished comparisons are looked up this often. Events move only the open report. */
const POLL_MS = 4000;

export interface ComparisonList {
  rows: readonly ComparisonRow[];
  /** Cursor of the next page. null: all rows are loaded. */
  next: string | null;
}
export type OpenedComparison = NonNullable<GetComparisonResult["comparison"]>;

const EMPTY: ComparisonList = { rows: [], next: null };

export const comparisons = signal<ComparisonList>(EMPTY);
export const comparisonsError = signal<string | null>(null);
/** Whether the first answer has arrived. */
export const areComparisonsLoaded = (): boolean => comparisons.value !== EMPTY || comparisonsError.value !== null;
export const openedComparison = signal<OpenedComparison | null>(null);

let latestRefresh = 0;

async function loadRows(first: number, after: string | null): Promise<ComparisonList> {
  const { nodes, pageInfo } = (await read(Comparisons, { first, after })).comparisons;
  return { rows: nodes, next: pageInfo.hasNextPage ? pageInfo.endCursor : null };
}

/** Loads the list again. Keeps the number of loaded rows, up to a page of the server. */
export async function refreshComparisons(): Promise<void> {
  const current = ++latestRefresh;
  try {
    const loaded = await loadRows(Math.min(MAX_ROWS_PER_PAGE, Math.max(ROWS_PER_PAGE, comparisons.value.rows.length)), null);
    if (current !== latestRefresh) return;
    comparisons.value = loaded;
    comparisonsError.value = null;
  } catch (error) {
    if (current === latestRefresh) comparisonsError.value = handleError(error);
  }
  follow();
}

export async function showMoreComparisons(): Promise<void> {
  const before = latestRefresh;
  const { rows, next } = comparisons.value;
  try {
    const more = await loadRows(ROWS_PER_PAGE, next);
    if (before !== latestRefresh) return;
    const known = new Set(rows.map(({ id }) => id));
    comparisons.value = { rows: [...rows, ...more.rows.filter(({ id }) => !known.has(id))], next: more.next };
  } catch (error) {
    comparisonsError.value = handleError(error);
  }
}

/** Starts a comparison and returns its id. Throws a `RecallError`. */
export async function startComparison(documentIds: string[], question: string | null): Promise<string> {
  const input = { documentIds, ...(question ? { question } : {}) };
  return (await client.compareDocuments(input)).id;
}

/** Loads a comparison for the report. Returns null if it does not exist. */
export async function openComparison(id: string): Promise<OpenedComparison | null> {
  const { comparison } = await read(GetComparison, { id });
  openedComparison.value = comparison;
  follow();
  return comparison;
}

export function closeComparison(): void {
  openedComparison.value = null;
  follow();
}

/** Deletes a comparison. Returns whether it is gone. */
export async function deleteComparison(id: string): Promise<boolean> {
  if (stream?.sessionId === id) closeStream();
  try {
    await client.deleteComparison(id).catch(ignoreMissing);
  } catch (error) {
    announcement.value = comparisonsError.value = handleError(error);
    follow();
    return false;
  }
  dropSession(id);
  comparisons.value = { ...comparisons.value, rows: comparisons.value.rows.filter((row) => row.id !== id) };
  announcement.value = "The comparison was deleted.";
  void refreshComparisons();
  return true;
}

// Progress

let isReloading = false;
let isStale = false;

/** Reads the open report again. Requests during a reading are served by one more. Ignores errors, because the next poll tries again. */
async function reload(): Promise<void> {
  isStale = true;
  if (isReloading) return;
  isReloading = true;
  while (isStale && openedComparison.value) {
    isStale = false;
    const { id } = openedComparison.value;
    const answer = await read(GetComparison, { id }).catch(() => null);
    const before = openedComparison.value;
    if (before?.id !== id) isStale = true;
    else if (answer) {
      const { comparison } = answer;
      if (comparison) announceEnd(before, comparison);
      // An event may be newer than the answer.
      openedComparison.value = comparison && { ...comparison, done: Math.max(comparison.done, before.done) };
    }
  }
  isReloading = false;
  follow();
}

function announceEnd(before: OpenedComparison, now: OpenedComparison) {
  if (!isUnfinished(before) || isUnfinished(now)) return;
  announcement.value = now.status === "FAILED" ? `The comparison failed. ${now.error ?? ""}` : "The comparison is ready.";
}

function applyUpdate(event: EventOf<"comparison_update">) {
  const open = openedComparison.value;
  if (open?.id !== event.comparison_id) return;
  // Events do not contain the points, which are shown at the end.
  if (event.status.toUpperCase() !== open.status) void reload();
  else openedComparison.value = { ...open, done: Math.max(open.done, event.done), total: event.total };
}

let stream: EventStream | null = null;
let watchers = 0;
let pollTimer: ReturnType<typeof setTimeout> | undefined;

/** Follows the open report until it is finished, and reads the list again while one of its comparisons is unfinished. */
function follow() {
  const open = openedComparison.value;
  const wanted = open && isUnfinished(open) ? open.id : null;
  if (stream && stream.sessionId !== wanted) closeStream();
  if (wanted) stream ??= openStream(wanted);
  clearTimeout(pollTimer);
  const isListUnfinished = watchers > 0 && comparisons.value.rows.some(isUnfinished);
  if (wanted || isListUnfinished) pollTimer = setTimeout(() => void poll(wanted !== null, isListUnfinished), POLL_MS);
}

async function poll(open: boolean, list: boolean) {
  if (list) await refreshComparisons();
  if (open) await reload();
}

function closeStream() {
  const closing = stream;
  stream = null;
  closing?.close();
}

function openStream(id: string): EventStream {
  // As for documents: what works here says nothing about the session's stream.
  const transportStore = { load: () => null, save: () => {} };
  const opened = client.stream(id, { transports: ["websocket", "sse"], transportStore });
  opened.on("comparison_update", applyUpdate);
  // The stream starts with new events, so read what happened before.
  opened.on("caughtUp", () => void reload());
  opened.on("state", ({ phase, reason }) => {
    if (phase !== "closed" || stream !== opened) return;
    stream = null;
    if (reason === "deleted") openedComparison.value = null;
  });
  return opened.start();
}

/** Loads the list and keeps it up to date until the returned function is called. */
export function watchComparisons(): () => void {
  watchers += 1;
  void refreshComparisons();
  return () => {
    watchers -= 1;
    follow();
  };
}

// The next user of the page must not see the comparisons.
effect(() => {
  if (loginMethods.value === null) return;
  comparisons.value = EMPTY;
  openedComparison.value = null;
  comparisonsError.value = null;
  closeStream();
});
