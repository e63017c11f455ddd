// A simulated event log and transports for unit tests of the stream.
import { EventStream } from "../dist/event-stream.js";

/** Simulates the server's log by the rules of recall.events.v1: replay after the cursor, `gap` for pruned events. */
export class Log {
  epoch = "e1";
  head = 0;
  floor = 1;
  links = new Set();
  append(n = 1) {
    for (let i = 0; i < n; i += 1) {
      this.head += 1;
      for (const link of [...this.links]) link.push(this.head);
    }
  }
  rebuild(epoch, head) {
    this.disconnectAll();
    Object.assign(this, { epoch, head, floor: 1 });
  }
  disconnectAll(down = { why: "lost", code: "CUT" }) {
    for (const link of [...this.links]) link.disconnect(down);
  }
}

export const createEntry = (seq, epoch) => ({ seq, id: `${epoch}-${seq}`, type: "entity_update", ts: "", data: { type: "entity_update", seq, epoch } });

export function createConnector(log, transport = "webrtc", { refuse = () => null } = {}) {
  const opened = [];
  const open = (request, events) => {
    opened.push(request);
    const link = {
      push: (seq) => events.event(createEntry(seq, log.epoch)),
      disconnect: (down) => { if (log.links.delete(link)) events.down(down); },
    };
    const refusal = refuse(opened.length);
    if (refusal) {
      queueMicrotask(() => events.down(refusal));
      return { transport, ack() {}, measure() {}, close() {} };
    }
    queueMicrotask(() => {
      const { resume } = request;
      const known = resume === null || (resume.epoch === log.epoch && resume.seq <= log.head);
      events.welcome({ epoch: log.epoch, head: log.head, recovered: known && (resume === null || resume.seq + 1 >= log.floor), silenceMs: 30_000 });
      let from = resume === null ? log.head + 1 : known ? resume.seq + 1 : 1;
      if (!known) {
        events.gap({ from: 1, to: log.head, reason: "cursor_unknown" });
        from = log.head + 1;
      } else if (from < log.floor) {
        events.gap({ from, to: log.floor - 1, reason: "pruned" });
        from = log.floor;
      }
      for (let seq = from; seq <= log.head; seq += 1) link.push(seq);
      events.caughtUp(log.head);
      log.links.add(link);
    });
    return { transport, ack: (seq) => { log.acked = seq; }, measure() {}, close: () => log.links.delete(link) };
  };
  return { open, opened };
}

export const flushMicrotasks = async () => { for (let i = 0; i < 20; i += 1) await Promise.resolve(); };

export function startStream(log, options = {}) {
  const wire = options.wire ?? createConnector(log);
  const seen = [];
  const gaps = [];
  const stream = new EventStream({
    endpoint: { url: "http://none" }, sessionId: "s", connectors: { webrtc: wire.open }, transports: ["webrtc"], onGap: (gap) => void gaps.push(gap), ...options.stream,
  });
  stream.on("event", (event) => seen.push(event.seq));
  stream.start();
  return { stream, seen, gaps, wire };
}

/** Creates two transports. WebRTC opens only if `net.udp` is true; otherwise it fails, or waits with `hang`. */
export function twoTransports(log, { hang = false, ...stream } = {}) {
  const net = { udp: false };
  const pending = [];
  const peer = createConnector(log, "webrtc", { refuse: () => (net.udp ? null : { why: "blocked", code: "NO_ROUTE" }) });
  const openPeer = (request, events) => {
    if (!hang || net.udp) return peer.open(request, events);
    const attempt = { request, events, closed: false };
    pending.push(attempt);
    peer.opened.push(request);
    return { transport: "webrtc", ack() {}, measure() {}, close() { attempt.closed = true; } };
  };
  const socket = createConnector(log, "websocket");
  const kept = new Map();
  const transportStore = { load: (origin) => kept.get(origin) ?? null, save: (origin, transport) => void (transport ? kept.set(origin, transport) : kept.delete(origin)) };
  const begin = () => startStream(log, { stream: { from: "e1:0", transports: ["webrtc", "websocket"], connectors: { webrtc: openPeer, websocket: socket.open }, transportStore, ...stream } });
  return { net, peer, socket, pending, kept, begin };
}
