// Changes anywhere in the memory, made in this tab or elsewhere. One stream delivers the events of all sessions and documents.
import type { MemoryEvent, MemoryGap, MemoryStream, MemoryStreamState } from "@relevantic/recall";
import { client } from "./login.ts";

/** null: events were missed, so everything must be read again. */
type Listener = (event: MemoryEvent | null) => void;

const listeners = new Set<Listener>();
let stream: MemoryStream | null = null;

/** Calls `listener` for each event. Returns a function that ends this. */
export function onMemoryEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const tell = (event: MemoryEvent | null) => {
  for (const listener of [...listeners]) listener(event);
};

/** Everything must be read again after the server was missing. */
export const tellOfReturn = (): void => tell(null);

interface Following {
  /** Events cannot be delivered. The cursor of the stream passes them when it is done. */
  readonly onGap: (gap: MemoryGap) => Promise<void>;
  /** The stream is live again after an interruption. */
  readonly onReconnect: () => void;
}

/** Follows the user's memory after a cursor, which is not newer than what the page shows. */
export function followMemory(from: string, { onGap, onReconnect }: Following): void {
  stopFollowingMemory();
  const missEvents = async (gap: MemoryGap) => {
    await onGap(gap);
    tell(null);
  };
  const opened = client.memoryStream({ from, onGap: missEvents });
  let last: MemoryStreamState["phase"] = "paused";
  let hasBeenLive = false;
  opened.on("state", ({ phase }) => {
    if (phase === "live" && last !== "live" && hasBeenLive) onReconnect();
    hasBeenLive ||= phase === "live";
    last = phase;
  });
  opened.on("event", tell);
  stream = opened.start();
}

/** After the newest event that the page has handled. null: the page does not follow the memory. */
export const memoryCursor = (): string | null => stream?.state.cursor ?? null;

export function stopFollowingMemory(): void {
  stream?.close();
  stream = null;
}
