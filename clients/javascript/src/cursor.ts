// Cursors: positions in a session's event log, written `epoch:seq`. Every transport (data channel, WebSocket, SSE) uses the same cursor.

/**
 * A position in a session's event log.
 *
 * `seq` counts the session's events from 1. `epoch` changes when the server rebuilds the log. Without an epoch, a client at 3 would
 * continue with 4 of the new log and miss its 1..3.
 */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** Parses `epoch:seq`. Returns `null` for other text. The epoch may contain colons. */
export function parseCursor(text: string | null | undefined): Cursor | null {
  const at = text?.lastIndexOf(":") ?? -1;
  if (!text || at < 1) return null;
  const digits = text.slice(at + 1);
  const seq = Number(digits);
  if (!/^\d+$/.test(digits) || !Number.isSafeInteger(seq)) return null;
  return { epoch: text.slice(0, at), seq };
}

export const formatCursor = (cursor: Cursor): string => `${cursor.epoch}:${cursor.seq}`;

/** Keeps cursors between page loads. Store a cursor only together with the state that it belongs to. */
export interface CursorStore {
  load(sessionId: string): Cursor | null;
  save(sessionId: string, cursor: Cursor): void;
}

/**
 * Keeps cursors in a Web Storage area.
 *
 * The default is `sessionStorage`, which is separate for each tab. A tab must not skip events that only another tab has seen.
 * If storage is full or forbidden, the stream starts from the head after a page load.
 */
export function webStorageCursors(storage: () => Storage = () => sessionStorage, prefix = "recall.cursor."): CursorStore {
  return {
    load(sessionId) {
      try {
        return parseCursor(storage().getItem(prefix + sessionId));
      } catch {
        return null;
      }
    },
    save(sessionId, cursor) {
      try {
        storage().setItem(prefix + sessionId, formatCursor(cursor));
      } catch {
        // Storage is full or forbidden. Only resuming across page loads is lost.
      }
    },
  };
}
