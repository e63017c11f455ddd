// The second choice of transport, where UDP is blocked: the GraphQL subscription `sessionEvents` over a WebSocket (graphql-transport-ws).
import { formatCursor, parseCursor } from "./cursor.ts";
import { SessionEvents, StreamHead, type SessionEventsResult } from "./generated/operations.ts";
import { RecallError, graphql, introduction } from "./graphql.ts";
import type { Down, Link, LinkEvents, LinkRequest } from "./link.ts";

/** A WebSocket has no ping of its own that a page can see, so we ask every so often and count silence against it. */
const PING_EVERY_MS = 3000;
const SILENCE_MS = 2 * PING_EVERY_MS + 1000;
const EPHEMERAL = new Set(["answer_delta", "context_ready"]);

interface ServerMessage {
  type: "connection_ack" | "ping" | "pong" | "next" | "error" | "complete";
  payload?: { data?: SessionEventsResult | null; errors?: Array<{ message: string }> };
}

export function openWebSocket(request: LinkRequest, events: LinkEvents): Link {
  const { endpoint, sessionId, openTimeoutMs } = request;
  const abort = new AbortController();
  let socket: WebSocket | null = null;
  let open = false;
  let ended = false;
  let head = 0;
  let caughtUp = false;
  let pingAt = 0;
  let pinger: ReturnType<typeof setInterval> | undefined;

  const send = (message: object) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const end = () => {
    if (ended) return false;
    ended = true;
    clearTimeout(timer);
    clearInterval(pinger);
    abort.abort();
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close(1000);
    }
    return true;
  };
  const down = (down: Down) => {
    if (end()) events.down(down);
  };
  const timer = setTimeout(() => down({ why: "unreachable", code: "OPEN_TIMEOUT" }), openTimeoutMs);
  const reached = (seq: number) => {
    if (!caughtUp && seq >= head) {
      caughtUp = true;
      events.caughtUp(head);
    }
  };

  const receive = (message: ServerMessage, after: string) => {
    events.heard();
    switch (message.type) {
      case "connection_ack":
        return send({ id: "1", type: "subscribe", payload: { query: SessionEvents, variables: { sessionId, after } } });
      case "ping":
        return send({ type: "pong" });
      case "pong":
        return events.latency(performance.now() - pingAt);
      case "next": {
        const event = message.payload?.data?.sessionEvents;
        if (!event) return down({ why: "lost", code: "BAD_EVENT" });
        if (EPHEMERAL.has(event.type)) return events.ephemeral(event.type, event.data);
        if (event.type === "gap") {
          const { from, to, reason } = event.data as { from: number; to: number; reason: string };
          events.gap({ from, to, reason });
          return reached(to);
        }
        if (event.type === "bye") {
          const { code, reconnect, after_ms } = event.data as { code: string; reconnect: boolean; after_ms: number };
          return down({ why: reconnect ? "lost" : "refused", code, afterMs: after_ms });
        }
        const cursor = parseCursor(event.cursor);
        if (cursor?.epoch !== epoch) return down({ why: "lost", code: "EPOCH_CHANGED" });
        events.event({ seq: event.seq, id: event.cursor, type: event.type, ts: event.createdAt, data: event.data });
        return reached(event.seq);
      }
      case "error":
      case "complete":
        return down({ why: "lost", code: "SUBSCRIPTION_ENDED" });
    }
  };

  let epoch = "";
  const connect = async () => {
    const { session } = await graphql(endpoint, StreamHead, { sessionId }, { timeoutMs: openTimeoutMs, signal: abort.signal });
    if (ended) return;
    const newest = parseCursor(session?.head);
    if (!newest) return down({ why: "refused", code: "SESSION_NOT_FOUND" });
    ({ epoch, seq: head } = newest);
    const { resume } = request;
    const recovered = resume === null || (resume.epoch === epoch && resume.seq <= head);
    const start = recovered && resume ? resume : newest;

    socket = new WebSocket(`${new URL(endpoint.url || "/", location.href).href.replace(/\/$/, "").replace(/^http/, "ws")}/graphql/ws`, "graphql-transport-ws");
    socket.onopen = () => {
      open = true;
      clearTimeout(timer);
      send({ type: "connection_init", payload: introduction(endpoint) });
      events.welcome({ epoch, head, recovered, reason: recovered ? undefined : "cursor_unknown", silenceMs: SILENCE_MS });
      if (!recovered) events.gap({ from: 1, to: head, reason: "cursor_unknown" });
      reached(start.seq);
      pinger = setInterval(measure, PING_EVERY_MS);
      measure();
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      let message: ServerMessage;
      try {
        message = JSON.parse(data) as ServerMessage;
      } catch {
        return down({ why: "lost", code: "BAD_FRAME" });
      }
      receive(message, formatCursor(start));
    };
    socket.onclose = ({ code }) => down({ why: code === 4401 || code === 4403 ? "refused" : open ? "lost" : "unreachable", code: `SOCKET_${code}` });
  };
  const measure = () => {
    pingAt = performance.now();
    send({ type: "ping" });
  };
  connect().catch((error: unknown) => {
    const status = error instanceof RecallError ? error.status : 0;
    down({ why: status === 401 || status === 403 ? "refused" : "unreachable", code: error instanceof RecallError ? error.code : "CONNECT_FAILED" });
  });

  return {
    transport: "websocket",
    // The subscription has no acknowledgement: its cursor is in the next `after`.
    ack() {},
    measure,
    close: () => void end(),
  };
}
