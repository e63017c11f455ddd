// The last events of the open session's stream, for developers. Only kinds and sizes are kept, no text of a user.
import { signal } from "@preact/signals";
import type { EventMeta, RecallEvent } from "@relevantic/recall";

const KEPT = 100;

export interface Frame {
  key: number;
  kind: string;
  /** Size of the event as JSON. */
  bytes: number;
  /** Number in the log. null: not part of the log, such as a part of an answer. */
  seq: number | null;
  replayed: boolean;
  /** Milliseconds between the record of the event and its arrival, by the clocks of server and browser. null: replayed, or not known. */
  delayMs: number | null;
}

/** Latest first. */
export const frames = signal<readonly Frame[]>([]);

export function recordFrame(event: RecallEvent, meta: EventMeta | null, now = Date.now()): void {
  const [last] = frames.value;
  const { seq = null, replayed = false, ts = null } = meta ?? {};
  const bytes = new TextEncoder().encode(JSON.stringify(event)).length;
  const delayMs = replayed || ts === null ? null : Math.max(0, now - Date.parse(ts));
  frames.value = [{ key: (last?.key ?? 0) + 1, kind: event.type, bytes, seq, replayed, delayMs }, ...frames.value].slice(0, KEPT);
}
