// Opens cited passages of documents. The URL names the passage; the cited words are kept here.
import { signal } from "@preact/signals";
import { navigate, passageHref } from "./route.ts";

const quotes = new Map<string, string>();
/** Increases with every request, also for the passage that is open already. */
export const passageRequests = signal(0);

/** Remembers the cited words, which the reading view marks. */
export function rememberQuote(chunkId: string, words: string): void {
  quotes.set(chunkId, words);
}
export const quoteOf = (chunkId: string): string | undefined => quotes.get(chunkId);

/** Shows a passage in the reading view. */
export function openPassage(documentId: string, chunkId: string, words?: string): void {
  if (words) rememberQuote(chunkId, words);
  passageRequests.value += 1;
  navigate(passageHref(documentId, chunkId));
}
