// The resumable event stream of one session. It opens links, chooses the transport, reconnects, and delivers events.
// Guarantee: every event once and in order. It announces events that cannot be replayed as a gap.
import { fullJitter, type BackoffOptions } from "./backoff.ts";
import { formatCursor, parseCursor } from "./cursor.ts";
import { Emitter } from "./emitter.ts";
import { EventSequence } from "./event-sequence.ts";
import type { EphemeralEvent } from "./events.ts";
import type { Down, Link, LinkEvents, LogEntry, OpenLink, TransportName, Welcome } from "./link.ts";
import type { EventMeta, SessionEvent, StreamEvents, StreamOptions, StreamState } from "./stream-types.ts";
import { openSse } from "./sse.ts";
import { webStorageTransports, type TransportStore } from "./transport-store.ts";
import { openWebRtc } from "./webrtc.ts";
import { openWebSocket } from "./websocket.ts";

/** A link that was open this long resets the backoff. A link that breaks at once must not cause a tight retry loop. */
const STABLE_MS = 5000;
const ACK_DELAY_MS = 200;
const TICK_MS = 1000;
const MEASURE_EVERY_TICKS = 3;
const OPEN_TIMEOUT_MS = 5000;
const FALLBACK_AFTER_MS = 1000;
const UPGRADE_AFTER_MS = 60_000;
const UPGRADE_CAP_MS = 600_000;
const openers: Record<TransportName, OpenLink> = { webrtc: openWebRtc, websocket: openWebSocket, sse: openSse };
const PREFERENCE: readonly TransportName[] = ["webrtc", "websocket", "sse"];
/** Node has no WebRTC, and WebSocket only from version 22 on. */
const isAvailable: Record<TransportName, () => boolean> = {
  webrtc: () => typeof RTCPeerConnection !== "undefined",
  websocket: () => typeof WebSocket !== "undefined",
  sse: () => true,
};

export class EventStream extends Emitter<StreamEvents> {
  readonly sessionId: string;
  readonly #options: StreamOptions;
  readonly #backoff: BackoffOptions;
  readonly #transports: readonly TransportName[];
  readonly #transportStore: TransportStore;
  #state: StreamState = { phase: "paused", transport: null, latencyMs: null, attempt: 0, retryAt: null, replayed: 0, cursor: null, reason: null };
  readonly #sequence: EventSequence;
  /** The link in use. */
  #link: Link | null = null;
  /** A link over the preferred transport that is opening and will replace `#link`. */
  #upgrade: Link | null = null;
  #welcome: Welcome | null = null;
  #heardAt = 0;
  #welcomedAt = 0;
  #everLive = false;
  /** The link in use replaced a working one, so catching up is not a reconnect. */
  #replacedWorking = false;
  /** The preferred transport did not open in this attempt. */
  #blocked = false;
  /** Index of the transport to use if the preferred one does not open. */
  #fallbackIndex = 1;
  #upgradeAt = 0;
  #upgradeWaitMs: number;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #fallbackTimer: ReturnType<typeof setTimeout> | undefined;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #ticks = 0;

  constructor(options: StreamOptions) {
    super();
    this.#options = options;
    this.sessionId = options.sessionId;
    this.#backoff = options.backoff ?? { baseMs: 300, capMs: 15_000 };
    this.#upgradeWaitMs = options.upgradeAfterMs ?? UPGRADE_AFTER_MS;
    this.#transports = (options.transports ?? PREFERENCE).filter((t) => options.connectors?.[t] !== undefined || isAvailable[t]());
    this.#transportStore = options.transportStore ?? webStorageTransports();
    const from = typeof options.from === "string" ? parseCursor(options.from) : options.from;
    const cursor = from ?? options.cursorStore?.load(options.sessionId) ?? null;
    if (cursor) this.#state = { ...this.#state, cursor: formatCursor(cursor) };
    this.#sequence = new EventSequence(cursor, this.#backoff, {
      event: (entry, transport, replayed) => this.#deliver(entry, transport, replayed),
      caughtUp: () => this.#onCaughtUp(),
      gap: (gap) => this.emit("gap", gap),
      refetch: (gap) => options.onGap?.(gap),
      skipped: (to) => {
        this.#setState({ cursor: formatCursor(to) });
        this.#saveCursor();
      },
      overflow: () => this.#onDown({ why: "lost", code: "HELD_TOO_MUCH" }),
      isClosed: () => this.#state.phase === "closed",
    });
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Connects and stays connected. Has no effect on a running stream. */
  start(): this {
    if (this.#state.phase !== "paused") return this;
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.addEventListener?.("pageshow", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    this.#ticker = setInterval(this.#tick, TICK_MS);
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

  /** Reconnects now instead of waiting for the backoff. */
  retryNow(): void {
    if (this.#state.phase !== "waiting") return;
    clearTimeout(this.#retryTimer);
    this.#connect();
  }

  #stop(phase: "paused" | "closed", reason: string) {
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.removeEventListener?.("pageshow", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    clearInterval(this.#ticker);
    clearTimeout(this.#retryTimer);
    this.#acknowledge();
    this.#closeLinks();
    this.#setState({ phase, transport: null, latencyMs: null, retryAt: null, attempt: 0, reason });
  }

  #setState(change: Partial<StreamState>) {
    this.#state = { ...this.#state, ...change };
    this.emit("state", this.#state);
  }

  #closeLinks(lost = false) {
    clearTimeout(this.#ackTimer);
    clearTimeout(this.#fallbackTimer);
    this.#ackTimer = undefined;
    this.#link?.close(lost);
    this.#upgrade?.close();
    this.#link = this.#upgrade = null;
    this.#welcome = null;
    this.#sequence.discardHeld();
  }

  #open(transport: TransportName, events: LinkEvents): Link {
    const { endpoint, sessionId, iceServers = [], iceTransportPolicy, openTimeoutMs = OPEN_TIMEOUT_MS, connectors } = this.#options;
    const sequence = this.#sequence;
    // A getter, because another link may advance the cursor before this transport needs it.
    const request = { endpoint, sessionId, get resume() { return sequence.cursor; }, openTimeoutMs, iceServers, iceTransportPolicy };
    return (connectors?.[transport] ?? openers[transport])(request, events);
  }

  #connect(preferredFailed = false) {
    const [preferred] = this.#transports;
    if (!preferred) return this.close("NO_TRANSPORT");
    this.#heardAt = Date.now();
    if (!preferredFailed) this.#blocked = false;
    const stored = preferredFailed ? null : this.#transportStore.load(this.#origin());
    const storedIndex = stored === null ? -1 : this.#transports.indexOf(stored);
    if (storedIndex > 0) this.#fallbackIndex = storedIndex;
    const fallback = this.#transports[this.#fallbackIndex];
    const useFallback = fallback !== undefined && (preferredFailed || storedIndex > 0);
    this.#setState({ phase: "connecting", retryAt: null });
    this.#link = this.#attach(useFallback ? fallback : preferred);
    if (fallback && !useFallback) this.#fallbackTimer = setTimeout(this.#openFallback, this.#options.fallbackAfterMs ?? FALLBACK_AFTER_MS);
  }

  /** Opens the fallback transport in parallel. The preferred one keeps opening and takes over once it is open. */
  #openFallback = () => {
    const fallback = this.#transports[this.#fallbackIndex];
    if (!fallback || !this.#link || this.#welcome) return;
    this.#upgrade = this.#link;
    this.#link = this.#attach(fallback);
  };

  #origin(): string {
    return this.#options.endpoint.url || (globalThis.location?.origin ?? "");
  }

  /** Opens a link. Its events count only while it is the link in use. An upgrade becomes that with its welcome. */
  #attach(transport: TransportName): Link {
    let self: Link | null = null;
    const early: Array<() => void> = [];
    // A connector may call back before it returns its link.
    const guard = <A extends unknown[]>(run: (...args: A) => void) => (...args: A) => {
      if (self === null) early.push(() => run(...args));
      else run(...args);
    };
    const inUse = () => self !== null && self === this.#link;
    const events: LinkEvents = {
      welcome: guard((welcome) => {
        if (self !== null && self === this.#upgrade) {
          this.#upgrade = null;
          this.#replacedWorking = this.#state.phase === "live";
          this.#link?.close();
          this.#link = self;
        }
        if (inUse()) this.#onWelcome(welcome, transport);
      }),
      event: guard((entry) => {
        if (inUse()) this.#sequence.accept({ kind: "event", entry, transport, replayed: entry.seq <= (this.#welcome?.head ?? 0) });
      }),
      ephemeral: guard((type, data) => {
        if (inUse()) this.emit(type as EphemeralEvent["type"], { ...(data as object), type } as never, null);
      }),
      caughtUp: guard((seq) => {
        if (inUse()) this.#sequence.accept({ kind: "caught_up", seq });
      }),
      gap: guard((gap) => {
        if (inUse()) this.#sequence.accept({ kind: "gap", gap });
      }),
      heard: guard(() => {
        if (inUse()) this.#heardAt = Date.now();
      }),
      latency: guard((latencyMs) => {
        if (inUse()) this.#setState({ latencyMs });
      }),
      down: guard((down) => {
        if (self === this.#upgrade) return this.#onUpgradeFailed(down);
        if (inUse()) this.#onDown(down);
      }),
    };
    let link: Link;
    try {
      link = this.#open(transport, events);
    } catch {
      // The browser refused to create a peer or a socket. Handle it like any early failure: use the fallback, or retry.
      link = { transport, ack() {}, measure() {}, close() {} };
      events.down({ why: "blocked", code: "OPEN_FAILED" });
    }
    self = link;
    queueMicrotask(() => early.forEach((run) => run()));
    return link;
  }

  #onWelcome(welcome: Welcome, transport: TransportName) {
    clearTimeout(this.#fallbackTimer);
    this.#welcome = welcome;
    this.#welcomedAt = this.#heardAt = Date.now();
    if (transport === this.#transports[0]) {
      this.#transportStore.save(this.#origin(), null);
      this.#upgradeAt = 0;
      this.#upgradeWaitMs = this.#options.upgradeAfterMs ?? UPGRADE_AFTER_MS;
    } else if (this.#upgradeAt === 0) {
      // Set only once: a fallback link that reconnects must not postpone the upgrade.
      this.#upgradeAt = Date.now() + this.#upgradeWaitMs;
    }
    this.#rememberFallback();
    const cursor = formatCursor(this.#sequence.welcome(welcome));
    this.#setState({ phase: "replaying", transport, latencyMs: null, replayed: 0, reason: null, cursor });
    this.#link?.measure();
  }

  #deliver(entry: LogEntry, transport: TransportName, replayed: boolean) {
    const event = entry.data as SessionEvent;
    const meta: EventMeta = { seq: entry.seq, id: entry.id, ts: entry.ts, replayed, transport };
    this.emit(entry.type as SessionEvent["type"], event as never, meta);
    this.emit("event", event, meta);
    this.#saveCursor();
    const { cursor } = this.#sequence;
    this.#state = { ...this.#state, cursor: cursor && formatCursor(cursor), replayed: this.#state.replayed + (replayed ? 1 : 0) };
    if (replayed) this.emit("state", this.#state);
  }

  /** Stores the cursor and schedules one acknowledgement for several events. */
  #saveCursor() {
    const { cursor } = this.#sequence;
    if (cursor) this.#options.cursorStore?.save(this.sessionId, cursor);
    this.#ackTimer ??= setTimeout(() => this.#acknowledge(), ACK_DELAY_MS);
  }

  #acknowledge() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    const { cursor } = this.#sequence;
    if (cursor && this.#welcome) this.#link?.ack(cursor.seq);
  }

  #onCaughtUp() {
    if (this.#state.phase !== "replaying") return;
    const afterReconnect = this.#everLive && !this.#replacedWorking;
    this.#everLive = true;
    this.#replacedWorking = false;
    this.#setState({ phase: "live" });
    this.#saveCursor();
    this.emit("caughtUp", { replayed: this.#state.replayed, afterReconnect });
  }

  #onDown(down: Down) {
    if (this.#upgrade && this.#welcome === null && down.why !== "refused") {
      // The fallback failed while both were opening. Wait for the preferred transport.
      if (down.why === "blocked") this.#nextFallback();
      this.#link = this.#upgrade;
      this.#upgrade = null;
      return;
    }
    const failed = this.#welcome === null ? this.#link?.transport : undefined;
    const wasStable = this.#welcome !== null && Date.now() - this.#welcomedAt >= STABLE_MS;
    this.#closeLinks(true);
    if (down.why === "refused") return this.close(down.code);
    if (down.why === "blocked" && failed === this.#transports[0] && this.#transports.length > 1) {
      this.#blocked = true;
      // The server answers and only this transport fails, so connect without a wait.
      return this.#connect(true);
    }
    if (failed !== undefined && failed !== this.#transports[0]) {
      this.#transportStore.save(this.#origin(), null);
      if (down.why === "blocked" && this.#nextFallback()) return this.#connect(true);
    }
    const attempt = wasStable ? 0 : this.#state.attempt + 1;
    const wait = (down.afterMs ?? 0) + fullJitter(Math.max(0, attempt - 1), this.#backoff);
    this.#retryTimer = setTimeout(() => this.#connect(), wait);
    this.#setState({ phase: "waiting", transport: null, latencyMs: null, attempt, retryAt: Date.now() + wait, reason: down.code });
  }

  /** Chooses the next fallback transport. Returns false after the last one, and starts over. */
  #nextFallback(): boolean {
    const next = this.#fallbackIndex + 1;
    this.#fallbackIndex = next < this.#transports.length ? next : 1;
    return this.#fallbackIndex === next;
  }

  #onUpgradeFailed(down: Down) {
    this.#upgrade = null;
    this.#blocked ||= down.why === "blocked";
    this.#upgradeAt = Date.now() + this.#upgradeWaitMs;
    this.#upgradeWaitMs = Math.min(this.#upgradeWaitMs * 2, UPGRADE_CAP_MS);
    this.#rememberFallback();
  }

  /** If only the fallback works, the next page load starts with it. */
  #rememberFallback() {
    const transport = this.#link?.transport;
    if (transport && transport !== this.#transports[0] && this.#blocked && this.#welcome) this.#transportStore.save(this.#origin(), transport);
  }

  /** Compares wall-clock times, because timers do not run while a laptop sleeps. */
  #isSilent(): boolean {
    return this.#welcome !== null && Date.now() - this.#heardAt > this.#welcome.silenceMs;
  }

  #tick = () => {
    if (this.#isSilent()) return this.#onDown({ why: "lost", code: "SILENT" });
    const preferred = this.#transports[0];
    const live = this.#state.phase === "live";
    if (live && preferred && !this.#upgrade && this.#link?.transport !== preferred && Date.now() >= this.#upgradeAt) {
      this.#upgrade = this.#attach(preferred);
    }
    this.#ticks += 1;
    if (live && this.#ticks % MEASURE_EVERY_TICKS === 0) this.#link?.measure();
  };

  #wake = () => {
    if (globalThis.document?.visibilityState === "hidden") return;
    if (this.#isSilent()) this.#onDown({ why: "lost", code: "SILENT" });
    this.retryNow();
  };
}
