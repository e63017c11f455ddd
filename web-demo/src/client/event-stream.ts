// The resumable event stream of one session: which transport, when to come back, what was already seen.
// It promises: every event once, in order, and never a silent loss. What cannot be replayed is announced as a gap.
import { fullJitter, type BackoffOptions } from "./backoff.ts";
import { formatCursor, parseCursor, type Cursor, type CursorStore } from "./cursor.ts";
import { Emitter } from "./emitter.ts";
import type { EphemeralEvent, EventOf, NumberedEvent, RecallEvent } from "./events.ts";
import type { Endpoint } from "./graphql.ts";
import type { Down, Gap, Link, LinkEvents, LogEntry, OpenLink, TransportName, Welcome } from "./link.ts";
import { webStorageTransports, type TransportStore } from "./transport-store.ts";
import { openWebRtc } from "./webrtc.ts";
import { openWebSocket } from "./websocket.ts";

/**
 * `connecting` no line yet; `replaying` the line is open and catches up; `live`; `waiting` for the next attempt;
 * `paused` cut on purpose; `closed` for good (`reason` says why).
 */
export type Phase = "connecting" | "replaying" | "live" | "waiting" | "paused" | "closed";

export interface StreamState {
  readonly phase: Phase;
  readonly transport: TransportName | null;
  /** Round trip of the line in milliseconds, null while unknown. */
  readonly latencyMs: number | null;
  /** Failed attempts since the line last held. */
  readonly attempt: number;
  /** When the next attempt starts (milliseconds since 1970), null when none waits. */
  readonly retryAt: number | null;
  /** Events replayed since the line last opened. */
  readonly replayed: number;
  /** Newest handled event as `epoch:seq`, null before the first welcome. */
  readonly cursor: string | null;
  /** Stable code of what ended the last line. */
  readonly reason: string | null;
}

/** What came with an event besides its data. */
export interface EventMeta {
  readonly seq: number;
  readonly id: string;
  readonly ts: string;
  /** It happened before the line opened. */
  readonly replayed: boolean;
  readonly transport: TransportName;
}

export interface StreamOptions {
  readonly endpoint: Endpoint;
  readonly sessionId: string;
  /** Where to go on; without it the stored cursor, and without that the head. */
  readonly from?: Cursor | string | null;
  /** Keeps the cursor between page loads. Only for pages that keep the state it belongs to as well. */
  readonly cursorStore?: CursorStore;
  /** Refetches the state that a gap hides. Later events wait for it; when it fails it is called again. */
  readonly onGap?: (gap: Gap) => void | Promise<void>;
  /** In order of preference. */
  readonly transports?: readonly TransportName[];
  /** STUN and TURN servers besides those that the server names. */
  readonly iceServers?: RTCIceServer[];
  /** `relay`: over TURN servers only. */
  readonly iceTransportPolicy?: RTCIceTransportPolicy;
  readonly openTimeoutMs?: number;
  /** How long the first choice may take to open before the second is opened next to it. Default: one second. */
  readonly fallbackAfterMs?: number;
  /** Remembers for each server which transport works. Default: `localStorage`, for a day. */
  readonly transportStore?: TransportStore;
  readonly backoff?: BackoffOptions;
  /** First wait on the second choice before the first is tried again; it doubles up to ten minutes. */
  readonly upgradeAfterMs?: number;
  /** How a transport opens; a seam for other environments. */
  readonly connectors?: Partial<Record<TransportName, OpenLink>>;
}

type Delivery = { kind: "event"; entry: LogEntry; transport: TransportName; replayed: boolean } | { kind: "gap"; gap: Gap } | { kind: "caught_up"; seq: number };

export type StreamEvents = { [T in RecallEvent["type"]]: [EventOf<T>, EventMeta | null] } & {
  /** Every numbered event, after its own handlers. */
  event: [NumberedEvent, EventMeta];
  state: [StreamState];
  gap: [Gap];
  /** The replay is through; `replayed` events came with it. */
  caughtUp: [{ replayed: number; afterReconnect: boolean }];
};

/** A line that held this long starts the backoff anew; one that breaks at once must not be retried in a tight loop. */
const STABLE_MS = 5000;
const ACK_DELAY_MS = 200;
const TICK_MS = 1000;
const MEASURE_EVERY_TICKS = 3;
const FALLBACK_AFTER_MS = 1000;
const UPGRADE_CAP_MS = 600_000;
/** Events held while a gap is refetched; past it the line is dropped and replayed afterwards, so memory stays bounded. */
const MAX_HELD = 2000;
const openers: Record<TransportName, OpenLink> = { webrtc: openWebRtc, websocket: openWebSocket };

export class EventStream extends Emitter<StreamEvents> {
  readonly sessionId: string;
  readonly #options: StreamOptions;
  readonly #backoff: BackoffOptions;
  readonly #transports: readonly TransportName[];
  readonly #transportStore: TransportStore;
  #state: StreamState = { phase: "paused", transport: null, latencyMs: null, attempt: 0, retryAt: null, replayed: 0, cursor: null, reason: null };
  #last: Cursor | null;
  /** The line in use, and one that is being opened to replace a second choice. */
  #link: Link | null = null;
  #upgrade: Link | null = null;
  #welcome: Welcome | null = null;
  /** Head at the welcome: what is not newer than this is replay. */
  #heardAt = 0;
  #welcomedAt = 0;
  #everLive = false;
  /** The line in use has just replaced one that worked: nobody was away. */
  #replacedWorking = false;
  #mustRefetch = false;
  /** The first choice did not open in the present attempt. */
  #blocked = false;
  #upgradeAt = 0;
  #upgradeWait: number;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #fallbackTimer: ReturnType<typeof setTimeout> | undefined;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #ticks = 0;
  #refetching = false;
  #held: Delivery[] = [];

  constructor(options: StreamOptions) {
    super();
    this.#options = options;
    this.sessionId = options.sessionId;
    this.#backoff = options.backoff ?? { baseMs: 300, capMs: 15_000 };
    this.#upgradeWait = options.upgradeAfterMs ?? 60_000;
    const canPeer = options.connectors?.webrtc !== undefined || typeof RTCPeerConnection !== "undefined";
    this.#transports = (options.transports ?? ["webrtc", "websocket"]).filter((t) => t !== "webrtc" || canPeer);
    this.#transportStore = options.transportStore ?? webStorageTransports();
    const from = typeof options.from === "string" ? parseCursor(options.from) : options.from;
    this.#last = from ?? options.cursorStore?.load(options.sessionId) ?? null;
    if (this.#last) this.#state = { ...this.#state, cursor: formatCursor(this.#last) };
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Opens the line and keeps it open. Does nothing on a stream that runs already. */
  start(): this {
    if (this.#state.phase !== "paused") return this;
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.addEventListener?.("pageshow", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    this.#ticker = setInterval(this.#tick, TICK_MS);
    this.#connect();
    return this;
  }

  /** Cuts the line and keeps it cut until `start()`; the place in the log is kept. */
  pause(): void {
    if (this.#state.phase !== "closed") this.#stop("paused", "PAUSED");
  }

  /** Ends the stream for good. */
  close(reason = "CLOSED"): void {
    this.#stop("closed", reason);
  }

  /** Tries again now instead of waiting for the backoff. */
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
    this.#dropLinks();
    this.#set({ phase, transport: null, latencyMs: null, retryAt: null, attempt: 0, reason });
  }

  #set(change: Partial<StreamState>) {
    this.#state = { ...this.#state, ...change };
    this.emit("state", this.#state);
  }

  #dropLinks(lost = false) {
    clearTimeout(this.#ackTimer);
    clearTimeout(this.#fallbackTimer);
    this.#ackTimer = undefined;
    this.#link?.close(lost);
    this.#upgrade?.close();
    this.#link = this.#upgrade = null;
    this.#welcome = null;
    this.#held = [];
  }

  #open(transport: TransportName, events: LinkEvents): Link {
    const { endpoint, sessionId, iceServers = [], iceTransportPolicy, openTimeoutMs = 5000, connectors } = this.#options;
    const last = () => this.#last;
    // The place is read when the transport needs it: meanwhile the other line may have moved it.
    const request = { endpoint, sessionId, get resume() { return last(); }, openTimeoutMs, iceServers, iceTransportPolicy };
    return (connectors?.[transport] ?? openers[transport])(request, events);
  }

  /** `second`: the first choice has just failed. */
  #connect(second = false) {
    const [first, fallback] = this.#transports;
    if (!first) return this.close("NO_TRANSPORT");
    this.#heardAt = Date.now();
    if (!second) this.#blocked = false;
    const direct = fallback !== undefined && (second || this.#transportStore.load(this.#origin()) === fallback);
    this.#set({ phase: "connecting", retryAt: null });
    this.#link = this.#attach(direct ? fallback : first);
    if (fallback && !direct) this.#fallbackTimer = setTimeout(this.#race, this.#options.fallbackAfterMs ?? FALLBACK_AFTER_MS);
  }

  /** Opens the second choice next to the first, which is still on its way and takes over if it opens. */
  #race = () => {
    const second = this.#transports[1];
    if (!second || !this.#link || this.#welcome) return;
    this.#upgrade = this.#link;
    this.#link = this.#attach(second);
  };

  #origin(): string {
    return this.#options.endpoint.url || (globalThis.location?.origin ?? "");
  }

  /** Opens a transport whose events count only while it is the line in use (or becomes it with its welcome). */
  #attach(transport: TransportName): Link {
    let self: Link | null = null;
    const early: Array<() => void> = [];
    // A connector may call back before it has returned its link.
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
        if (inUse()) this.#take({ kind: "event", entry, transport, replayed: entry.seq <= (this.#welcome?.head ?? 0) });
      }),
      ephemeral: guard((type, data) => {
        if (inUse()) this.emit(type as EphemeralEvent["type"], { ...(data as object), type } as never, null);
      }),
      caughtUp: guard((seq) => {
        if (inUse()) this.#take({ kind: "caught_up", seq });
      }),
      gap: guard((gap) => {
        if (inUse()) this.#take({ kind: "gap", gap });
      }),
      heard: guard(() => {
        if (inUse()) this.#heardAt = Date.now();
      }),
      latency: guard((latencyMs) => {
        if (inUse()) this.#set({ latencyMs });
      }),
      down: guard((down) => {
        if (self === this.#upgrade) return this.#upgradeFailed(down);
        if (inUse()) this.#onDown(down);
      }),
    };
    let link: Link;
    try {
      link = this.#open(transport, events);
    } catch {
      // A browser may refuse to make a peer or a socket at all. Told below, like any early event: the retry and the second choice follow.
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
      this.#upgradeWait = this.#options.upgradeAfterMs ?? 60_000;
    } else if (this.#upgradeAt === 0) {
      // Not put off by a second choice that breaks and comes back: the first must get its turn.
      this.#upgradeAt = Date.now() + this.#upgradeWait;
    }
    this.#rememberSecond();
    if (this.#last === null) {
      this.#last = { epoch: welcome.epoch, seq: welcome.head };
    } else if (welcome.epoch !== this.#last.epoch || !welcome.recovered) {
      // Our numbers mean nothing in this log any more: take everything it sends, but refetch before anything else.
      this.#last = { epoch: welcome.epoch, seq: welcome.epoch === this.#last.epoch ? Math.min(this.#last.seq, welcome.head) : 0 };
      this.#mustRefetch = true;
    }
    this.#set({ phase: "replaying", transport, latencyMs: null, replayed: 0, reason: null, cursor: formatCursor(this.#last) });
    this.#link?.measure();
  }

  #take(delivery: Delivery) {
    if (this.#refetching) {
      if (this.#held.length >= MAX_HELD) return this.#onDown({ why: "lost", code: "HELD_TOO_MUCH" });
      this.#held.push(delivery);
      return;
    }
    const last = this.#last;
    if (!last) return;
    if (delivery.kind === "gap") {
      // A gap that lies behind us was refetched already, unless the server told us that our place is lost.
      if (this.#mustRefetch || delivery.gap.to > last.seq) void this.#refetch(delivery.gap);
      this.#mustRefetch = false;
      return;
    }
    const before = delivery.kind === "event" ? delivery.entry.seq - 1 : delivery.seq;
    if (this.#mustRefetch) {
      // Not recovered, and the server goes on without naming the gap: it is everything up to here.
      this.#mustRefetch = false;
      void this.#refetch({ from: 1, to: before, reason: "not_recovered" });
      this.#held.push(delivery);
      return;
    }
    if (before > last.seq) {
      // A hole that nobody announced must not become a silent loss.
      void this.#refetch({ from: last.seq + 1, to: before, reason: "hole" });
      this.#held.push(delivery);
      return;
    }
    if (delivery.kind === "caught_up") return this.#caughtUp();
    if (delivery.entry.seq <= last.seq) return;
    this.#deliver(delivery.entry, delivery.transport, delivery.replayed);
  }

  #deliver(entry: LogEntry, transport: TransportName, replayed: boolean) {
    if (!this.#last) return;
    this.#last = { epoch: this.#last.epoch, seq: entry.seq };
    const event = entry.data as NumberedEvent;
    const meta: EventMeta = { seq: entry.seq, id: entry.id, ts: entry.ts, replayed, transport };
    this.emit(entry.type as NumberedEvent["type"], event as never, meta);
    this.emit("event", event, meta);
    this.#settle();
    this.#state = { ...this.#state, cursor: formatCursor(this.#last), replayed: this.#state.replayed + (replayed ? 1 : 0) };
    if (replayed) this.emit("state", this.#state);
  }

  /** The place is now behind us: remember it here and tell the server, soon and together with the next ones. */
  #settle() {
    if (this.#last) this.#options.cursorStore?.save(this.sessionId, this.#last);
    this.#ackTimer ??= setTimeout(() => this.#acknowledge(), ACK_DELAY_MS);
  }

  #acknowledge() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    if (this.#last && this.#welcome) this.#link?.ack(this.#last.seq);
  }

  #caughtUp() {
    if (this.#state.phase !== "replaying") return;
    const afterReconnect = this.#everLive && !this.#replacedWorking;
    this.#everLive = true;
    this.#replacedWorking = false;
    this.#set({ phase: "live" });
    this.#settle();
    this.emit("caughtUp", { replayed: this.#state.replayed, afterReconnect });
  }

  async #refetch(gap: Gap) {
    this.#refetching = true;
    const epoch = this.#last?.epoch;
    this.emit("gap", gap);
    let refetched = false;
    for (let attempt = 0; !refetched && this.#state.phase !== "closed"; attempt += 1) {
      try {
        await this.#options.onGap?.(gap);
        refetched = true;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, fullJitter(attempt, this.#backoff)));
      }
    }
    this.#refetching = false;
    if (!refetched) {
      // Closed before the state was there: the gap stays ahead of the stored place, so the next stream meets it again.
      this.#held = [];
      return;
    }
    // A new epoch that came meanwhile has its own numbers, and its own gap among the held.
    if (this.#last && this.#last.epoch === epoch && gap.to > this.#last.seq) {
      this.#last = { ...this.#last, seq: gap.to };
      this.#set({ cursor: formatCursor(this.#last) });
      this.#settle();
    }
    const held = this.#held;
    this.#held = [];
    for (const delivery of held) this.#take(delivery);
  }

  #onDown(down: Down) {
    if (this.#upgrade && this.#welcome === null && down.why !== "refused") {
      // Of the two that are opening the second choice failed; the first is still on its way.
      this.#link = this.#upgrade;
      this.#upgrade = null;
      return;
    }
    const failed = this.#welcome === null ? this.#link?.transport : undefined;
    const held = this.#welcome !== null && Date.now() - this.#welcomedAt >= STABLE_MS;
    this.#dropLinks(true);
    if (down.why === "refused") return this.close(down.code);
    if (down.why === "blocked" && failed === this.#transports[0] && this.#transports.length > 1) {
      this.#blocked = true;
      // What comes next is not waited for: the server answers, only this transport does not open.
      return this.#connect(true);
    }
    if (failed !== undefined && failed !== this.#transports[0]) this.#transportStore.save(this.#origin(), null);
    const attempt = held ? 0 : this.#state.attempt + 1;
    const wait = (down.afterMs ?? 0) + fullJitter(Math.max(0, attempt - 1), this.#backoff);
    this.#retryTimer = setTimeout(() => this.#connect(), wait);
    this.#set({ phase: "waiting", transport: null, latencyMs: null, attempt, retryAt: Date.now() + wait, reason: down.code });
  }

  #upgradeFailed(down: Down) {
    this.#upgrade = null;
    this.#blocked ||= down.why === "blocked";
    this.#upgradeAt = Date.now() + this.#upgradeWait;
    this.#upgradeWait = Math.min(this.#upgradeWait * 2, UPGRADE_CAP_MS);
    this.#rememberSecond();
  }

  /** The first choice does not open and the second works: the next page load begins with the second. */
  #rememberSecond() {
    const second = this.#transports[1];
    if (second && this.#blocked && this.#welcome && this.#link?.transport === second) this.#transportStore.save(this.#origin(), second);
  }

  /** Wall clock, not timers: after a laptop's sleep the first tick finds the silence that the frozen timers could not count. */
  #silent(): boolean {
    return this.#welcome !== null && Date.now() - this.#heardAt > this.#welcome.silenceMs;
  }

  #tick = () => {
    if (this.#silent()) return this.#onDown({ why: "lost", code: "SILENT" });
    const first = this.#transports[0];
    const live = this.#state.phase === "live";
    if (live && first && !this.#upgrade && this.#link?.transport !== first && Date.now() >= this.#upgradeAt) {
      this.#upgrade = this.#attach(first);
    }
    this.#ticks += 1;
    if (live && this.#ticks % MEASURE_EVERY_TICKS === 0) this.#link?.measure();
  };

  #wake = () => {
    if (globalThis.document?.visibilityState === "hidden") return;
    if (this.#silent()) this.#onDown({ why: "lost", code: "SILENT" });
    this.retryNow();
  };
}
