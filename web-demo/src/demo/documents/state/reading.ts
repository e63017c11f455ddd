// Loads the text of a document for the reading view, up to a cited passage.
import { RecallError } from "@relevantic/recall";
import { Chunks, Passage, type ChunkRow, type PassageResult } from "../generated/operations.ts";
import { read } from "../../state/offline.ts";

const CHUNKS_PER_PAGE = 100;
/** Page size for long chunks, of which 100 exceed the server's limit for an answer. */
const LONG_CHUNKS_PER_PAGE = 10;
/** A passage that stands deeper is shown with its section alone, because the API loads chunks only from the beginning. */
const MAX_CHUNKS_BEFORE = 2000;

export type CitedChunk = NonNullable<NonNullable<PassageResult["message"]>["chunk"]>;

export interface LoadedText {
  chunks: ChunkRow[];
  /** Cursor of the next chunks. null: this is all that is stored. */
  next: string | null;
}

async function loadPage(id: string, after: string | null): Promise<LoadedText | null> {
  const request = async (first: number) => (await read(Chunks, { id, first, after })).document;
  const found = await request(CHUNKS_PER_PAGE).catch((error: unknown) => {
    if (error instanceof RecallError && error.code === "RESPONSE_TOO_LARGE") return request(LONG_CHUNKS_PER_PAGE);
    throw error;
  });
  if (!found) return null;
  const { nodes, pageInfo } = found.chunks;
  return { chunks: nodes, next: pageInfo.hasNextPage ? pageInfo.endCursor : null };
}

/** Loads the text from the beginning, at least to the chunk at `position`. Returns null if the document does not exist. */
export async function loadText(id: string, position = 0): Promise<LoadedText | null> {
  let text = await loadPage(id, null);
  while (text?.next && text.chunks.length <= position) text = await loadMore(id, text);
  return text;
}

/** Loads the next chunks. */
export async function loadMore(id: string, text: LoadedText): Promise<LoadedText> {
  if (!text.next) return text;
  const page = await loadPage(id, text.next);
  return { chunks: [...text.chunks, ...(page?.chunks ?? [])], next: page?.next ?? null };
}

/** Returns a cited chunk, or null if it was deleted or belongs to another document. */
export async function loadPassage(documentId: string, chunkId: string): Promise<CitedChunk | null> {
  try {
    const chunk = (await read(Passage, { id: chunkId })).message?.chunk ?? null;
    return chunk?.document.id === documentId ? chunk : null;
  } catch (error) {
    if (error instanceof RecallError && error.code === "INVALID_ID") return null;
    throw error;
  }
}

export const isTooDeep = (chunk: CitedChunk): boolean => chunk.position >= MAX_CHUNKS_BEFORE;
