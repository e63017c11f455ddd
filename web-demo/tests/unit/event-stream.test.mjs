// The stream's guarantees with a simulated log that disconnects, prunes and rebuilds. Browser tests cover the real transports.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { EventStream } from "../../src/client/dist/event-stream.js";
import { webStorageTransports } from "../../src/client/dist/transport-store.js";

/** Simulates the server's log by the rules of recall.events.v1: replay after the cursor, `gap` for pruned events. */
class Log {
  epoch = "e1";
  head = 0;
  floor = 1;
  lines = new Set();
  append(n = 1) {
    for (let i = 0; i < n; i += 1) {
      this.head += 1;
      for (const line of [...this.lines]) line.push(this.head);
    }
  }
  rebuild(epoch, head) {
    this.cutAll();
    Object.assign(this, { epoch, head, floor: 1 });
  }
  cutAll(down = { why: "lost", code: "CUT" }) {
    for (const line of [...this.lines]) line.cut(down);
  }
}

const entry = (seq, epoch) => ({ seq, id: `${epoch}-${seq}`, type: "entity_update", ts: "", data: { type: "entity_update", seq, epoch } });

function connector(log, transport = "webrtc", { refuse = () => null } = {}) {
  const opened = [];
  const open = (request, events) => {
    opened.push(request);
    const line = {
      push: (seq) => events.event(entry(seq, log.epoch)),
      cut: (down) => { if (log.lines.delete(line)) events.down(down); },
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
      for (let seq = from; seq <= log.head; seq += 1) line.push(seq);
      events.caughtUp(log.head);
      log.lines.add(line);
    });
    return { transport, ack: (seq) => { log.acked = seq; }, measure() {}, close: () => log.lines.delete(line) };
  };
  return { open, opened };
}

const settle = async () => { for (let i = 0; i < 20; i += 1) await Promise.resolve(); };

function start(log, options = {}) {
  const wire = options.wire ?? connector(log);
  const seen = [];
  const gaps = [];
  const stream = new EventStream({
    endpoint: { url: "http://none" }, sessionId: "s", connectors: { webrtc: wire.open }, transports: ["webrtc"], onGap: (gap) => void gaps.push(gap), ...options.stream,
  });
  stream.on("event", (event) => seen.push(event.seq));
  stream.start();
  return { stream, seen, gaps, wire };
}

test("repeated disconnects deliver every event once and in order", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  for (let seed = 1; seed <= 60; seed += 1) {
    let state = seed;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const log = new Log();
    const { stream, seen, gaps } = start(log, { stream: { from: "e1:0" } });
    for (let step = 0; step < 60; step += 1) {
      const dice = random();
      if (dice < 0.5) log.append(1 + Math.floor(random() * 5));
      else if (dice < 0.75) log.cutAll();
      else if (dice < 0.85) { stream.pause(); log.append(2); stream.start(); }
      else mock.timers.tick(random() * 20_000);
      await settle();
    }
    mock.timers.tick(20_000);
    await settle();
    assert.deepEqual(seen, Array.from({ length: log.head }, (_, i) => i + 1), `seed ${seed}`);
    assert.deepEqual(gaps, [], `seed ${seed}`);
    assert.equal(stream.state.cursor, `e1:${log.head}`);
    stream.close();
  }
});

test("a duplicate event is delivered once", async () => {
  const log = new Log();
  const { stream, seen } = start(log, { stream: { from: "e1:0" } });
  await settle();
  log.append(3);
  for (const line of log.lines) line.push(2);
  for (const line of log.lines) line.push(3);
  assert.deepEqual(seen, [1, 2, 3]);
  stream.close();
});

test("a gap is refetched before later events are delivered", async () => {
  const log = new Log();
  Object.assign(log, { head: 50, floor: 31 });
  let release;
  const order = [];
  const { stream } = start(log, { stream: { from: "e1:10", onGap: (gap) => { order.push(gap); return new Promise((resolve) => { release = resolve; }); } } });
  stream.on("event", (event) => order.push(event.seq));
  await settle();
  assert.deepEqual(order, [{ from: 11, to: 30, reason: "pruned" }]);
  assert.equal(stream.state.cursor, "e1:10", "the cursor stays until the refetch succeeds");
  log.append(2);
  release();
  await settle();
  assert.deepEqual(order.slice(1), Array.from({ length: 22 }, (_, i) => 31 + i));
  stream.close();
});

test("a failed refetch is retried and skips nothing", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  Object.assign(log, { head: 5, floor: 4 });
  let calls = 0;
  const { stream, seen } = start(log, { stream: { from: "e1:0", onGap: () => { calls += 1; if (calls < 3) throw new Error("server away"); } } });
  for (let i = 0; i < 5; i += 1) { await settle(); mock.timers.tick(20); mock.timers.tick(3000); }
  await settle();
  assert.equal(calls, 3);
  assert.deepEqual(seen, [4, 5]);
  stream.close();
});

test("closing during a failed refetch keeps the cursor before the gap", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  Object.assign(log, { head: 5, floor: 4 });
  const saved = [];
  const cursorStore = { load: () => ({ epoch: "e1", seq: 0 }), save: (_id, cursor) => saved.push(cursor.seq) };
  const { stream, seen } = start(log, { stream: { cursorStore, onGap: () => { throw new Error("server away"); } } });
  await settle();
  stream.close();
  for (let i = 0; i < 5; i += 1) { mock.timers.tick(20_000); await settle(); }
  assert.deepEqual(saved, []);
  assert.deepEqual(seen, []);
  assert.equal(stream.state.cursor, "e1:0");
});

test("a new epoch causes a refetch and accepts lower numbers", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { stream, seen, gaps } = start(log, { stream: { from: "e1:0" } });
  await settle();
  log.append(9);
  log.rebuild("e2", 3);
  mock.timers.tick(20_000);
  await settle();
  log.append(2);
  await settle();
  assert.deepEqual(gaps, [{ from: 1, to: 3, reason: "cursor_unknown" }]);
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5]);
  assert.equal(stream.state.cursor, "e2:5");
  stream.close();
});

test("a cursor past the head causes a refetch", async () => {
  const log = new Log();
  log.head = 4;
  const { stream, gaps, seen } = start(log, { stream: { from: "e1:9" } });
  await settle();
  log.append(1);
  await settle();
  assert.deepEqual(gaps, [{ from: 1, to: 4, reason: "cursor_unknown" }]);
  assert.deepEqual(seen, [5]);
  stream.close();
});

test("an unannounced hole becomes a gap", async () => {
  const log = new Log();
  const { stream, gaps, seen } = start(log, { stream: { from: "e1:0" } });
  await settle();
  log.append(1);
  for (const line of log.lines) line.push(4);
  await settle();
  assert.deepEqual(gaps, [{ from: 2, to: 3, reason: "hole" }]);
  assert.deepEqual(seen, [1, 4]);
  stream.close();
});

test("an unrecovered cursor without an announced gap refetches everything", async () => {
  const gaps = [];
  const stream = new EventStream({
    endpoint: { url: "" }, sessionId: "s", from: "old:7", transports: ["webrtc"], onGap: (gap) => void gaps.push(gap),
    connectors: { webrtc: (_request, events) => {
      queueMicrotask(() => { events.welcome({ epoch: "new", head: 0, recovered: false, silenceMs: 7000 }); events.caughtUp(0); });
      return { transport: "webrtc", ack() {}, measure() {}, close() {} };
    } },
  }).start();
  await settle();
  assert.deepEqual(gaps, [{ from: 1, to: 0, reason: "not_recovered" }]);
  assert.equal(stream.state.phase, "live");
  assert.equal(stream.state.cursor, "new:0");
  stream.close();
});

test("a silent link times out, even if sleep froze the timers", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { stream, wire, seen } = start(log, { stream: { from: "e1:0" } });
  await settle();
  for (const line of log.lines) log.lines.delete(line); // The server disappears silently.
  mock.timers.setTime(3_600_000); // An hour passes without a tick.
  mock.timers.tick(1000);
  assert.equal(stream.state.phase, "waiting");
  assert.equal(stream.state.reason, "SILENT");
  log.append(3);
  mock.timers.tick(1000);
  await settle();
  assert.equal(wire.opened.length, 2);
  assert.deepEqual(seen, [1, 2, 3]);
  stream.close();
});

/** Creates two transports. WebRTC opens only if `net.udp` is true; otherwise it fails, or waits with `hang`. */
function twoTransports(log, { hang = false, ...stream } = {}) {
  const net = { udp: false };
  const pending = [];
  const peer = connector(log, "webrtc", { refuse: () => (net.udp ? null : { why: "blocked", code: "NO_ROUTE" }) });
  const openPeer = (request, events) => {
    if (!hang || net.udp) return peer.open(request, events);
    const attempt = { request, events, closed: false };
    pending.push(attempt);
    peer.opened.push(request);
    return { transport: "webrtc", ack() {}, measure() {}, close() { attempt.closed = true; } };
  };
  const socket = connector(log, "websocket");
  const kept = new Map();
  const transportStore = { load: (origin) => kept.get(origin) ?? null, save: (origin, transport) => void (transport ? kept.set(origin, transport) : kept.delete(origin)) };
  const begin = () => start(log, { stream: { from: "e1:0", transports: ["webrtc", "websocket"], connectors: { webrtc: openPeer, websocket: socket.open }, transportStore, ...stream } });
  return { net, peer, socket, pending, kept, begin };
}

test("a failed data channel falls back at once and is upgraded later", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { net, peer, kept, begin } = twoTransports(log, { upgradeAfterMs: 10_000 });
  const { stream, seen } = begin();
  await settle();
  assert.equal(stream.state.transport, "websocket", "the fallback opens without a wait");
  assert.equal(peer.opened.length, 1);
  assert.equal(kept.get("http://none"), "websocket");
  log.append(2);
  for (let i = 0; i < 11; i += 1) { mock.timers.tick(1000); await settle(); }
  assert.equal(peer.opened.length, 2, "tried again after upgradeAfterMs");
  assert.equal(stream.state.transport, "websocket", "the working link stays during the upgrade");
  net.udp = true;
  const reconnects = [];
  stream.on("caughtUp", ({ afterReconnect }) => reconnects.push(afterReconnect));
  for (let i = 0; i < 22; i += 1) { mock.timers.tick(1000); await settle(); }
  assert.equal(stream.state.transport, "webrtc");
  assert.deepEqual(reconnects, [false], "a change of transport is no reconnect");
  assert.equal(kept.size, 0, "the store forgets the fallback once WebRTC works");
  log.append(2);
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.equal(log.lines.size, 1, "the fallback link is closed");
  stream.close();
});

test("a slow data channel opens the WebSocket in parallel after a second", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  log.append(3);
  const { pending, socket, kept, begin } = twoTransports(log, { hang: true });
  const { stream, seen, gaps } = begin();
  mock.timers.tick(999);
  await settle();
  assert.equal(socket.opened.length, 0);
  mock.timers.tick(1);
  await settle();
  assert.equal(stream.state.transport, "websocket");
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(kept.size, 0, "the store does not yet know the data channel");
  // The data channel opens late and resumes at the WebSocket's position. Duplicates are dropped.
  const [{ request, events, closed }] = pending;
  assert.equal(closed, false);
  assert.deepEqual(request.resume, { epoch: "e1", seq: 3 });
  events.welcome({ epoch: "e1", head: 4, recovered: true, silenceMs: 30_000 });
  assert.equal(log.lines.size, 0, "the WebSocket was closed");
  for (const seq of [3, 4]) events.event(entry(seq, "e1"));
  events.caughtUp(4);
  assert.equal(stream.state.transport, "webrtc");
  assert.equal(stream.state.phase, "live");
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.deepEqual(gaps, []);
  stream.close();
});

test("a stored fallback starts with the WebSocket and upgrades after a minute", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { net, peer, kept, begin } = twoTransports(log);
  kept.set("http://none", "websocket");
  const { stream } = begin();
  await settle();
  assert.equal(stream.state.transport, "websocket");
  assert.equal(peer.opened.length, 0);
  net.udp = true;
  for (let i = 0; i < 61; i += 1) { mock.timers.tick(1000); await settle(); }
  assert.equal(stream.state.transport, "webrtc");
  assert.equal(kept.size, 0);
  stream.close();
});

test("a fallback that fails while opening leaves the data channel to open", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const peers = [];
  const peer = (_request, events) => {
    peers.push(events);
    return { transport: "webrtc", ack() {}, measure() {}, close() {} };
  };
  const socket = connector(log, "websocket", { refuse: () => ({ why: "unreachable", code: "SOCKET_1006" }) });
  const { stream } = start(log, { stream: { transports: ["webrtc", "websocket"], connectors: { webrtc: peer, websocket: socket.open } } });
  mock.timers.tick(1000);
  await settle();
  assert.equal(socket.opened.length, 1);
  assert.equal(stream.state.phase, "connecting");
  peers[0].welcome({ epoch: "e1", head: 0, recovered: true, silenceMs: 30_000 });
  peers[0].caughtUp(0);
  assert.equal(stream.state.transport, "webrtc");
  assert.equal(stream.state.phase, "live");
  assert.equal(peers.length, 1);
  stream.close();
});

test("a stored transport expires after a day", (t) => {
  mock.timers.enable({ apis: ["Date"] });
  t.after(() => mock.timers.reset());
  const items = new Map();
  const store = webStorageTransports(() => ({ getItem: (k) => items.get(k) ?? null, setItem: (k, v) => void items.set(k, v), removeItem: (k) => void items.delete(k) }));
  store.save("https://a", "websocket");
  assert.equal(store.load("https://a"), "websocket");
  assert.equal(store.load("https://b"), null);
  mock.timers.tick(24 * 60 * 60 * 1000);
  assert.equal(store.load("https://a"), null);
  items.set("recall.transport.https://a", "nonsense 99999999999999");
  assert.equal(store.load("https://a"), null);
  assert.equal(webStorageTransports(() => { throw new Error("forbidden"); }).load("https://a"), null);
});

test("a transport that throws falls back at once, and a failed upgrade keeps the fallback", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  let tries = 0;
  const peer = () => { tries += 1; throw new Error("too many peers"); };
  const socket = connector(log, "websocket");
  const { stream, seen } = start(log, { stream: { from: "e1:0", transports: ["webrtc", "websocket"], connectors: { webrtc: peer, websocket: socket.open }, upgradeAfterMs: 5000 } });
  assert.equal(stream.state.phase, "connecting");
  await settle();
  assert.equal(tries, 1);
  assert.equal(stream.state.transport, "websocket");
  for (let i = 0; i < 8; i += 1) { mock.timers.tick(1000); await settle(); }
  assert.equal(tries, 2, "a failed upgrade keeps the working link");
  assert.equal(stream.state.transport, "websocket");
  log.append(2);
  assert.deepEqual(seen, [1, 2]);
  stream.close();
});

test("an unreachable server does not change the transport", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const peer = connector(log, "webrtc", { refuse: (n) => (n <= 8 ? { why: "unreachable", code: "SIGNALING_FAILED" } : null) });
  const socket = connector(log, "websocket");
  const { stream } = start(log, { stream: { transports: ["webrtc", "websocket"], connectors: { webrtc: peer.open, websocket: socket.open } } });
  for (let i = 0; i < 130 && stream.state.phase !== "live"; i += 1) { await settle(); mock.timers.tick(1000); }
  assert.equal(stream.state.phase, "live");
  assert.equal(peer.opened.length, 9);
  assert.equal(socket.opened.length, 0);
  stream.close();
});

test("a refused stream closes with the reason", async () => {
  const log = new Log();
  const wire = connector(log, "webrtc", { refuse: () => ({ why: "refused", code: "SIGNALING_404" }) });
  const { stream } = start(log, { wire });
  await settle();
  assert.equal(stream.state.phase, "closed");
  assert.equal(stream.state.reason, "SIGNALING_404");
});

test("a listener that throws does not stop later events", async (t) => {
  const log = new Log();
  const { stream, seen } = start(log, { stream: { from: "e1:0" } });
  const thrown = [];
  // Node has no `reportError`.
  globalThis.reportError = (error) => thrown.push(error.message);
  t.after(() => delete globalThis.reportError);
  stream.on("event", (event) => { if (event.seq === 1) throw new Error("listener"); });
  await settle();
  log.append(2);
  await settle();
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(thrown, ["listener"]);
  stream.close();
});

test("many events are acknowledged once, and the cursor is stored", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const saved = [];
  const { stream } = start(log, { stream: { cursorStore: { load: () => ({ epoch: "e1", seq: 0 }), save: (_id, cursor) => saved.push(cursor.seq) } } });
  await settle();
  log.append(5);
  assert.equal(log.acked, undefined);
  mock.timers.tick(250);
  assert.equal(log.acked, 5);
  assert.equal(saved.at(-1), 5);
  stream.close();
});
