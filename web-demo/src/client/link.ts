// What the event stream needs from a transport: one line to one session's log, which delivers until it goes down, once.
import type { Cursor } from "./cursor.ts";
import type { Endpoint } from "./graphql.ts";

export type TransportName = "webrtc" | "websocket";

/** One numbered entry of the log as it comes over the line; `data` carries its own `type` and `session_id`. */
export interface LogEntry {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly ts: string;
  readonly data: unknown;
}

export interface Welcome {
  readonly epoch: string;
  /** Number of the newest event when the line opened. */
  readonly head: number;
  /** false: the log cannot continue from the cursor we gave (pruned, or rebuilt); a gap follows. */
  readonly recovered: boolean;
  readonly reason?: string | undefined;
  /** Longest silence in milliseconds before the line counts as dead. */
  readonly silenceMs: number;
}

/** Events that cannot be replayed: `from..=to`. Refetch the state by GraphQL, then go on after `to`. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

export interface Down {
  /**
   * `unreachable`: the server gave no answer, every transport would fail alike. `blocked`: the server answered but this transport
   * did not open; another may. `lost`: an open line ended. `refused`: coming back would not help.
   */
  readonly why: "unreachable" | "blocked" | "lost" | "refused";
  readonly code: string;
  /** The server's wish for the next attempt, milliseconds. */
  readonly afterMs?: number | undefined;
}

export interface LinkEvents {
  welcome(welcome: Welcome): void;
  event(entry: LogEntry): void;
  ephemeral(type: string, data: unknown): void;
  caughtUp(seq: number): void;
  gap(gap: Gap): void;
  /** Anything was heard; the line is alive. */
  heard(): void;
  latency(ms: number): void;
  /** Once, and last. Not called after `close()`. */
  down(down: Down): void;
}

export interface Link {
  readonly transport: TransportName;
  /** Tells the server that everything up to `seq` was handled. */
  ack(seq: number): void;
  /** Asks for a fresh latency measurement; the answer comes as `latency`. */
  measure(): void;
  /** Ends the line at once and quietly. `lost`: the other side does not hear us any more, so it is told nothing. */
  close(lost?: boolean): void;
}

export interface LinkRequest {
  readonly endpoint: Endpoint;
  readonly sessionId: string;
  /** null: live from the head on. To be read when the server is told, since another line may move it until then. */
  readonly resume: Cursor | null;
  readonly openTimeoutMs: number;
  /** Besides those that the server names. */
  readonly iceServers: RTCIceServer[];
  readonly iceTransportPolicy?: RTCIceTransportPolicy | undefined;
}

export type OpenLink = (request: LinkRequest, events: LinkEvents) => Link;
