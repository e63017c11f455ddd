// What the WebSocket and server-sent events share: a link that reads the session's head and then subscribes after a cursor.
import { parseCursor, type Cursor } from "./cursor.ts";
import { StreamHead } from "./generated/operations.ts";
import { RecallError, graphql } from "./graphql.ts";
import type { Down, Link, LinkEvents, LinkRequest, TransportName } from "./link.ts";

const EPHEMERAL = new Set(["answer_delta", "context_ready"]);

/** One entry as these transports deliver it. */
export interface SubscriptionEntry {
  readonly type: string;
  /** null for entries without a number. */
  readonly cursor: Cursor | null;
  /** When it was recorded. null: the transport does not say. */
  readonly ts: string | null;
  readonly data: unknown;
}

export abstract class CursorLink implements Link {
  abstract readonly transport: TransportName;
  protected readonly request: LinkRequest;
  protected readonly events: LinkEvents;
  protected readonly abort = new AbortController();
  /** The server accepted the subscription's connection. */
  protected isOpen = false;
  protected ended = false;
  #openTimer: ReturnType<typeof setTimeout> | undefined;
  #epoch = "";
  #head = 0;
  #recovered = true;
  /** The server has answered, so a later failure to open concerns this transport only. */
  #answered = false;
  #caughtUp = false;

  constructor(request: LinkRequest, events: LinkEvents) {
    this.request = request;
    this.events = events;
  }

  /** Opens the connection, which delivers the events after `start`. Calls `opened` and `receive`. */
  protected abstract subscribe(start: Cursor): void;
  /** Closes the connection. */
  protected abstract disconnect(): void;
  abstract measure(): void;

  /** Does nothing: these transports have no acknowledgement, and the next subscription carries the cursor. */
  ack(): void {}

  close(): void {
    this.#end();
  }

  /** Reads the session's head, then subscribes. */
  connect(): this {
    const { openTimeoutMs } = this.request;
    this.#openTimer = setTimeout(() => this.down({ why: this.notOpen(), code: "OPEN_TIMEOUT" }), openTimeoutMs);
    this.#readHead().catch((error: unknown) => {
      const status = error instanceof RecallError ? error.status : 0;
      const code = error instanceof RecallError ? error.code : "CONNECT_FAILED";
      this.down({ why: status === 401 || status === 403 ? "refused" : this.notOpen(), code });
    });
    return this;
  }

  async #readHead() {
    const { endpoint, sessionId, openTimeoutMs } = this.request;
    const { session } = await graphql(endpoint, StreamHead, { sessionId }, { timeoutMs: openTimeoutMs, signal: this.abort.signal });
    if (this.ended) return;
    const newest = parseCursor(session?.head);
    if (!newest) return this.down({ why: "refused", code: "SESSION_NOT_FOUND" });
    this.#answered = true;
    this.#epoch = newest.epoch;
    this.#head = newest.seq;
    const { resume } = this.request;
    this.#recovered = resume === null || (resume.epoch === newest.epoch && resume.seq <= newest.seq);
    this.subscribe(this.#recovered && resume ? resume : newest);
  }

  /** Why a link that is not open yet has ended. */
  protected notOpen(): "unreachable" | "blocked" {
    return this.#answered ? "blocked" : "unreachable";
  }

  /** Reports the open connection, and the gap if the log does not contain the cursor. */
  protected opened(start: Cursor, silenceMs: number): void {
    this.isOpen = true;
    clearTimeout(this.#openTimer);
    const reason = this.#recovered ? undefined : "cursor_unknown";
    this.events.welcome({ epoch: this.#epoch, head: this.#head, recovered: this.#recovered, reason, silenceMs });
    if (!this.#recovered) this.events.gap({ from: 1, to: this.#head, reason: "cursor_unknown" });
    this.#reportCaughtUp(start.seq);
  }

  protected receive({ type, cursor, ts, data }: SubscriptionEntry): void {
    if (EPHEMERAL.has(type)) return this.events.ephemeral(type, data);
    if (type === "bye") {
      const { code, reconnect, after_ms } = data as { code: string; reconnect: boolean; after_ms: number };
      return this.down({ why: reconnect ? "lost" : "refused", code, afterMs: after_ms });
    }
    if (type === "gap") {
      const { from, to, reason } = data as { from: number; to: number; reason: string };
      this.events.gap({ from, to, reason });
      return this.#reportCaughtUp(to);
    }
    if (cursor?.epoch !== this.#epoch) return this.down({ why: "lost", code: "EPOCH_CHANGED" });
    if (type !== "caught_up") this.events.event({ seq: cursor.seq, id: `${cursor.epoch}:${cursor.seq}`, type, ts, data });
    this.#reportCaughtUp(cursor.seq);
  }

  /** Reports once that the replay has reached the head. */
  #reportCaughtUp(seq: number) {
    if (this.#caughtUp || seq < this.#head) return;
    this.#caughtUp = true;
    this.events.caughtUp(this.#head);
  }

  protected down(down: Down): void {
    if (this.#end()) this.events.down(down);
  }

  /** Closes the connection and stops timers. Returns false if the link has already ended. */
  #end(): boolean {
    if (this.ended) return false;
    this.ended = true;
    clearTimeout(this.#openTimer);
    this.abort.abort();
    this.disconnect();
    return true;
  }
}
