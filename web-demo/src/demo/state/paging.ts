// Loads a session's messages and facts into a Memory, page by page.
import { RecallError } from "@relevantic/recall";
import { Around, Earlier, Later, MoreFacts, Place, Snapshot, type FactRow } from "../generated/operations.ts";
import { client } from "./login.ts";
import type { Memory } from "./memory.ts";

const MESSAGES_PER_PAGE = 50;
/** Page size for long messages, of which 50 exceed the server's limit for an answer. */
const LONG_MESSAGES_PER_PAGE = 10;
/** More facts would make the page slow. Entity pages and the API show the rest. */
const MAX_EXTRA_FACTS = 400;

/** Requests a page of messages. Retries with a smaller page if the answer is too large. */
async function requestPage<Result>(request: (count: number) => Promise<Result>): Promise<Result> {
  try {
    return await request(MESSAGES_PER_PAGE);
  } catch (error) {
    if (error instanceof RecallError && error.code === "RESPONSE_TOO_LARGE") return request(LONG_MESSAGES_PER_PAGE);
    throw error;
  }
}

/** Loads the newest messages and the facts. Returns client ids of stored messages. */
export async function loadSnapshot(id: string, memory: Memory): Promise<string[]> {
  const { session } = await requestPage((count) => client.graphql(Snapshot, { id, count }));
  if (!session) return [];
  memory.load(session, await fetchMoreFacts(id, session.facts.pageInfo));
  return session.messages.nodes.flatMap(({ externalId }) => externalId ?? []);
}

async function fetchMoreFacts(id: string, first: { hasNextPage: boolean; endCursor: string | null }): Promise<FactRow[]> {
  const rows: FactRow[] = [];
  for (let page = first; page.hasNextPage && page.endCursor && rows.length < MAX_EXTRA_FACTS; ) {
    const { session } = await client.graphql(MoreFacts, { id, after: page.endCursor });
    if (!session) break;
    rows.push(...session.facts.nodes);
    page = session.facts.pageInfo;
  }
  return rows;
}

export async function loadEarlier(id: string, memory: Memory, before: string): Promise<void> {
  const { session } = await requestPage((count) => client.graphql(Earlier, { id, before, count }));
  if (session) memory.loadEarlier(session.messages);
}

/** Loads messages into the gap after `after`. */
export async function loadLater(id: string, memory: Memory, after: string): Promise<void> {
  const { session } = await requestPage((count) => client.graphql(Later, { id, after, count }));
  if (session) memory.loadLater(session.messages);
}

/** Loads an older message and its neighbours. */
export async function loadAround(id: string, memory: Memory, message: string): Promise<void> {
  const place = (await client.graphql(Place, { id: message })).message;
  if (place?.session.id !== id) return;
  const at = place.cursor;
  const around = await requestPage((count) => client.graphql(Around, { id, message, at, count: count / 2 }));
  if (!around.session || !around.message) return;
  const { older, newer } = around.session;
  memory.loadAround([...older.nodes, around.message, ...newer.nodes], older.pageInfo, newer.pageInfo);
}
