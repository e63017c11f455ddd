// A place in a session's event log, written `epoch:seq`. One cursor serves every transport: data channel, WebSocket, SSE.

/** `seq` counts the session's events from 1. `epoch` changes when the log is rebuilt: without it a client at 3 would take 4 of a new log and miss the new 1..3. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** Reads `epoch:seq`; `null` for anything else. The epoch may itself hold colons. */
export function parseCursor(text: string | null | undefined): Cursor | null {
  const at = text?.lastIndexOf(":") ?? -1;
  if (!text || at < 1) return null;
  const digits = text.slice(at + 1);
  const seq = Number(digits);
  if (!/^\d+$/.test(digits) || !Number.isSafeInteger(seq)) return null;
  return { epoch: text.slice(0, at), seq };
}

export const formatCursor = (cursor: Cursor): string => `${cursor.epoch}:${cursor.seq}`;

/** Where a stream keeps its place between page loads. Store a cursor only beside the state it belongs to. */
export interface CursorStore {
  load(sessionId: string): Cursor | null;
  save(sessionId: string, cursor: Cursor): void;
}

/**
 * Keeps cursors in a Web Storage area. `sessionStorage` (the default) is one per tab, which is what two tabs on one session need:
 * a tab must not skip what only the other tab has seen. A full or forbidden storage is ignored, the stream then starts from the head.
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
        // Private windows and full quotas: resuming across page loads is lost, nothing else.
      }
    },
  };
}
