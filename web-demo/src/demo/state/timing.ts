// Delays and deadlines.
import { RecallError } from "@relevantic/recall";

/** A page without an answer after this time shows what it keeps. */
const START_TIMEOUT_MS = 8000;

/** Returns a function that calls `work` once after several calls in a row. */
export function debounce(work: () => void, ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Rejects if the server answers too late. A network that drops packets, or a server that hangs, would otherwise delay the page for long. */
export const beforeDeadline = <T>(work: Promise<T>): Promise<T> => Promise.race([
  work, new Promise<never>((_, reject) => setTimeout(() => reject(new RecallError("UNREACHABLE", "The server does not answer.")), START_TIMEOUT_MS)),
]);
