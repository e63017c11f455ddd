// Options, state and events of an EventStream.
import type { BackoffOptions } from "./backoff.ts";
import type { Cursor, CursorStore } from "./cursor.ts";
import type { EventOf, NumberedEvent, RecallEvent } from "./events.ts";
import type { Endpoint } from "./graphql.ts";
import type { Gap, OpenLink, TransportName } from "./link.ts";
import type { TransportStore } from "./transport-store.ts";

/**
 * - `connecting`: no open link yet.
 * - `replaying`: the link is open and delivers past events.
 * - `live`: the stream is up to date.
 * - `waiting`: the next attempt is scheduled.
 * - `paused`: the application called `pause()`, or has not called `start()`.
 * - `closed`: the stream has ended; `reason` says why.
 */
export type Phase = "connecting" | "replaying" | "live" | "waiting" | "paused" | "closed";

export interface StreamState {
  readonly phase: Phase;
  readonly transport: TransportName | null;
  /** Round-trip time in milliseconds. null: unknown. */
  readonly latencyMs: number | null;
  /** Failed attempts since the last stable connection. */
  readonly attempt: number;
  /** Start of the next attempt in milliseconds since 1970. null: no attempt is scheduled. */
  readonly retryAt: number | null;
  /** Events replayed since the link opened. */
  readonly replayed: number;
  /** The newest handled event as `epoch:seq`. null before the first welcome. */
  readonly cursor: string | null;
  /** Stable code that says why the last link ended. */
  readonly reason: string | null;
}

export interface EventMeta {
  readonly seq: number;
  readonly id: string;
  /** When it was recorded. null: the transport does not say (server-sent events). */
  readonly ts: string | null;
  /** The event happened before the link opened. */
  readonly replayed: boolean;
  readonly transport: TransportName;
}

export interface StreamOptions {
  readonly endpoint: Endpoint;
  readonly sessionId: string;
  /** Where to resume. Default: the stored cursor, or the head without one. */
  readonly from?: Cursor | string | null;
  /** Keeps the cursor between page loads. Use it only if the page also keeps the state that belongs to the cursor. */
  readonly cursorStore?: CursorStore;
  /** Refetches the state after a gap. Later events wait for it, and the stream retries it if it fails. */
  readonly onGap?: (gap: Gap) => void | Promise<void>;
  /** Preferred transport first. Default: `webrtc`, `websocket`, `sse`, as far as this environment has them. */
  readonly transports?: readonly TransportName[];
  /** STUN and TURN servers, in addition to those that the server names. */
  readonly iceServers?: RTCIceServer[];
  /** `relay`: use TURN servers only. */
  readonly iceTransportPolicy?: RTCIceTransportPolicy;
  readonly openTimeoutMs?: number;
  /** Opens the next transport in parallel if the preferred one takes longer. Default: 1000. */
  readonly fallbackAfterMs?: number;
  /** Remembers which transport works with each server. Default: `localStorage`, for a day. */
  readonly transportStore?: TransportStore;
  readonly backoff?: BackoffOptions;
  /** First wait on the fallback transport before a retry of the preferred one. Doubles up to ten minutes. */
  readonly upgradeAfterMs?: number;
  /** Replaces how transports open, for tests and other environments. */
  readonly connectors?: Partial<Record<TransportName, OpenLink>>;
}

/** An event of one session: not those that only the stream of the whole memory has. */
export type SessionEvent = Exclude<NumberedEvent, EventOf<"session_update" | "session_deleted" | "viewer_update">>;

export type StreamEvents = { [T in RecallEvent["type"]]: [EventOf<T>, EventMeta | null] } & {
  /** Every numbered event, after the listeners of its own type. */
  event: [SessionEvent, EventMeta];
  state: [StreamState];
  gap: [Gap];
  /** The replay is complete and delivered `replayed` events. */
  caughtUp: [{ replayed: number; afterReconnect: boolean }];
};
