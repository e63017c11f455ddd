// The fallback transport for networks without UDP: the GraphQL subscription `sessionEvents` over a WebSocket (graphql-transport-ws).
import { formatCursor, parseCursor } from "./cursor.js";
import { SessionEvents, StreamHead } from "./generated/operations.js";
import { RecallError, connectionParams, graphql } from "./graphql.js";
/** Pages cannot see the pings of a WebSocket, so the client sends its own and measures the silence. */
const PING_EVERY_MS = 3000;
const SILENCE_MS = 2 * PING_EVERY_MS + 1000;
const EPHEMERAL = new Set(["answer_delta", "context_ready"]);
export const openWebSocket = (request, events) => new WebSocketLink(request, events);
class WebSocketLink {
    transport = "websocket";
    #request;
    #events;
    #abort = new AbortController();
    #openTimer;
    #socket = null;
    #open = false;
    #ended = false;
    #epoch = "";
    #head = 0;
    #caughtUp = false;
    #pingAt = 0;
    #pingTimer;
    constructor(request, events) {
        this.#request = request;
        this.#events = events;
        this.#openTimer = setTimeout(() => this.#down({ why: "unreachable", code: "OPEN_TIMEOUT" }), request.openTimeoutMs);
        this.#connect().catch((error) => {
            const status = error instanceof RecallError ? error.status : 0;
            const code = error instanceof RecallError ? error.code : "CONNECT_FAILED";
            this.#down({ why: status === 401 || status === 403 ? "refused" : "unreachable", code });
        });
    }
    /** Does nothing: the subscription has no acknowledgement, and the next `after` carries the cursor. */
    ack() { }
    measure() {
        this.#pingAt = performance.now();
        this.#send({ type: "ping" });
    }
    close() {
        this.#end();
    }
    /** Reads the session's head, then opens the socket and subscribes. */
    async #connect() {
        const { endpoint, sessionId, openTimeoutMs } = this.#request;
        const { session } = await graphql(endpoint, StreamHead, { sessionId }, { timeoutMs: openTimeoutMs, signal: this.#abort.signal });
        if (this.#ended)
            return;
        const newest = parseCursor(session?.head);
        if (!newest)
            return this.#down({ why: "refused", code: "SESSION_NOT_FOUND" });
        this.#epoch = newest.epoch;
        this.#head = newest.seq;
        const { resume } = this.#request;
        const recovered = resume === null || (resume.epoch === newest.epoch && resume.seq <= newest.seq);
        this.#openSocket(recovered && resume ? resume : newest, recovered);
    }
    #openSocket(start, recovered) {
        const { endpoint } = this.#request;
        const url = `${new URL(endpoint.url || "/", location.href).href.replace(/\/$/, "").replace(/^http/, "ws")}/graphql/ws`;
        const socket = new WebSocket(url, "graphql-transport-ws");
        this.#socket = socket;
        socket.onopen = () => {
            this.#open = true;
            clearTimeout(this.#openTimer);
            this.#send({ type: "connection_init", payload: connectionParams(endpoint) });
            const reason = recovered ? undefined : "cursor_unknown";
            this.#events.welcome({ epoch: this.#epoch, head: this.#head, recovered, reason, silenceMs: SILENCE_MS });
            if (!recovered)
                this.#events.gap({ from: 1, to: this.#head, reason: "cursor_unknown" });
            this.#reportCaughtUp(start.seq);
            this.#pingTimer = setInterval(() => this.measure(), PING_EVERY_MS);
            this.measure();
        };
        socket.onmessage = ({ data }) => {
            let message;
            try {
                message = JSON.parse(data);
            }
            catch {
                return this.#down({ why: "lost", code: "BAD_FRAME" });
            }
            this.#receive(message, formatCursor(start));
        };
        socket.onclose = ({ code }) => this.#down({ why: code === 4401 || code === 4403 ? "refused" : this.#open ? "lost" : "unreachable", code: `SOCKET_${code}` });
    }
    #receive(message, after) {
        this.#events.heard();
        switch (message.type) {
            case "connection_ack":
                return this.#send({ id: "1", type: "subscribe", payload: { query: SessionEvents, variables: { sessionId: this.#request.sessionId, after } } });
            case "ping":
                return this.#send({ type: "pong" });
            case "pong":
                return this.#events.latency(performance.now() - this.#pingAt);
            case "next":
                return this.#receiveEvent(message.payload?.data?.sessionEvents);
            case "error":
            case "complete":
                return this.#down({ why: "lost", code: "SUBSCRIPTION_ENDED" });
        }
    }
    #receiveEvent(event) {
        if (!event)
            return this.#down({ why: "lost", code: "BAD_EVENT" });
        if (EPHEMERAL.has(event.type))
            return this.#events.ephemeral(event.type, event.data);
        if (event.type === "gap") {
            const { from, to, reason } = event.data;
            this.#events.gap({ from, to, reason });
            return this.#reportCaughtUp(to);
        }
        if (event.type === "bye") {
            const { code, reconnect, after_ms } = event.data;
            return this.#down({ why: reconnect ? "lost" : "refused", code, afterMs: after_ms });
        }
        const cursor = parseCursor(event.cursor);
        if (cursor?.epoch !== this.#epoch)
            return this.#down({ why: "lost", code: "EPOCH_CHANGED" });
        this.#events.event({ seq: event.seq, id: event.cursor, type: event.type, ts: event.createdAt, data: event.data });
        return this.#reportCaughtUp(event.seq);
    }
    /** Reports once that the replay has reached the head. */
    #reportCaughtUp(seq) {
        if (this.#caughtUp || seq < this.#head)
            return;
        this.#caughtUp = true;
        this.#events.caughtUp(this.#head);
    }
    #send(message) {
        if (this.#socket?.readyState === WebSocket.OPEN)
            this.#socket.send(JSON.stringify(message));
    }
    #down(down) {
        if (this.#end())
            this.#events.down(down);
    }
    /** Closes the socket and stops timers. Returns false if the link has already ended. */
    #end() {
        if (this.#ended)
            return false;
        this.#ended = true;
        clearTimeout(this.#openTimer);
        clearInterval(this.#pingTimer);
        this.#abort.abort();
        if (this.#socket) {
            this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
            this.#socket.close(1000);
        }
        return true;
    }
}
