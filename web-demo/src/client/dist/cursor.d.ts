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
export declare function parseCursor(text: string | null | undefined): Cursor | null;
export declare const formatCursor: (cursor: Cursor) => string;
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
export declare function webStorageCursors(storage?: () => Storage, prefix?: string): CursorStore;
