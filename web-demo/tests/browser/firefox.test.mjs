// The demo in a real Firefox. Firefox pairs none of its addresses with 127.0.0.1, so it needs another candidate or transport.
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { Firefox } from "./firefox.mjs";
import { Server, until } from "./harness.mjs";

let firefox;
before(async () => {
  firefox = await Firefox.start();
});
after(async () => {
  await firefox?.stop();
});

/** Checks whether this machine has a non-loopback route. Connecting a UDP socket sends nothing. */
async function hasNetwork() {
  const socket = createSocket("udp4");
  try {
    socket.connect(9, "203.0.113.1");
    await once(socket, "connect");
    return !socket.address().address.startsWith("127.");
  } catch {
    return false;
  } finally {
    socket.close();
  }
}

const waitUntilLive = () => until(() => firefox.evaluate(`return document.querySelector('.pill[data-phase="live"]')?.dataset.transport`), "the stream to be live", 120_000);
const countOffers = () => firefox.evaluate(`return performance.getEntriesByType("resource").filter((r) => r.name.includes("/signaling/")).length`);
/** Sends a message and waits for a fact that contains all `words`. */
async function say(text, ...words) {
  await firefox.type('textarea[aria-label="Message"]', `${text}\uE007`);
  await until(() => firefox.evaluate(
    `return [...document.querySelectorAll(".facts li.fact")].some((li) => args[0].every((word) => li.textContent.includes(word)))`, words,
  ), `the fact of "${text}"`, 120_000);
}

test("default settings deliver facts to Firefox, over the data channel if the machine has a network", async (t) => {
  const server = await Server.start({ RECALL_UDP_LISTEN: undefined, RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    await firefox.goto(`${server.url}/`);
    const expected = (await hasNetwork()) ? "webrtc" : "websocket";
    assert.equal(await waitUntilLive(), expected);
    await say("I live in Paris.", "you", "Paris");
    assert.equal(await waitUntilLive(), expected, "the same transport");
    t.diagnostic(`Firefox ${firefox.version} over ${expected}`);
  } finally {
    await server.stop();
  }
});

test("Firefox falls back to the WebSocket without a reachable candidate and remembers it", async () => {
  const server = await Server.start({ RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    await firefox.goto(`${server.url}/`);
    assert.equal(await waitUntilLive(), "websocket");
    await say("I live in Lyon.", "you", "Lyon");
    assert.ok((await countOffers()) > 0, "the page tried the data channel");
    await until(() => firefox.evaluate(`return localStorage.getItem("recall.transport." + location.origin)?.startsWith("websocket ")`), "the page to store the transport");
    await firefox.reload();
    assert.equal(await waitUntilLive(), "websocket");
    assert.equal(await countOffers(), 0, "the page did not try the data channel");
    await say("I like sushi.", "you", "sushi");
  } finally {
    await server.stop();
  }
});
