// The stream's guarantees with a simulated log that disconnects, prunes and rebuilds. Browser tests cover the real transports.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { EventStream } from "../dist/event-stream.js";
import { Log, createConnector, flushMicrotasks, startStream } from "./simulated-log.mjs";

test("repeated disconnects deliver every event once and in order", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  for (let seed = 1; seed <= 60; seed += 1) {
    let state = seed;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
    const log = new Log();
    const { stream, seen, gaps } = startStream(log, { stream: { from: "e1:0" } });
    for (let step = 0; step < 60; step += 1) {
      const dice = random();
      if (dice < 0.5) log.append(1 + Math.floor(random() * 5));
      else if (dice < 0.75) log.disconnectAll();
      else if (dice < 0.85) { stream.pause(); log.append(2); stream.start(); }
      else mock.timers.tick(random() * 20_000);
      await flushMicrotasks();
    }
    mock.timers.tick(20_000);
    await flushMicrotasks();
    assert.deepEqual(seen, Array.from({ length: log.head }, (_, i) => i + 1), `seed ${seed}`);
    assert.deepEqual(gaps, [], `seed ${seed}`);
    assert.equal(stream.state.cursor, `e1:${log.head}`);
    stream.close();
  }
});

test("a duplicate event is delivered once", async () => {
  const log = new Log();
  const { stream, seen } = startStream(log, { stream: { from: "e1:0" } });
  await flushMicrotasks();
  log.append(3);
  for (const link of log.links) link.push(2);
  for (const link of log.links) link.push(3);
  assert.deepEqual(seen, [1, 2, 3]);
  stream.close();
});

test("a gap is refetched before later events are delivered", async () => {
  const log = new Log();
  Object.assign(log, { head: 50, floor: 31 });
  let release;
  const order = [];
  const { stream } = startStream(log, { stream: { from: "e1:10", onGap: (gap) => { order.push(gap); return new Promise((resolve) => { release = resolve; }); } } });
  stream.on("event", (event) => order.push(event.seq));
  await flushMicrotasks();
  assert.deepEqual(order, [{ from: 11, to: 30, reason: "pruned" }]);
  assert.equal(stream.state.cursor, "e1:10", "the cursor stays until the refetch succeeds");
  log.append(2);
  release();
  await flushMicrotasks();
  assert.deepEqual(order.slice(1), Array.from({ length: 22 }, (_, i) => 31 + i));
  stream.close();
});

test("a failed refetch is retried and skips nothing", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  Object.assign(log, { head: 5, floor: 4 });
  let calls = 0;
  const { stream, seen } = startStream(log, { stream: { from: "e1:0", onGap: () => { calls += 1; if (calls < 3) throw new Error("server away"); } } });
  for (let i = 0; i < 5; i += 1) { await flushMicrotasks(); mock.timers.tick(20); mock.timers.tick(3000); }
  await flushMicrotasks();
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
  const { stream, seen } = startStream(log, { stream: { cursorStore, onGap: () => { throw new Error("server away"); } } });
  await flushMicrotasks();
  stream.close();
  for (let i = 0; i < 5; i += 1) { mock.timers.tick(20_000); await flushMicrotasks(); }
  assert.deepEqual(saved, []);
  assert.deepEqual(seen, []);
  assert.equal(stream.state.cursor, "e1:0");
});

test("a new epoch causes a refetch and accepts lower numbers", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { stream, seen, gaps } = startStream(log, { stream: { from: "e1:0" } });
  await flushMicrotasks();
  log.append(9);
  log.rebuild("e2", 3);
  mock.timers.tick(20_000);
  await flushMicrotasks();
  log.append(2);
  await flushMicrotasks();
  assert.deepEqual(gaps, [{ from: 1, to: 3, reason: "cursor_unknown" }]);
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5]);
  assert.equal(stream.state.cursor, "e2:5");
  stream.close();
});

test("a cursor past the head causes a refetch", async () => {
  const log = new Log();
  log.head = 4;
  const { stream, gaps, seen } = startStream(log, { stream: { from: "e1:9" } });
  await flushMicrotasks();
  log.append(1);
  await flushMicrotasks();
  assert.deepEqual(gaps, [{ from: 1, to: 4, reason: "cursor_unknown" }]);
  assert.deepEqual(seen, [5]);
  stream.close();
});

test("an unannounced hole becomes a gap", async () => {
  const log = new Log();
  const { stream, gaps, seen } = startStream(log, { stream: { from: "e1:0" } });
  await flushMicrotasks();
  log.append(1);
  for (const link of log.links) link.push(4);
  await flushMicrotasks();
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
  await flushMicrotasks();
  assert.deepEqual(gaps, [{ from: 1, to: 0, reason: "not_recovered" }]);
  assert.equal(stream.state.phase, "live");
  assert.equal(stream.state.cursor, "new:0");
  stream.close();
});

test("a silent link times out, even if sleep froze the timers", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { stream, wire, seen } = startStream(log, { stream: { from: "e1:0" } });
  await flushMicrotasks();
  for (const link of log.links) log.links.delete(link); // The server disappears silently.
  mock.timers.setTime(3_600_000); // An hour passes without a tick.
  mock.timers.tick(1000);
  assert.equal(stream.state.phase, "waiting");
  assert.equal(stream.state.reason, "SILENT");
  log.append(3);
  mock.timers.tick(1000);
  await flushMicrotasks();
  assert.equal(wire.opened.length, 2);
  assert.deepEqual(seen, [1, 2, 3]);
  stream.close();
});

test("a refused stream closes with the reason", async () => {
  const log = new Log();
  const wire = createConnector(log, "webrtc", { refuse: () => ({ why: "refused", code: "SIGNALING_404" }) });
  const { stream } = startStream(log, { wire });
  await flushMicrotasks();
  assert.equal(stream.state.phase, "closed");
  assert.equal(stream.state.reason, "SIGNALING_404");
});

test("a listener that throws does not stop later events", async (t) => {
  const log = new Log();
  const { stream, seen } = startStream(log, { stream: { from: "e1:0" } });
  const thrown = [];
  // Node has no `reportError`.
  globalThis.reportError = (error) => thrown.push(error.message);
  t.after(() => delete globalThis.reportError);
  stream.on("event", (event) => { if (event.seq === 1) throw new Error("listener"); });
  await flushMicrotasks();
  log.append(2);
  await flushMicrotasks();
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(thrown, ["listener"]);
  stream.close();
});

test("many events are acknowledged once, and the cursor is stored", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const saved = [];
  const { stream } = startStream(log, { stream: { cursorStore: { load: () => ({ epoch: "e1", seq: 0 }), save: (_id, cursor) => saved.push(cursor.seq) } } });
  await flushMicrotasks();
  log.append(5);
  assert.equal(log.acked, undefined);
  mock.timers.tick(250);
  assert.equal(log.acked, 5);
  assert.equal(saved.at(-1), 5);
  stream.close();
});
