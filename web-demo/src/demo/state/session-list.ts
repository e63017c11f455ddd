// The list of sessions. Reading it also reads the state of the open one, and what may have changed of the viewer.
import { batch, signal } from "@preact/signals";
import type { MemoryEvent } from "@relevantic/recall";
import { Sessions, type SessionRow, type SessionsResult } from "../generated/operations.ts";
import { sessionId } from "./current-session.ts";
import { client } from "./login.ts";
import { keepPage } from "./offline.ts";
import { debounce } from "./timing.ts";
import { start } from "./viewer.ts";

const REFRESH_DELAY_MS = 600;
/** Events that change nothing in the list of sessions. */
const UNLISTED = new Set<MemoryEvent["type"]>(["entity_update", "document_update", "comparison_update"]);

export type SessionItem = SessionRow;

/** What the list of sessions shows besides its rows. */
export interface Listing {
  /** Pages that the reader has asked for. */
  readonly pages: number;
  readonly hasMore: boolean;
  readonly archived: number;
}

interface ListedSessions extends Listing {
  /** Own sessions first, latest message first. Contains the pinned ones and the open one, too. */
  readonly rows: SessionRow[];
  /** Whether the rows are all sessions. */
  readonly isComplete: boolean;
  readonly viewer: SessionsResult["viewer"];
}

export const sessions = signal<SessionItem[]>([]);
export const listing = signal<Listing>({ pages: 1, hasMore: false, archived: 0 });

/** `open`: the open session, which may be archived or far down. */
async function readSessions(pages: number, open: string | null, mayReadShared: boolean): Promise<ListedSessions> {
  const read = (after: string | null) => client.graphql(Sessions, { after, shared: mayReadShared, open: open ?? "", isOpen: open !== null });
  const first = await read(null);
  const own = [first.sessions];
  for (let last = first.sessions; own.length < pages && last.pageInfo.hasNextPage; own.push(last)) last = (await read(last.pageInfo.endCursor)).sessions;
  const hasMore = own.at(-1)?.pageInfo.hasNextPage === true;
  const archived = first.archived.totalCount ?? 0;
  const all = [...own, first.pinned, ...(first.shared ? [first.shared] : [])].flatMap(({ nodes }) => nodes).concat(first.open ?? []);
  return {
    pages, hasMore, archived, viewer: first.viewer,
    rows: [...new Map(all.map((row) => [row.id, row])).values()],
    isComplete: !hasMore && archived === 0 && !first.shared?.pageInfo.hasNextPage,
  };
}

/** Other parts of the page do not redraw if nothing changed. */
function updateViewer(now: SessionsResult["viewer"]) {
  const old = start.value;
  if (old && (old.viewer.paused !== now.paused || old.viewer.role !== now.role)) start.value = { ...old, viewer: { ...old.viewer, ...now } };
}

export async function refreshSessions(pages = listing.value.pages): Promise<void> {
  const open = sessionId.value;
  const { rows, isComplete, viewer, hasMore, archived } = await readSessions(pages, open, start.value?.viewer.role !== "ANONYMOUS");
  batch(() => {
    sessions.value = rows;
    listing.value = { pages, hasMore, archived };
    updateViewer(viewer);
  });
  keepPage(sessions.value, isComplete);
}

/** Ignores errors: the next event refreshes the list again. */
export const refreshSessionsSoon = debounce(() => void refreshSessions().catch(() => {}), REFRESH_DELAY_MS);

/** Whether an event may change the list. */
export const changesList = ({ type }: MemoryEvent): boolean => !UNLISTED.has(type);
