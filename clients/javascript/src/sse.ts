// The transport that needs only HTTP: server-sent events. It serves Node without WebSocket, and networks that block WebSockets.
import { CursorLink } from "./cursor-link.ts";
import { formatCursor, parseCursor, type Cursor } from "./cursor.ts";
import { authHeaders } from "./graphql.ts";
import type { Link, LinkEvents, LinkRequest } from "./link.ts";

/** The server sends a comment after 15 quiet seconds. Two missing comments mean a lost connection. */
const SILENCE_MS = 31_000;
/** No event is nearly as large. A server that sends more without a line end must not fill the memory. */
const MAX_UNREAD_CHARS = 4 * 1024 * 1024;
const REFUSED = new Set([401, 403, 404, 410]);

/** One server-sent event. */
export interface ServerSentEvent {
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

export const openSse = (request: LinkRequest, events: LinkEvents): Link => new SseLink(request, events).connect();

class SseLink extends CursorLink {
  readonly transport = "sse";

  /** Does nothing: server-sent events have no way back. */
  measure(): void {}

  protected subscribe(start: Cursor): void {
    this.#read(start).catch(() => this.down({ why: this.isOpen ? "lost" : this.notOpen(), code: "STREAM_FAILED" }));
  }

  async #read(start: Cursor) {
    const { endpoint, sessionId } = this.request;
    const url = `${endpoint.url}/sessions/${encodeURIComponent(sessionId)}/events?after=${encodeURIComponent(formatCursor(start))}`;
    const response = await fetch(url, { headers: { accept: "text/event-stream", ...authHeaders(endpoint) }, cache: "no-store", signal: this.abort.signal });
    const { status, body } = response;
    if (status !== 200 || !body) return this.down({ why: REFUSED.has(status) ? "refused" : status >= 500 ? "unreachable" : "blocked", code: `STREAM_${status}` });
    this.opened(start, SILENCE_MS);
    for await (const event of readEvents(body, () => this.events.heard())) {
      if (this.ended) return;
      this.receive({ type: event.type, cursor: parseCursor(event.id), ts: null, data: JSON.parse(event.data) });
    }
    this.down({ why: "lost", code: "STREAM_ENDED" });
  }

  /** The base class aborts the request. */
  protected disconnect(): void {}
}

/** Reads server-sent events from a body. `heard` is called for each piece, also for comments. */
export async function* readEvents(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      unread += decoder.decode(value, { stream: true });
      const blocks = unread.split(/\r?\n\r?\n/);
      unread = blocks.pop() ?? "";
      if (unread.length > MAX_UNREAD_CHARS) throw new RangeError("A server-sent event is too large.");
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Parses the lines of one event. Returns null for comments and events without data. */
export function parseEvent(block: string): ServerSentEvent | null {
  const fields = { event: "message", id: "", data: [] as string[] };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "data") fields.data.push(value);
    else if (name === "event" || name === "id") fields[name] = value;
  }
  return fields.data.length === 0 ? null : { type: fields.event, id: fields.id, data: fields.data.join("\n") };
}
