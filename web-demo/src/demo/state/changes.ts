// Changes anywhere in the memory, made in this tab or elsewhere. One stream delivers the events of all sessions and documents.
import type { MemoryEvent, MemoryStream } from "@relevantic/recall";
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

/** Follows the user's memory after a cursor, which is not newer than what the page shows. `onGap`: events cannot be delivered. */
export function followMemory(from: string, onGap: () => void): void {
  stopFollowingMemory();
  const missEvents = () => {
    onGap();
    tell(null);
  };
  const opened = client.memoryStream({ from, onGap: missEvents });
  opened.on("event", tell);
  stream = opened.start();
}

export function stopFollowingMemory(): void {
  stream?.close();
  stream = null;
}
