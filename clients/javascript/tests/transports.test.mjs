// How the stream chooses between its transports, with simulated ones. Browser tests cover the real transports.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { webStorageTransports } from "../dist/transport-store.js";
import { Log, createConnector, createEntry, flushMicrotasks, startStream, twoTransports } from "./simulated-log.mjs";

test("a failed data channel falls back at once and is upgraded later", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const { net, peer, kept, begin } = twoTransports(log, { upgradeAfterMs: 10_000 });
  const { stream, seen } = begin();
  await flushMicrotasks();
  assert.equal(stream.state.transport, "websocket", "the fallback opens without a wait");
  assert.equal(peer.opened.length, 1);
  assert.equal(kept.get("http://none"), "websocket");
  log.append(2);
  for (let i = 0; i < 11; i += 1) { mock.timers.tick(1000); await flushMicrotasks(); }
  assert.equal(peer.opened.length, 2, "tried again after upgradeAfterMs");
  assert.equal(stream.state.transport, "websocket", "the working link stays during the upgrade");
  net.udp = true;
  const reconnects = [];
  stream.on("caughtUp", ({ afterReconnect }) => reconnects.push(afterReconnect));
  for (let i = 0; i < 22; i += 1) { mock.timers.tick(1000); await flushMicrotasks(); }
  assert.equal(stream.state.transport, "webrtc");
  assert.deepEqual(reconnects, [false], "a change of transport is no reconnect");
  assert.equal(kept.size, 0, "the store forgets the fallback once WebRTC works");
  log.append(2);
  assert.deepEqual(seen, [1, 2, 3, 4]);
  assert.equal(log.links.size, 1, "the fallback link is closed");
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
  await flushMicrotasks();
  assert.equal(socket.opened.length, 0);
  mock.timers.tick(1);
  await flushMicrotasks();
  assert.equal(stream.state.transport, "websocket");
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(kept.size, 0, "the store does not yet know the data channel");
  // The data channel opens late and resumes at the WebSocket's position. Duplicates are dropped.
  const [{ request, events, closed }] = pending;
  assert.equal(closed, false);
  assert.deepEqual(request.resume, { epoch: "e1", seq: 3 });
  events.welcome({ epoch: "e1", head: 4, recovered: true, silenceMs: 30_000 });
  assert.equal(log.links.size, 0, "the WebSocket was closed");
  for (const seq of [3, 4]) events.event(createEntry(seq, "e1"));
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
  await flushMicrotasks();
  assert.equal(stream.state.transport, "websocket");
  assert.equal(peer.opened.length, 0);
  net.udp = true;
  for (let i = 0; i < 61; i += 1) { mock.timers.tick(1000); await flushMicrotasks(); }
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
  const socket = createConnector(log, "websocket", { refuse: () => ({ why: "unreachable", code: "SOCKET_1006" }) });
  const { stream } = startStream(log, { stream: { transports: ["webrtc", "websocket"], connectors: { webrtc: peer, websocket: socket.open } } });
  mock.timers.tick(1000);
  await flushMicrotasks();
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
  const socket = createConnector(log, "websocket");
  const { stream, seen } = startStream(log, { stream: { from: "e1:0", transports: ["webrtc", "websocket"], connectors: { webrtc: peer, websocket: socket.open }, upgradeAfterMs: 5000 } });
  assert.equal(stream.state.phase, "connecting");
  await flushMicrotasks();
  assert.equal(tries, 1);
  assert.equal(stream.state.transport, "websocket");
  for (let i = 0; i < 8; i += 1) { mock.timers.tick(1000); await flushMicrotasks(); }
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
  const peer = createConnector(log, "webrtc", { refuse: (n) => (n <= 8 ? { why: "unreachable", code: "SIGNALING_FAILED" } : null) });
  const socket = createConnector(log, "websocket");
  const { stream } = startStream(log, { stream: { transports: ["webrtc", "websocket"], connectors: { webrtc: peer.open, websocket: socket.open } } });
  for (let i = 0; i < 130 && stream.state.phase !== "live"; i += 1) { await flushMicrotasks(); mock.timers.tick(1000); }
  assert.equal(stream.state.phase, "live");
  assert.equal(peer.opened.length, 9);
  assert.equal(socket.opened.length, 0);
  stream.close();
});

test("a fallback that is blocked gives way to the next transport at once", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  log.append(2);
  const blocked = (transport) => createConnector(log, transport, { refuse: () => ({ why: "blocked", code: "NO_ROUTE" }) });
  const [peer, socket, sse] = [blocked("webrtc"), blocked("websocket"), createConnector(log, "sse")];
  const { stream, seen } = startStream(log, {
    stream: { from: "e1:0", transports: ["webrtc", "websocket", "sse"], connectors: { webrtc: peer.open, websocket: socket.open, sse: sse.open } },
  });
  await flushMicrotasks();
  assert.equal(stream.state.transport, "sse");
  assert.deepEqual([peer.opened.length, socket.opened.length], [1, 1]);
  assert.deepEqual(seen, [1, 2]);
  stream.close();
});

test("the stream waits after every transport is blocked, and then starts over", async (t) => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const log = new Log();
  const net = { open: false };
  const names = ["webrtc", "websocket", "sse"];
  const wires = names.map((name) => createConnector(log, name, { refuse: () => (net.open && name === "websocket" ? null : { why: "blocked", code: "NO_ROUTE" }) }));
  const connectors = Object.fromEntries(names.map((name, i) => [name, wires[i].open]));
  const { stream } = startStream(log, { stream: { transports: names, connectors } });
  await flushMicrotasks();
  assert.equal(stream.state.phase, "waiting");
  assert.deepEqual(wires.map((wire) => wire.opened.length), [1, 1, 1]);
  net.open = true;
  stream.retryNow();
  await flushMicrotasks();
  assert.equal(stream.state.transport, "websocket");
  stream.close();
});
