// The demo in a real Firefox, which pairs none of its addresses with 127.0.0.1: it needs another candidate, or another transport.
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

/** Whether this machine has an address towards other networks. Connecting a UDP socket sends nothing. */
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

const live = () => until(() => firefox.evaluate(`return document.querySelector('.pill[data-phase="live"]')?.dataset.transport`), "the line to be live", 120_000);
const offers = () => firefox.evaluate(`return performance.getEntriesByType("resource").filter((r) => r.name.includes("/signaling/")).length`);
async function tell(text, ...words) {
  await firefox.type('textarea[aria-label="Message"]', `${text}\uE007`);
  await until(() => firefox.evaluate(
    `return [...document.querySelectorAll(".facts li.fact")].some((li) => args[0].every((word) => li.textContent.includes(word)))`, words,
  ), `the fact of "${text}"`, 120_000);
}

test("on the default start a fact arrives in Firefox, over the data channel where the machine has a network", async (t) => {
  const server = await Server.start({ RECALL_UDP_LISTEN: undefined, RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    await firefox.goto(`${server.url}/`);
    const expected = (await hasNetwork()) ? "webrtc" : "websocket";
    assert.equal(await live(), expected);
    await tell("I live in Paris.", "you", "Paris");
    assert.equal(await live(), expected, "the same line");
    t.diagnostic(`Firefox ${firefox.version} over ${expected}`);
  } finally {
    await server.stop();
  }
});

test("without a candidate that Firefox can reach: the WebSocket, which the next load begins with", async () => {
  const server = await Server.start({ RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  try {
    await firefox.goto(`${server.url}/`);
    assert.equal(await live(), "websocket");
    await tell("I live in Lyon.", "you", "Lyon");
    assert.ok((await offers()) > 0, "the data channel was tried");
    await until(() => firefox.evaluate(`return localStorage.getItem("recall.transport." + location.origin)?.startsWith("websocket ")`), "the page to remember it");
    await firefox.reload();
    assert.equal(await live(), "websocket");
    assert.equal(await offers(), 0, "nothing was tried first");
    await tell("I like sushi.", "you", "sushi");
  } finally {
    await server.stop();
  }
});
