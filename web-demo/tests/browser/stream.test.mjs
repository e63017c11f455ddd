// The stream client in a real Chromium against the real server: every event arrives once and in order, despite outages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Server, clientPage, expectAllEvents, loadClient, record, until, waitUntilLive, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const epochOf = (session) => session.head.slice(0, session.head.lastIndexOf(":"));
const open = (tab, session, options = {}) => tab.page.evaluate(([id, o]) => window.openStream(id, o), [session.id, { from: `${epochOf(session)}:0`, ...options }]);
const countOffers = (tab, session) => tab.requests.filter((r) => r === `POST /signaling/${session.id}`).length;
const sendMessages = async (session, n) => {
  for (let i = 0; i < n; i += 1) await server.say(session.id, i % 2 ? "Sarah works on Phoenix." : "John likes Mary.");
};

test("the data channel delivers events once and in order", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await waitUntilLive(tab, "webrtc");
  await sendMessages(session, 6);
  const seen = await expectAllEvents(tab, await server.settledHead(session.id));
  assert.deepEqual(seen.transports, ["webrtc"]);
  for (const type of ["message_stored", "entity_update", "fact_update", "message_processed"]) assert.ok(seen.types.includes(type), type);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a paused stream replays missed events after it restarts", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await waitUntilLive(tab);
  await sendMessages(session, 2);
  const before = await server.settledHead(session.id);
  await expectAllEvents(tab, before);
  await tab.page.evaluate(() => window.stream.pause());
  await sendMessages(session, 4);
  const head = await server.settledHead(session.id);
  await sleep(300);
  assert.equal((await record(tab)).seqs.length, before, "a paused stream receives nothing");
  await tab.page.evaluate(() => void window.stream.start());
  const seen = await expectAllEvents(tab, head);
  assert.equal(seen.replayed, head - before);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the stream recovers when the server is killed and restarted twice", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await waitUntilLive(tab);
  for (let round = 0; round < 2; round += 1) {
    await sendMessages(session, 5);
    tab.outage = true;
    await server.kill();
    await until(async () => ["waiting", "connecting"].includes((await record(tab)).state.phase), "the client to notice");
    await server.run();
    await waitUntilLive(tab);
    tab.outage = false;
    await sendMessages(session, 3);
    await expectAllEvents(tab, await server.settledHead(session.id));
  }
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a peer survives a UDP outage of 3 seconds", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await waitUntilLive(tab, "webrtc");
  server.relay.lossy = true;
  await sendMessages(session, 4);
  await sleep(3000);
  server.relay.lossy = false;
  await expectAllEvents(tab, await server.settledHead(session.id));
  assert.equal(countOffers(tab, session), 1);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a UDP outage of 30 seconds switches to the WebSocket and back", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session, { upgradeAfterMs: 4000 });
  await waitUntilLive(tab, "webrtc");
  await sendMessages(session, 2);
  // On a slow machine the outage would otherwise start before the first event.
  await expectAllEvents(tab, await server.settledHead(session.id));
  server.relay.lossy = true;
  const outageEnd = Date.now() + 30_000;
  await sendMessages(session, 4);
  await waitUntilLive(tab, "websocket", 40_000);
  await expectAllEvents(tab, await server.settledHead(session.id));
  await sendMessages(session, 2);
  await sleep(Math.max(0, outageEnd - Date.now()));
  server.relay.lossy = false;
  await waitUntilLive(tab, "webrtc", 60_000);
  await sendMessages(session, 2);
  const seen = await expectAllEvents(tab, await server.settledHead(session.id));
  assert.deepEqual(seen.transports, ["webrtc", "websocket", "webrtc"]);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a network without UDP uses the WebSocket", async () => {
  const session = await server.newSession();
  server.relay.lossy = true;
  try {
    const tab = await clientPage(browser, server);
    await open(tab, session, { openTimeoutMs: 1500 });
    await waitUntilLive(tab, "websocket", 40_000);
    await sendMessages(session, 3);
    const seen = await expectAllEvents(tab, await server.settledHead(session.id));
    assert.deepEqual(seen.transports, ["websocket"]);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    server.relay.lossy = false;
  }
});

test("a network without UDP and WebSocket uses server-sent events", async () => {
  const session = await server.newSession();
  server.relay.lossy = true;
  try {
    const tab = await clientPage(browser, server);
    await tab.page.evaluate(() => {
      window.WebSocket = class {
        constructor() { setTimeout(() => this.onclose?.({ code: 1006 })); }
        close() {}
      };
    });
    await open(tab, session, { openTimeoutMs: 1500 });
    await waitUntilLive(tab, "sse", 40_000);
    await sendMessages(session, 3);
    await expectAllEvents(tab, await server.settledHead(session.id));
    tab.outage = true;
    await server.kill();
    await until(async () => (await record(tab)).state.phase === "waiting", "the client to notice");
    await server.run();
    await sendMessages(session, 2);
    const seen = await expectAllEvents(tab, await server.settledHead(session.id));
    assert.deepEqual(seen.transports, ["sse"]);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    server.relay.lossy = false;
  }
});

test("a page that was frozen beyond the server's timeout catches up", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session);
  await waitUntilLive(tab, "webrtc");
  await sendMessages(session, 1);
  const devtools = await tab.context.newCDPSession(tab.page);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  server.relay.lossy = true;
  await sendMessages(session, 4);
  await sleep(14_000);
  server.relay.lossy = false;
  await devtools.send("Page.setWebLifecycleState", { state: "active" });
  await expectAllEvents(tab, await server.settledHead(session.id));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a reloaded tab resumes at its stored cursor", async () => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  await open(tab, session, { stored: true, from: undefined });
  await waitUntilLive(tab);
  await sendMessages(session, 3);
  const half = await server.settledHead(session.id);
  await expectAllEvents(tab, half);
  await sendMessages(session, 2);
  await tab.page.reload();
  await sendMessages(session, 2);
  await loadClient(tab);
  await open(tab, session, { stored: true, from: undefined });
  const first = Number((await record(tab)).state.cursor.split(":").at(-1));
  assert.ok(first >= half, "the page stored the cursor before the reload");
  await expectAllEvents(tab, await server.settledHead(session.id), first + 1);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("two tabs on one session both receive every event", async () => {
  const session = await server.newSession();
  const one = await clientPage(browser, server);
  const two = await clientPage(browser, server, { visitor: one });
  await open(one, session);
  await open(two, session);
  await Promise.all([waitUntilLive(one), waitUntilLive(two)]);
  await sendMessages(session, 3);
  await one.page.evaluate(() => window.stream.pause());
  await sendMessages(session, 3);
  await one.page.evaluate(() => void window.stream.start());
  const head = await server.settledHead(session.id);
  await expectAllEvents(one, head);
  await expectAllEvents(two, head);
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
});

test("an unknown session closes the stream without retries", async () => {
  const tab = await clientPage(browser, server);
  tab.outage = true; // Chromium logs the 404 to the console.
  await tab.page.evaluate(() => window.openStream("00000000-0000-7000-8000-000000000000", {}));
  const seen = await until(async () => { const now = await record(tab); return now.state.phase === "closed" && now; }, "the stream to close");
  assert.equal(seen.state.reason, "SIGNALING_404");
  assert.equal(tab.requests.filter((r) => r.startsWith("POST /signaling")).length, 1);
  await tab.context.close();
});

test("reports how fast a connection opens", async (t) => {
  const session = await server.newSession();
  const tab = await clientPage(browser, server);
  const times = [];
  for (let i = 0; i < 20; i += 1) {
    await open(tab, session);
    times.push((await waitUntilLive(tab)).openMs);
    await tab.page.evaluate(() => window.stream.close());
  }
  times.sort((a, b) => a - b);
  t.diagnostic(`from start() to live, 20 times: median ${times[10].toFixed(1)} ms, slowest ${times[19].toFixed(1)} ms`);
  assert.equal(times.length, 20);
  await tab.context.close();
});

test("default settings open the data channel in Chromium", async () => {
  const own = await Server.start({ RECALL_UDP_LISTEN: undefined, RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    const session = await own.newSession();
    const tab = await clientPage(browser, own);
    await open(tab, session);
    await waitUntilLive(tab, "webrtc");
    await own.say(session.id, "John likes Mary.");
    await expectAllEvents(tab, await own.settledHead(session.id));
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
  }
});
