// The demo in a real Firefox: the stream, the main journeys, and every place on a desktop and a phone.
// Firefox pairs none of its addresses with 127.0.0.1, so it needs another candidate or transport.
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { findViolations } from "./axe.mjs";
import { handbook } from "./files.mjs";
import { Firefox } from "./firefox.mjs";
import { importTexts } from "./graph-page.mjs";
import { Server, until } from "./harness.mjs";

const DESKTOP = { width: 1360, height: 850 };
const PHONE = { width: 390, height: 844 };

let firefox;
/** A server with its default settings. */
let server;
let folder;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "recall-files-"));
  server = await Server.start({ RECALL_UDP_LISTEN: undefined, RECALL_UDP_PUBLIC_ADDRESSES: undefined });
  firefox = await Firefox.start();
  await firefox.emulate({ ...DESKTOP, colorScheme: "light" });
});
after(async () => {
  await firefox?.stop();
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
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
  await firefox.goto(`${server.url}/`);
  const expected = (await hasNetwork()) ? "webrtc" : "websocket";
  assert.equal(await waitUntilLive(), expected);
  await say("I live in Paris.", "you", "Paris");
  assert.equal(await waitUntilLive(), expected, "the same transport");
  t.diagnostic(`Firefox ${firefox.version} over ${expected}`);
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

/** Imports messages into a new session, and waits for their facts. Returns its id. */
async function remember(title, ...texts) {
  const id = await importTexts(server, title, texts);
  await server.settledHead(id);
  return id;
}
/** Opens a place of the shared server. Reports of the places before it are dropped. */
async function open(hash, ...shown) {
  await firefox.goto(`${server.url}/${hash}`);
  await firefox.takeProblems(server.url);
  await firefox.waitFor(...shown);
}
const expectNoProblems = async () => assert.deepEqual(await firefox.takeProblems(server.url), []);
const openSession = async (id) => {
  await open(`#/s/${id}`, `[data-session="${id}"].on`);
  await waitUntilLive();
};
const texts = (selector) => firefox.evaluate((wanted) => [...document.querySelectorAll(wanted)].map((node) => node.textContent), selector);
const focused = () => firefox.evaluate(() => `${document.activeElement?.getAttribute("aria-label") ?? ""} ${document.activeElement?.textContent}`);
/** Presses Tab until the focused element matches and contains `words`. */
async function tabTo(selector, words = "") {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await firefox.evaluate((wanted) => document.activeElement?.matches(wanted), selector) && (await focused()).includes(words)) return;
    await firefox.press("Tab");
  }
  assert.fail(`Tab never reached ${selector} with "${words}"`);
}

test("in Firefox, a search finds a fact, its evidence, and its message in another session", async () => {
  const id = await remember("Letters from Ghent", "Wilma lives in Ghent.", "Wilma likes tea.");
  await remember("Later letters", "Wilma lives in Lyon.");
  await open("#/memory", ".memory-page .row");
  await firefox.fill(".memory-page input[type=search]", "Wilma");
  await firefox.waitForNone(".memory-page .row", "Paris");
  await firefox.click(".memory-page [data-row]", "Wilma", "Ghent");
  await firefox.waitFor(".rival-list a", "Lyon");
  await firefox.waitFor(".verdict", "belief");
  await firefox.click('.history li[data-stance="SUPPORTS"] button', "Show the message");
  await firefox.waitFor(".message", "Wilma lives in Ghent");
  assert.equal(await firefox.evaluate(() => location.hash), `#/s/${id}`);
  await expectNoProblems();
});

test("in Firefox, a wrong fact is corrected, and forgetting has a preview and an undo", async () => {
  await remember("Neighbours", "Oskar lives in Bruges.", "Oskar likes jazz.", "Konrad likes tea.");
  await open("#/memory", ".memory-page .row", "Oskar", "Bruges");
  await firefox.click(".memory-page [data-row]", "Oskar", "Bruges");
  await firefox.click(".pane button", "Correct…");
  await firefox.waitFor("dialog [role=combobox]:focus");
  await firefox.fill("dialog [role=combobox]:focus", "Leuven");
  await firefox.click("dialog button", "Correct");
  await firefox.waitFor(".memory-page .row", "Oskar", "Leuven");
  await firefox.waitFor('.memory-page .row[data-status="RETRACTED"]', "Oskar", "Bruges");

  await firefox.click(".memory-page .head button", "Forget…");
  await firefox.fill("dialog input[type=text]", "everything about Oskar");
  await firefox.click("dialog button", "Show what this would forget");
  await firefox.waitFor(".preview li", "Oskar likes jazz");
  const { facts } = await server.graphql('{ facts(first: 9, filter: { text: "Oskar" }) { totalCount } }');
  assert.equal(facts.totalCount, 3, "the preview forgets nothing");
  await firefox.click("dialog button.danger", "Forget 3 facts");
  await firefox.waitForNone(".memory-page .row", "Oskar");
  assert.ok(await firefox.isShown(".memory-page .row", "Konrad"), "other facts stay");
  await firefox.click(".undo-bar button", "Undo");
  await firefox.waitFor(".memory-page .row", "Oskar", "jazz");
  await expectNoProblems();
});

test("in Firefox, the keyboard alone finds and retracts a fact, and restores it", async () => {
  await remember("By keyboard", "Zacharias lives in Bruges.");
  await open("#/memory", ".memory-page .row", "Zacharias");
  // Tab begins at the top of a new page. Past its end, the focus would leave the page.
  await firefox.reload();
  await firefox.waitFor(".memory-page .row", "Zacharias");
  await tabTo("input[type=search]");
  await firefox.pressText("Zacharias");
  await firefox.waitForNone(".memory-page .row", "Oskar");
  await tabTo("[data-row]", "Bruges");
  await firefox.press("Enter");
  await firefox.waitFor(".fact-detail");
  await tabTo("button", "Retract");
  await firefox.press("Enter");
  await firefox.waitFor('.memory-page .row[data-status="RETRACTED"]', "Zacharias");
  await tabTo("button", "Restore");
  await firefox.press("Space");
  await firefox.waitFor('.memory-page .row[data-status="ACTIVE"]', "Zacharias");
  await expectNoProblems();
});

test("in Firefox, the graph is drawn, listed, and moved through by keyboard", async () => {
  await remember("Friends", "I know Sarah.", "Sarah lives in Namur.");
  await open("#/graph", ".graph-page canvas");
  await firefox.waitFor(".graph-page .total", "around");
  await until(() => firefox.evaluate(() => {
    const canvas = document.querySelector(".graph-page canvas");
    return new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 20;
  }), "the drawing");
  await firefox.click(".graph-page .head button", "List");
  await firefox.waitFor(".listing [data-row]", "Sarah");
  assert.ok(!(await texts(".listing [data-row] .name")).some((name) => name.startsWith("Namur")), "the neighbour is not expanded");
  await firefox.click('.listing button[aria-label="Expand Sarah"]');
  await firefox.waitFor(".listing [data-row]", "Namur");
  await firefox.click(".listing [data-row]", "Sarah");
  await firefox.waitFor(".graph-page .pane h2", "Sarah");
  await firefox.click(".graph-page .head button", "List");
  await tabTo("canvas");
  await firefox.press("Home");
  await firefox.waitFor(".graph-page .pane h2", "You");
  await expectNoProblems();
});

test("in Firefox, a PDF is added, and a passage that is found opens in its text", async () => {
  const file = path.join(folder, "handbook.pdf");
  await writeFile(file, handbook());
  await open("#/d", ".drop-zone");
  await firefox.upload("input[type=file]", file);
  await firefox.waitFor(".doc .chip-status", "Ready");
  await firefox.fill('input[aria-label="Ask your documents"]', "What is the travel budget of the north office?");
  await firefox.press("Enter");
  await firefox.click(".found a", "4200 euros");
  await firefox.waitFor(".reading-text mark.quoted:focus", "The travel budget of the north office is 4200 euros");
  assert.ok(await firefox.evaluate(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }), "the passage is in view");
  await expectNoProblems();
});

test("in Firefox, the menu of a session pins and renames it, and the search finds it", async () => {
  const id = await remember("Trip to Ypres", "Ada likes canals.");
  await openSession(id);
  const choose = async (action) => {
    await firefox.click(`[data-session="${id}"] button[aria-haspopup]`);
    await firefox.click(`[data-session="${id}"] [role=menuitem]`, action);
  };
  await choose("Pin");
  await firefox.waitFor(`ul[aria-label=Pinned] [data-session="${id}"]`);
  await choose("Rename");
  await firefox.fill('input[aria-label="Title"]', "Trip to Bruges\uE007");
  await firefox.waitFor(`ul[aria-label=Pinned] [data-session="${id}"] a`, "Trip to Bruges");
  await firefox.press("Control+k");
  await firefox.waitFor('input[aria-label="Search sessions"]:focus');
  await firefox.pressText("canals");
  await firefox.waitFor('ul[aria-label="Said in"] li', "Trip to Bruges");
  const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { title pinned } }", { id });
  assert.deepEqual(session, { title: "Trip to Bruges", pinned: true });
  await expectNoProblems();
});

test("in Firefox, a theme and a style of dates apply at once, and after a reload", async () => {
  const background = () => firefox.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await open("#/settings/appearance", "label", "Dark");
  const light = await background();
  await firefox.click("label", "Dark");
  await firefox.click("label", "ISO");
  const dark = await background();
  assert.notEqual(dark, light);
  await firefox.reload();
  await firefox.waitFor("label", "Dark");
  assert.equal(await background(), dark);
  assert.deepEqual(await texts("label:has(input:checked)").then((all) => all.map((text) => text.trim().split(/[\s,:]/)[0])), ["Dark", "ISO"]);
  await firefox.click("label", "Like the system");
  assert.equal(await background(), light);
  await expectNoProblems();
});

// The tests of Chromium check each size in both colour schemes.
for (const [size, dimensions, colorScheme] of [["desktop", DESKTOP, "light"], ["phone", PHONE, "dark"]]) {
  test(`in Firefox, axe reports no violation at any place on a ${size}, ${colorScheme}, and nothing is wider than the screen`, async () => {
    const id = await remember(`Letters of ${size} and ${colorScheme}`, "Hilde lives in Tournai.", "Hilde lives in Lyon.", "I like climbing.");
    const { facts } = await server.graphql('{ facts(first: 1, filter: { text: "Hilde" }) { nodes { id } } }');
    const { addDocument } = await server.graphql('mutation { addDocument(input: { path: "rowing.txt", text: "Rowing is a sport on water." }) { document { id } errors { message } } }');
    assert.deepEqual(addDocument.errors, []);
    await firefox.emulate({ ...dimensions, colorScheme });
    const found = [];
    for (const [hash, ...shown] of [
      [`#/s/${id}`, ".message", "Hilde lives in Lyon"], ["#/memory", ".memory-page .row", "Hilde"], [`#/memory/facts/${facts.nodes[0].id}`, ".fact-detail"],
      ["#/graph", ".graph-page .total", "around"], ["#/d", ".doc", "rowing.txt"], [`#/d/${addDocument.document.id}`, ".reading-text", "Rowing"],
      ["#/settings", ".settings h2"], ["#/settings/appearance", "label", "Dark"],
    ]) {
      await open(hash, ...shown);
      found.push(...(await findViolations({ page: firefox }, hash)));
      const width = await firefox.evaluate(() => document.documentElement.scrollWidth);
      if (width > dimensions.width) found.push(`${hash}: ${width} px wide`);
      found.push(...(await firefox.takeProblems(server.url)));
    }
    await firefox.emulate({ ...DESKTOP, colorScheme: "light" });
    assert.deepEqual(found, []);
  });
}

// The last test of the server: it stops it.
test("in Firefox, the page shows what was known without its server, and sends later what was written", async () => {
  const id = await remember("Without a server", "Nadia likes chess.");
  await openSession(id);
  await firefox.waitFor(".facts li.fact", "Nadia", "chess");
  await until(() => firefox.evaluate(async () => {
    await navigator.serviceWorker.ready;
    const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
    const database = await done(indexedDB.open("recall"));
    const kept = [];
    for (const name of database.objectStoreNames) kept.push(...await done(database.transaction(name).objectStore(name).getAll()));
    database.close();
    return JSON.stringify(kept.filter((one) => one.snapshot)).includes("Nadia likes chess.");
  }), "the session to be kept");
  await server.kill();
  await firefox.waitFor(".news", "Offline. You see what was known at");
  await firefox.reload();
  await firefox.waitFor(".news", "Offline. You see what was known at");
  await firefox.waitFor(".message", "Nadia likes chess.");
  await firefox.waitFor(".facts li.fact", "Nadia", "chess");
  await firefox.fill('textarea[aria-label="Message"]', "Nadia likes tea.\uE007");
  await firefox.waitFor('.message[data-stage="unsent"]', "Nadia likes tea.");
  await server.run();
  // "Try now" spares the page's own wait.
  await firefox.evaluate(() => document.querySelector(".pill button")?.click());
  await waitUntilLive();
  await firefox.waitFor(".facts li.fact", "Nadia", "tea");
  await firefox.waitForNone('.message[data-stage="unsent"]');
});
