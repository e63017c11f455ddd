// The interface between the event stream and its transports. A link is one connection to one session's event log.
import type { Cursor } from "./cursor.ts";
import type { Endpoint } from "./graphql.ts";

export type TransportName = "webrtc" | "websocket" | "sse";

/** One numbered entry of the log. `data` carries its own `type`, and its `session_id` unless it belongs to no session. */
export interface LogEntry {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  /** When it was recorded. null: the transport does not say (server-sent events). */
  readonly ts: string | null;
  readonly data: unknown;
}

/** The server's first answer on a link. */
export interface Welcome {
  readonly epoch: string;
  /** Number of the newest event when the link opened. */
  readonly head: number;
  /** false: the log cannot continue from our cursor because the server pruned or rebuilt it. A gap follows. */
  readonly recovered: boolean;
  readonly reason?: string | undefined;
  /** After this silence in milliseconds the link counts as lost. */
  readonly silenceMs: number;
}

/** Events `from..=to`, which cannot be replayed. Refetch the state by GraphQL, then continue after `to`. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** Why a link ended. */
export interface Down {
  /**
   * - `unreachable`: the server did not answer; every transport would fail.
   * - `blocked`: the server answered, but this transport did not open; another may.
   * - `lost`: an open link ended.
   * - `refused`: a retry would not help.
   */
  readonly why: "unreachable" | "blocked" | "lost" | "refused";
  readonly code: string;
  /** Milliseconds that the server asks the client to wait before the next attempt. */
  readonly afterMs?: number | undefined;
}

export interface LinkEvents {
  welcome(welcome: Welcome): void;
  event(entry: LogEntry): void;
  ephemeral(type: string, data: unknown): void;
  caughtUp(seq: number): void;
  gap(gap: Gap): void;
  /** The link received data of any kind. */
  heard(): void;
  latency(ms: number): void;
  /** The last call, made once. Not made after `close()`. */
  down(down: Down): void;
}

export interface Link {
  readonly transport: TransportName;
  /** Acknowledges all events up to `seq`. */
  ack(seq: number): void;
  /** Starts a latency measurement. The result arrives as `latency`. */
  measure(): void;
  /** Closes the link without calling `down`. `lost`: the server cannot be reached, so do not notify it. */
  close(lost?: boolean): void;
}

export interface LinkRequest {
  readonly endpoint: Endpoint;
  readonly sessionId: string;
  /** null: start at the head. Read it as late as possible, because another link may advance it. */
  readonly resume: Cursor | null;
  readonly openTimeoutMs: number;
  /** Used in addition to those that the server names. */
  readonly iceServers: RTCIceServer[];
  readonly iceTransportPolicy?: RTCIceTransportPolicy | undefined;
}

export type OpenLink = (request: LinkRequest, events: LinkEvents) => Link;
