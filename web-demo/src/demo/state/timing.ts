// Delays and deadlines.
import { RecallError } from "@relevantic/recall";

/** Longest wait for an answer that the page needs for its start. */
const START_TIMEOUT_MS = 8000;
/** A page that was opened before needs no longer wait: it shows what it keeps. */
const KEPT_PAGE_MS = 2000;

/** Returns a function that calls `work` once after several calls in a row. */
export function debounce(work: () => void, ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Ends when the page has waited long enough for the first answer of the server. `keepsPage`: whether it could show what it keeps. */
export async function firstDeadline(keepsPage: () => Promise<boolean>): Promise<void> {
  await delay(KEPT_PAGE_MS);
  if (!(await keepsPage())) await delay(START_TIMEOUT_MS - KEPT_PAGE_MS);
}

/** Rejects if the server answers too late. A network that drops packets, or a server that hangs, would otherwise delay the page for long. */
export const beforeDeadline = <T>(work: Promise<T>, deadline: Promise<void> = delay(START_TIMEOUT_MS)): Promise<T> => Promise.race([
  work, deadline.then(() => { throw new RecallError("UNREACHABLE", "The server does not answer."); }),
]);
