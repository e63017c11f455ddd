// The fallback transport for networks without UDP: the GraphQL subscription `sessionEvents` over a WebSocket (graphql-transport-ws).
import { CursorLink } from "./cursor-link.ts";
import { formatCursor, parseCursor, type Cursor } from "./cursor.ts";
import { SessionEvents, type SessionEventsResult } from "./generated/operations.ts";
import { connectionParams, type Endpoint } from "./graphql.ts";
import type { Link, LinkEvents, LinkRequest } from "./link.ts";

/** Pages cannot see the pings of a WebSocket, so the client sends its own and measures the silence. */
const PING_EVERY_MS = 3000;
const SILENCE_MS = 2 * PING_EVERY_MS + 1000;

interface ServerMessage {
  type: "connection_ack" | "ping" | "pong" | "next" | "error" | "complete";
  payload?: { data?: SessionEventsResult | null; errors?: Array<{ message: string }> };
}

/** Returns the address of the server's WebSocket. */
export const socketUrl = ({ url }: Endpoint): string =>
  `${new URL(url || "/", globalThis.location?.href).href.replace(/\/$/, "").replace(/^http/, "ws")}/graphql/ws`;

export const openWebSocket = (request: LinkRequest, events: LinkEvents): Link => new WebSocketLink(request, events).connect();

class WebSocketLink extends CursorLink {
  readonly transport = "websocket";
  #socket: WebSocket | null = null;
  #pingAt = 0;
  #pingTimer: ReturnType<typeof setInterval> | undefined;

  measure(): void {
    this.#pingAt = performance.now();
    this.#send({ type: "ping" });
  }

  protected subscribe(start: Cursor): void {
    const { endpoint } = this.request;
    const socket = new WebSocket(socketUrl(endpoint), "graphql-transport-ws");
    this.#socket = socket;
    socket.onopen = () => {
      this.#send({ type: "connection_init", payload: connectionParams(endpoint) });
      this.opened(start, SILENCE_MS);
      this.#pingTimer = setInterval(() => this.measure(), PING_EVERY_MS);
      this.measure();
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      let message: ServerMessage;
      try {
        message = JSON.parse(data) as ServerMessage;
      } catch {
        return this.down({ why: "lost", code: "BAD_FRAME" });
      }
      this.#handle(message, formatCursor(start));
    };
    socket.onclose = ({ code }) => this.down({ why: code === 4401 || code === 4403 ? "refused" : this.isOpen ? "lost" : this.notOpen(), code: `SOCKET_${code}` });
  }

  #handle(message: ServerMessage, after: string) {
    this.events.heard();
    switch (message.type) {
      case "connection_ack":
        return this.#send({ id: "1", type: "subscribe", payload: { query: SessionEvents, variables: { sessionId: this.request.sessionId, after } } });
      case "ping":
        return this.#send({ type: "pong" });
      case "pong":
        return this.events.latency(performance.now() - this.#pingAt);
      case "next":
        return this.#receiveEvent(message.payload?.data?.sessionEvents);
      case "error":
      case "complete":
        return this.down({ why: "lost", code: "SUBSCRIPTION_ENDED" });
    }
  }

  #receiveEvent(event: SessionEventsResult["sessionEvents"] | undefined) {
    if (!event) return this.down({ why: "lost", code: "BAD_EVENT" });
    this.receive({ type: event.type, cursor: parseCursor(event.cursor), ts: event.createdAt, data: event.data });
  }

  #send(message: object) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  protected disconnect(): void {
    clearInterval(this.#pingTimer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close(1000);
  }
}
