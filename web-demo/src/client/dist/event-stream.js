// The resumable event stream of one session. It opens links, chooses the transport, reconnects, and delivers events.
// Guarantee: every event once and in order. It announces events that cannot be replayed as a gap.
import { fullJitter } from "./backoff.js";
import { formatCursor, parseCursor } from "./cursor.js";
import { Emitter } from "./emitter.js";
import { EventSequence } from "./event-sequence.js";
import { webStorageTransports } from "./transport-store.js";
import { openWebRtc } from "./webrtc.js";
import { openWebSocket } from "./websocket.js";
/** A link that was open this long resets the backoff. A link that breaks at once must not cause a tight retry loop. */
const STABLE_MS = 5000;
const ACK_DELAY_MS = 200;
const TICK_MS = 1000;
const MEASURE_EVERY_TICKS = 3;
const OPEN_TIMEOUT_MS = 5000;
const FALLBACK_AFTER_MS = 1000;
const UPGRADE_AFTER_MS = 60_000;
const UPGRADE_CAP_MS = 600_000;
const openers = { webrtc: openWebRtc, websocket: openWebSocket };
export class EventStream extends Emitter {
    sessionId;
    #options;
    #backoff;
    #transports;
    #transportStore;
    #state = { phase: "paused", transport: null, latencyMs: null, attempt: 0, retryAt: null, replayed: 0, cursor: null, reason: null };
    #sequence;
    /** The link in use. */
    #link = null;
    /** A link over the preferred transport that is opening and will replace `#link`. */
    #upgrade = null;
    #welcome = null;
    #heardAt = 0;
    #welcomedAt = 0;
    #everLive = false;
    /** The link in use replaced a working one, so catching up is not a reconnect. */
    #replacedWorking = false;
    /** The preferred transport did not open in this attempt. */
    #blocked = false;
    #upgradeAt = 0;
    #upgradeWaitMs;
    #retryTimer;
    #fallbackTimer;
    #ackTimer;
    #ticker;
    #ticks = 0;
    constructor(options) {
        super();
        this.#options = options;
        this.sessionId = options.sessionId;
        this.#backoff = options.backoff ?? { baseMs: 300, capMs: 15_000 };
        this.#upgradeWaitMs = options.upgradeAfterMs ?? UPGRADE_AFTER_MS;
        const hasWebRtc = options.connectors?.webrtc !== undefined || typeof RTCPeerConnection !== "undefined";
        this.#transports = (options.transports ?? ["webrtc", "websocket"]).filter((t) => t !== "webrtc" || hasWebRtc);
        this.#transportStore = options.transportStore ?? webStorageTransports();
        const from = typeof options.from === "string" ? parseCursor(options.from) : options.from;
        const cursor = from ?? options.cursorStore?.load(options.sessionId) ?? null;
        if (cursor)
            this.#state = { ...this.#state, cursor: formatCursor(cursor) };
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
    get state() {
        return this.#state;
    }
    /** Connects and stays connected. Has no effect on a running stream. */
    start() {
        if (this.#state.phase !== "paused")
            return this;
        globalThis.addEventListener?.("online", this.#wake);
        globalThis.addEventListener?.("pageshow", this.#wake);
        globalThis.document?.addEventListener("visibilitychange", this.#wake);
        this.#ticker = setInterval(this.#tick, TICK_MS);
        this.#connect();
        return this;
    }
    /** Disconnects until `start()`. Keeps the cursor. */
    pause() {
        if (this.#state.phase !== "closed")
            this.#stop("paused", "PAUSED");
    }
    /** Ends the stream permanently. */
    close(reason = "CLOSED") {
        this.#stop("closed", reason);
    }
    /** Reconnects now instead of waiting for the backoff. */
    retryNow() {
        if (this.#state.phase !== "waiting")
            return;
        clearTimeout(this.#retryTimer);
        this.#connect();
    }
    #stop(phase, reason) {
        globalThis.removeEventListener?.("online", this.#wake);
        globalThis.removeEventListener?.("pageshow", this.#wake);
        globalThis.document?.removeEventListener("visibilitychange", this.#wake);
        clearInterval(this.#ticker);
        clearTimeout(this.#retryTimer);
        this.#acknowledge();
        this.#closeLinks();
        this.#setState({ phase, transport: null, latencyMs: null, retryAt: null, attempt: 0, reason });
    }
    #setState(change) {
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
    #open(transport, events) {
        const { endpoint, sessionId, iceServers = [], iceTransportPolicy, openTimeoutMs = OPEN_TIMEOUT_MS, connectors } = this.#options;
        const sequence = this.#sequence;
        // A getter, because another link may advance the cursor before this transport needs it.
        const request = { endpoint, sessionId, get resume() { return sequence.cursor; }, openTimeoutMs, iceServers, iceTransportPolicy };
        return (connectors?.[transport] ?? openers[transport])(request, events);
    }
    #connect(preferredFailed = false) {
        const [preferred, fallback] = this.#transports;
        if (!preferred)
            return this.close("NO_TRANSPORT");
        this.#heardAt = Date.now();
        if (!preferredFailed)
            this.#blocked = false;
        const useFallback = fallback !== undefined && (preferredFailed || this.#transportStore.load(this.#origin()) === fallback);
        this.#setState({ phase: "connecting", retryAt: null });
        this.#link = this.#attach(useFallback ? fallback : preferred);
        if (fallback && !useFallback)
            this.#fallbackTimer = setTimeout(this.#openFallback, this.#options.fallbackAfterMs ?? FALLBACK_AFTER_MS);
    }
    /** Opens the fallback transport in parallel. The preferred one keeps opening and takes over once it is open. */
    #openFallback = () => {
        const fallback = this.#transports[1];
        if (!fallback || !this.#link || this.#welcome)
            return;
        this.#upgrade = this.#link;
        this.#link = this.#attach(fallback);
    };
    #origin() {
        return this.#options.endpoint.url || (globalThis.location?.origin ?? "");
    }
    /** Opens a link. Its events count only while it is the link in use. An upgrade becomes that with its welcome. */
    #attach(transport) {
        let self = null;
        const early = [];
        // A connector may call back before it returns its link.
        const guard = (run) => (...args) => {
            if (self === null)
                early.push(() => run(...args));
            else
                run(...args);
        };
        const inUse = () => self !== null && self === this.#link;
        const events = {
            welcome: guard((welcome) => {
                if (self !== null && self === this.#upgrade) {
                    this.#upgrade = null;
                    this.#replacedWorking = this.#state.phase === "live";
                    this.#link?.close();
                    this.#link = self;
                }
                if (inUse())
                    this.#onWelcome(welcome, transport);
            }),
            event: guard((entry) => {
                if (inUse())
                    this.#sequence.accept({ kind: "event", entry, transport, replayed: entry.seq <= (this.#welcome?.head ?? 0) });
            }),
            ephemeral: guard((type, data) => {
                if (inUse())
                    this.emit(type, { ...data, type }, null);
            }),
            caughtUp: guard((seq) => {
                if (inUse())
                    this.#sequence.accept({ kind: "caught_up", seq });
            }),
            gap: guard((gap) => {
                if (inUse())
                    this.#sequence.accept({ kind: "gap", gap });
            }),
            heard: guard(() => {
                if (inUse())
                    this.#heardAt = Date.now();
            }),
            latency: guard((latencyMs) => {
                if (inUse())
                    this.#setState({ latencyMs });
            }),
            down: guard((down) => {
                if (self === this.#upgrade)
                    return this.#onUpgradeFailed(down);
                if (inUse())
                    this.#onDown(down);
            }),
        };
        let link;
        try {
            link = this.#open(transport, events);
        }
        catch {
            // The browser refused to create a peer or a socket. Handle it like any early failure: use the fallback, or retry.
            link = { transport, ack() { }, measure() { }, close() { } };
            events.down({ why: "blocked", code: "OPEN_FAILED" });
        }
        self = link;
        queueMicrotask(() => early.forEach((run) => run()));
        return link;
    }
    #onWelcome(welcome, transport) {
        clearTimeout(this.#fallbackTimer);
        this.#welcome = welcome;
        this.#welcomedAt = this.#heardAt = Date.now();
        if (transport === this.#transports[0]) {
            this.#transportStore.save(this.#origin(), null);
            this.#upgradeAt = 0;
            this.#upgradeWaitMs = this.#options.upgradeAfterMs ?? UPGRADE_AFTER_MS;
        }
        else if (this.#upgradeAt === 0) {
            // Set only once: a fallback link that reconnects must not postpone the upgrade.
            this.#upgradeAt = Date.now() + this.#upgradeWaitMs;
        }
        this.#rememberFallback();
        const cursor = formatCursor(this.#sequence.welcome(welcome));
        this.#setState({ phase: "replaying", transport, latencyMs: null, replayed: 0, reason: null, cursor });
        this.#link?.measure();
    }
    #deliver(entry, transport, replayed) {
        const event = entry.data;
        const meta = { seq: entry.seq, id: entry.id, ts: entry.ts, replayed, transport };
        this.emit(entry.type, event, meta);
        this.emit("event", event, meta);
        this.#saveCursor();
        const { cursor } = this.#sequence;
        this.#state = { ...this.#state, cursor: cursor && formatCursor(cursor), replayed: this.#state.replayed + (replayed ? 1 : 0) };
        if (replayed)
            this.emit("state", this.#state);
    }
    /** Stores the cursor and schedules one acknowledgement for several events. */
    #saveCursor() {
        const { cursor } = this.#sequence;
        if (cursor)
            this.#options.cursorStore?.save(this.sessionId, cursor);
        this.#ackTimer ??= setTimeout(() => this.#acknowledge(), ACK_DELAY_MS);
    }
    #acknowledge() {
        clearTimeout(this.#ackTimer);
        this.#ackTimer = undefined;
        const { cursor } = this.#sequence;
        if (cursor && this.#welcome)
            this.#link?.ack(cursor.seq);
    }
    #onCaughtUp() {
        if (this.#state.phase !== "replaying")
            return;
        const afterReconnect = this.#everLive && !this.#replacedWorking;
        this.#everLive = true;
        this.#replacedWorking = false;
        this.#setState({ phase: "live" });
        this.#saveCursor();
        this.emit("caughtUp", { replayed: this.#state.replayed, afterReconnect });
    }
    #onDown(down) {
        if (this.#upgrade && this.#welcome === null && down.why !== "refused") {
            // The fallback failed while both were opening. Wait for the preferred transport.
            this.#link = this.#upgrade;
            this.#upgrade = null;
            return;
        }
        const failed = this.#welcome === null ? this.#link?.transport : undefined;
        const wasStable = this.#welcome !== null && Date.now() - this.#welcomedAt >= STABLE_MS;
        this.#closeLinks(true);
        if (down.why === "refused")
            return this.close(down.code);
        if (down.why === "blocked" && failed === this.#transports[0] && this.#transports.length > 1) {
            this.#blocked = true;
            // The server answers and only this transport fails, so connect without a wait.
            return this.#connect(true);
        }
        if (failed !== undefined && failed !== this.#transports[0])
            this.#transportStore.save(this.#origin(), null);
        const attempt = wasStable ? 0 : this.#state.attempt + 1;
        const wait = (down.afterMs ?? 0) + fullJitter(Math.max(0, attempt - 1), this.#backoff);
        this.#retryTimer = setTimeout(() => this.#connect(), wait);
        this.#setState({ phase: "waiting", transport: null, latencyMs: null, attempt, retryAt: Date.now() + wait, reason: down.code });
    }
    #onUpgradeFailed(down) {
        this.#upgrade = null;
        this.#blocked ||= down.why === "blocked";
        this.#upgradeAt = Date.now() + this.#upgradeWaitMs;
        this.#upgradeWaitMs = Math.min(this.#upgradeWaitMs * 2, UPGRADE_CAP_MS);
        this.#rememberFallback();
    }
    /** If only the fallback works, the next page load starts with it. */
    #rememberFallback() {
        const fallback = this.#transports[1];
        if (fallback && this.#blocked && this.#welcome && this.#link?.transport === fallback)
            this.#transportStore.save(this.#origin(), fallback);
    }
    /** Compares wall-clock times, because timers do not run while a laptop sleeps. */
    #isSilent() {
        return this.#welcome !== null && Date.now() - this.#heardAt > this.#welcome.silenceMs;
    }
    #tick = () => {
        if (this.#isSilent())
            return this.#onDown({ why: "lost", code: "SILENT" });
        const preferred = this.#transports[0];
        const live = this.#state.phase === "live";
        if (live && preferred && !this.#upgrade && this.#link?.transport !== preferred && Date.now() >= this.#upgradeAt) {
            this.#upgrade = this.#attach(preferred);
        }
        this.#ticks += 1;
        if (live && this.#ticks % MEASURE_EVERY_TICKS === 0)
            this.#link?.measure();
    };
    #wake = () => {
        if (globalThis.document?.visibilityState === "hidden")
            return;
        if (this.#isSilent())
            this.#onDown({ why: "lost", code: "SILENT" });
        this.retryNow();
    };
}
