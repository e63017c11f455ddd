// Cursors: positions in a session's event log, written `epoch:seq`. Every transport (data channel, WebSocket, SSE) uses the same cursor.
/** Parses `epoch:seq`. Returns `null` for other text. The epoch may contain colons. */
export function parseCursor(text) {
    const at = text?.lastIndexOf(":") ?? -1;
    if (!text || at < 1)
        return null;
    const digits = text.slice(at + 1);
    const seq = Number(digits);
    if (!/^\d+$/.test(digits) || !Number.isSafeInteger(seq))
        return null;
    return { epoch: text.slice(0, at), seq };
}
export const formatCursor = (cursor) => `${cursor.epoch}:${cursor.seq}`;
/**
 * Keeps cursors in a Web Storage area.
 *
 * The default is `sessionStorage`, which is separate for each tab. A tab must not skip events that only another tab has seen.
 * If storage is full or forbidden, the stream starts from the head after a page load.
 */
export function webStorageCursors(storage = () => sessionStorage, prefix = "recall.cursor.") {
    return {
        load(sessionId) {
            try {
                return parseCursor(storage().getItem(prefix + sessionId));
            }
            catch {
                return null;
            }
        },
        save(sessionId, cursor) {
            try {
                storage().setItem(prefix + sessionId, formatCursor(cursor));
            }
            catch {
                // Storage is full or forbidden. Only resuming across page loads is lost.
            }
        },
    };
}
