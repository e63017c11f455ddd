// The stream client in a real Chromium against the real server: whatever happens to the line, every event is seen once and in order.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Browser, Server, clientPage, live, prepare, record, sawEverything, until } from "./harness.mjs";

let server;
let browser;
before(async () => {
  server = await Server.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

const epoch = (session) => session.head.slice(0, session.head.lastIndexOf(":"));
const open = (tab, session, options = {}) => tab.page.evaluate(([id, o]) => window.open_(id, o), [session.id, { from: `${epoch(session)}:0`, ...options }]);
const offers = (tab, session) => tab.requests.filter((r) => r === `POST /signaling/${session.id}`).length;
const talk = async (session, n) => {
  for (let i = 0; i < n; i += 1) await server.say(session.id, i % 2 ? "Sarah works on Phoenix." : "John likes Mary.");
};

test("events come over the data channel, in order, each once", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await live(tab, "webrtc");
  await talk(session, 6);
  const seen = await sawEverything(tab, await server.settledHead(session.id));
  assert.deepEqual(seen.transports, ["webrtc"]);
  for (const type of ["message_stored", "entity_update", "fact_update", "message_processed"]) assert.ok(seen.types.includes(type), type);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a cut line: what was missed is replayed", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await live(tab);
  await talk(session, 2);
  const before = await server.settledHead(session.id);
  await sawEverything(tab, before);
  await tab.page.evaluate(() => window.stream.pause());
  await talk(session, 4);
  const head = await server.settledHead(session.id);
  await sleep(300);
  assert.equal((await record(tab)).seqs.length, before, "nothing arrives while the line is cut");
  await tab.page.evaluate(() => void window.stream.start());
  const seen = await sawEverything(tab, head);
  assert.equal(seen.replayed, head - before);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the server is killed and restarted in the middle, twice", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await live(tab);
  for (let round = 0; round < 2; round += 1) {
    await talk(session, 5);
    tab.outage = true;
    await server.kill();
    await until(async () => ["waiting", "connecting"].includes((await record(tab)).state.phase), "the client to notice");
    await server.run();
    await live(tab);
    tab.outage = false;
    await talk(session, 3);
    await sawEverything(tab, await server.settledHead(session.id));
  }
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("UDP gone for 3 seconds: the same peer goes on", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await live(tab, "webrtc");
  server.relay.lossy = true;
  await talk(session, 4);
  await sleep(3000);
  server.relay.lossy = false;
  await sawEverything(tab, await server.settledHead(session.id));
  assert.equal(offers(tab, session), 1);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("UDP gone for 30 seconds: the WebSocket takes over, and the data channel comes back", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session, { upgradeAfterMs: 4000 });
  await live(tab, "webrtc");
  await talk(session, 2);
  // On a slow machine the line would be cut before anything came over it.
  await sawEverything(tab, await server.settledHead(session.id));
  server.relay.lossy = true;
  const until30 = Date.now() + 30_000;
  await talk(session, 4);
  await live(tab, "websocket", 40_000);
  await sawEverything(tab, await server.settledHead(session.id));
  await talk(session, 2);
  await sleep(Math.max(0, until30 - Date.now()));
  server.relay.lossy = false;
  await live(tab, "webrtc", 60_000);
  await talk(session, 2);
  const seen = await sawEverything(tab, await server.settledHead(session.id));
  assert.deepEqual(seen.transports, ["webrtc", "websocket", "webrtc"]);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a network without UDP from the start: WebSocket", async () => {
  const session = await server.newSession();
  server.relay.lossy = true;
  try {
    const tab = await clientPage(browser, server);
    await open(tab, session, { openTimeoutMs: 1500 });
    await live(tab, "websocket", 40_000);
    await talk(session, 3);
    const seen = await sawEverything(tab, await server.settledHead(session.id));
    assert.deepEqual(seen.transports, ["websocket"]);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    server.relay.lossy = false;
  }
});

test("a laptop that sleeps: frozen for longer than the server waits, then caught up", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await live(tab, "webrtc");
  await talk(session, 1);
  const devtools = await tab.context.newCDPSession(tab.page);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  server.relay.lossy = true;
  await talk(session, 4);
  await sleep(14_000);
  server.relay.lossy = false;
  await devtools.send("Page.setWebLifecycleState", { state: "active" });
  await sawEverything(tab, await server.settledHead(session.id));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a reloaded tab goes on where it stopped", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session, { stored: true, from: undefined });
  await live(tab);
  await talk(session, 3);
  const half = await server.settledHead(session.id);
  await sawEverything(tab, half);
  await talk(session, 2);
  await tab.page.reload();
  await talk(session, 2);
  await prepare(tab);
  await open(tab, session, { stored: true, from: undefined });
  const first = Number((await record(tab)).state.cursor.split(":").at(-1));
  assert.ok(first >= half, "the place was stored before the reload");
  await sawEverything(tab, await server.settledHead(session.id), first + 1);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("two tabs on one session: both see everything", async () => {
  const session = await server.newSession();
  const one = await clientPage(browser, server);
  const two = await clientPage(browser, server, { visitor: one });
  await open(one, session);
  await open(two, session);
  await Promise.all([live(one), live(two)]);
  await talk(session, 3);
  await one.page.evaluate(() => window.stream.pause());
  await talk(session, 3);
  await one.page.evaluate(() => void window.stream.start());
  const head = await server.settledHead(session.id);
  await sawEverything(one, head);
  await sawEverything(two, head);
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
});

test("a session that does not exist: refused for good, no tight loop", async () => {
  const tab = await clientPage(browser, server);
  tab.outage = true; // Chromium itself writes the 404 to the console.
  await tab.page.evaluate(() => window.open_("00000000-0000-7000-8000-000000000000", {}));
  const seen = await until(async () => { const now = await record(tab); return now.state.phase === "closed" && now; }, "the stream to close");
  assert.equal(seen.state.reason, "SIGNALING_404");
  assert.equal(tab.requests.filter((r) => r.startsWith("POST /signaling")).length, 1);
  await tab.context.close();
});

test("how fast a line opens", async (t) => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  const times = [];
  for (let i = 0; i < 20; i += 1) {
    await open(tab, session);
    times.push((await live(tab)).openMs);
    await tab.page.evaluate(() => window.stream.close());
  }
  times.sort((a, b) => a - b);
  t.diagnostic(`from start() to live, 20 times: median ${times[10].toFixed(1)} ms, slowest ${times[19].toFixed(1)} ms`);
  assert.equal(times.length, 20);
  await tab.context.close();
});

test("on the default start the data channel opens in Chromium", async () => {
  const own = await Server.start({ RECALL_UDP_LISTEN: undefined, RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    const session = await own.newSession();
    const tab = await clientPage(browser, own);
    await open(tab, session);
    await live(tab, "webrtc");
    await own.say(session.id, "John likes Mary.");
    await sawEverything(tab, await own.settledHead(session.id));
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
  }
});
