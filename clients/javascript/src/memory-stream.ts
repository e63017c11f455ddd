// The events of all sessions, documents and comparisons, own and shared, over one connection. It reconnects and resumes after its cursor.
import { fullJitter, type BackoffOptions } from "./backoff.ts";
import { Emitter } from "./emitter.ts";
import type { NumberedEvent } from "./events.ts";
import { MemoryEvents, MemoryHead, type MemoryEventsResult } from "./generated/operations.ts";
import { RecallError, authHeaders, connectionParams, graphql, type Endpoint } from "./graphql.ts";
import type { Down } from "./link.ts";
import { readEvents } from "./sse.ts";
import { socketUrl } from "./websocket.ts";

const PING_EVERY_MS = 10_000;
/** The server answers pings at once, and sends a comment after 15 quiet seconds of server-sent events. */
const SILENCE_MS = 31_000;
const OPEN_TIMEOUT_MS = 5000;
/** A connection that was open this long resets the backoff. */
const STABLE_MS = 5000;
const REFUSED = new Set([401, 403, 404, 410]);

/** Events that cannot be delivered. Numbers are those of the memory, not of a session. */
export interface MemoryGap {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
  /** The events are those of shared memory. */
  readonly shared: boolean;
}

/** An event of one of the sessions, or `viewer_update`, which has no `session_id`. */
export type MemoryEvent = NumberedEvent & { readonly shared?: true };

export interface MemoryStreamState {
  /** `waiting`: the next attempt is scheduled. `paused`: not started, or paused. `closed`: ended; `reason` says why. */
  readonly phase: "connecting" | "live" | "waiting" | "paused" | "closed";
  readonly transport: MemoryTransport | null;
  /** Failed attempts since the last stable connection. */
  readonly attempt: number;
  /** After the newest handled event. null before the first connection. */
  readonly cursor: string | null;
  /** Stable code that says why the last connection ended. */
  readonly reason: string | null;
}

export type MemoryTransport = "websocket" | "sse";

export interface MemoryStreamOptions {
  readonly endpoint: Endpoint;
  /** Where to resume: a cursor, such as `viewer { head }`. Default: new events only. */
  readonly from?: string | null;
  /** Refetches the state after a gap. Later events wait for it, and the stream retries it if it fails. */
  readonly onGap?: (gap: MemoryGap) => void | Promise<void>;
  /** Preferred transport first. Default: `websocket`, `sse`, as far as this environment has them. */
  readonly transports?: readonly MemoryTransport[];
  readonly backoff?: BackoffOptions;
}

export type MemoryStreamEvents = {
  event: [MemoryEvent];
  gap: [MemoryGap];
  state: [MemoryStreamState];
};

/** One entry as both transports deliver it. */
interface Entry {
  readonly type: string;
  readonly cursor: string | null;
  readonly data: unknown;
}

interface Handlers {
  opened(): void;
  heard(): void;
  entry(entry: Entry): void;
  /** Called at most once, and not after the connection was closed. */
  down(down: Down): void;
}

export class MemoryStream extends Emitter<MemoryStreamEvents> {
  readonly #options: MemoryStreamOptions;
  readonly #backoff: BackoffOptions;
  readonly #transports: readonly MemoryTransport[];
  #state: MemoryStreamState;
  #close: (() => void) | null = null;
  #transportIndex = 0;
  #heardAt = 0;
  #openedAt = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  /** Entries of the present connection that wait for a refetch, and how to end it. null: none is running. */
  #held: Array<[Entry, Handlers["down"]]> | null = null;

  constructor(options: MemoryStreamOptions) {
    super();
    this.#options = options;
    this.#backoff = options.backoff ?? { baseMs: 300, capMs: 15_000 };
    this.#transports = (options.transports ?? ["websocket", "sse"]).filter((t) => t === "sse" || typeof WebSocket !== "undefined");
    this.#state = { phase: "paused", transport: null, attempt: 0, cursor: options.from ?? null, reason: null };
  }

  get state(): MemoryStreamState {
    return this.#state;
  }

  /** Connects and stays connected. Has no effect on a running stream. */
  start(): this {
    if (this.#state.phase !== "paused") return this;
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    this.#ticker = setInterval(this.#tick, 1000);
    this.#connect();
    return this;
  }

  /** Disconnects until `start()`. Keeps the cursor. */
  pause(): void {
    if (this.#state.phase !== "closed") this.#stop("paused", "PAUSED");
  }

  /** Ends the stream permanently. */
  close(reason = "CLOSED"): void {
    this.#stop("closed", reason);
  }

  #stop(phase: "paused" | "closed", reason: string) {
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    clearInterval(this.#ticker);
    clearTimeout(this.#retryTimer);
    this.#disconnect();
    this.#setState({ phase, transport: null, attempt: 0, reason });
  }

  #setState(change: Partial<MemoryStreamState>) {
    this.#state = { ...this.#state, ...change };
    this.emit("state", this.#state);
  }

  #disconnect() {
    this.#close?.();
    this.#close = null;
    // The next connection delivers them again, after the cursor.
    if (this.#held) this.#held = [];
  }

  #connect() {
    clearTimeout(this.#retryTimer);
    const transport = this.#transports[this.#transportIndex % this.#transports.length];
    if (!transport) return this.close("NO_TRANSPORT");
    this.#heardAt = Date.now();
    this.#openedAt = 0;
    this.#setState({ phase: "connecting", transport });
    const abort = new AbortController();
    const closing: Array<() => void> = [() => abort.abort()];
    let ended = false;
    const end = () => {
      if (ended) return false;
      ended = true;
      clearTimeout(timer);
      for (const close of closing) close();
      return true;
    };
    const handlers: Handlers = {
      opened: () => {
        clearTimeout(timer);
        this.#openedAt = Date.now();
        if (!ended) this.#setState({ phase: "live", reason: null });
      },
      heard: () => { this.#heardAt = Date.now(); },
      entry: (entry) => { if (!ended) this.#accept(entry, handlers.down); },
      down: (down) => { if (end()) this.#onDown(down); },
    };
    const timer = setTimeout(() => handlers.down({ why: "unreachable", code: "OPEN_TIMEOUT" }), OPEN_TIMEOUT_MS);
    this.#close = () => void end();
    const { endpoint } = this.#options;
    // Without a cursor, a connection lost before the first event would lose events.
    const after = this.#state.cursor ?? graphql(endpoint, MemoryHead, {}, { timeoutMs: OPEN_TIMEOUT_MS, signal: abort.signal }).then(({ viewer }) => viewer.head);
    Promise.resolve(after).then((cursor) => {
      if (ended) return;
      if (this.#state.cursor === null) this.#setState({ cursor });
      return transport === "sse" ? readSse(endpoint, cursor, handlers, abort.signal) : void closing.push(openSocket(endpoint, cursor, handlers));
    }).catch((error: unknown) => {
      const refused = error instanceof RecallError && REFUSED.has(error.status);
      handlers.down({ why: refused ? "refused" : this.#openedAt > 0 ? "lost" : "unreachable", code: error instanceof RecallError ? error.code : "CONNECT_FAILED" });
    });
  }

  #accept(entry: Entry, down: Handlers["down"]) {
    if (this.#held) return void this.#held.push([entry, down]);
    if (entry.type === "bye") {
      const { code, reconnect, after_ms } = entry.data as { code: string; reconnect: boolean; after_ms: number };
      return down({ why: reconnect ? "lost" : "refused", code, afterMs: after_ms });
    }
    if (entry.type === "gap") return void this.#refetch(entry);
    if (entry.cursor) this.#state = { ...this.#state, cursor: entry.cursor };
    if (entry.type !== "caught_up") this.emit("event", entry.data as MemoryEvent);
  }

  /** Refetches what a gap hides, then delivers the entries that arrived meanwhile. */
  async #refetch(entry: Entry) {
    const gap = { shared: false, ...(entry.data as object) } as MemoryGap;
    this.#held = [];
    this.emit("gap", gap);
    for (let attempt = 0; this.#state.phase !== "closed"; attempt += 1) {
      try {
        await this.#options.onGap?.(gap);
        break;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, fullJitter(attempt, this.#backoff)));
      }
    }
    if (this.#state.phase === "closed") return;
    // The state is newer than the gap. A connection that was opened meanwhile resumed before the gap, and delivers it again.
    if (entry.cursor) this.#setState({ cursor: entry.cursor });
    const held = this.#held ?? [];
    this.#held = null;
    for (const [next, down] of held) this.#accept(next, down);
  }

  #onDown(down: Down) {
    this.#close = null;
    if (this.#held) this.#held = [];
    if (down.why === "refused") return this.close(down.code);
    const wasStable = this.#openedAt > 0 && Date.now() - this.#openedAt >= STABLE_MS;
    // A transport that does not open may be blocked. The other one is tried next.
    if (this.#openedAt === 0) this.#transportIndex += 1;
    const attempt = wasStable ? 0 : this.#state.attempt + 1;
    const wait = (down.afterMs ?? 0) + fullJitter(Math.max(0, attempt - 1), this.#backoff);
    this.#retryTimer = setTimeout(() => this.#connect(), wait);
    this.#setState({ phase: "waiting", transport: null, attempt, reason: down.code });
  }

  #tick = () => {
    // Wall-clock times, because timers do not run while a laptop sleeps.
    if (this.#state.phase !== "live" || Date.now() - this.#heardAt <= SILENCE_MS) return;
    this.#disconnect();
    this.#onDown({ why: "lost", code: "SILENT" });
  };

  #wake = () => {
    if (globalThis.document?.visibilityState === "hidden") return;
    this.#tick();
    if (this.#state.phase === "waiting") this.#connect();
  };
}

/** Reads server-sent events until the connection ends. */
async function readSse(endpoint: Endpoint, after: string, handlers: Handlers, signal: AbortSignal): Promise<void> {
  const headers = { accept: "text/event-stream", ...authHeaders(endpoint) };
  const { status, body } = await fetch(`${endpoint.url}/events?after=${encodeURIComponent(after)}`, { headers, cache: "no-store", signal });
  if (status !== 200 || !body) return handlers.down({ why: REFUSED.has(status) ? "refused" : "unreachable", code: `STREAM_${status}` });
  handlers.opened();
  for await (const event of readEvents(body, handlers.heard)) handlers.entry({ type: event.type, cursor: event.id || null, data: JSON.parse(event.data) });
  handlers.down({ why: "lost", code: "STREAM_ENDED" });
}

interface ServerMessage {
  readonly type: string;
  readonly payload?: { readonly data?: MemoryEventsResult | null };
}

/** Subscribes over graphql-transport-ws. Returns a function that closes the connection. */
function openSocket(endpoint: Endpoint, after: string, handlers: Handlers): () => void {
  const socket = new WebSocket(socketUrl(endpoint), "graphql-transport-ws");
  const send = (message: object) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
  const pings = setInterval(() => send({ type: "ping" }), PING_EVERY_MS);
  let isOpen = false;
  socket.onopen = () => send({ type: "connection_init", payload: connectionParams(endpoint) });
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    handlers.heard();
    const { type, payload } = JSON.parse(data) as ServerMessage;
    if (type === "connection_ack") {
      isOpen = true;
      send({ id: "1", type: "subscribe", payload: { query: MemoryEvents, variables: { after } } });
      handlers.opened();
    } else if (type === "ping") {
      send({ type: "pong" });
    } else if (type === "next" && payload?.data) {
      handlers.entry(payload.data.memoryEvents);
    } else if (type !== "pong") {
      handlers.down({ why: "lost", code: "SUBSCRIPTION_ENDED" });
    }
  };
  socket.onclose = ({ code }) => handlers.down({ why: code === 4401 || code === 4403 ? "refused" : isOpen ? "lost" : "unreachable", code: `SOCKET_${code}` });
  return () => {
    clearInterval(pings);
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  };
}
