// The demo page in a real Chromium against the real server.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cutLine, fact, newSession, waitForPhase, say, sessionIn, waitForElement, beliefOf } from "./demo-page.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

/** Waits until the page shows exactly the server's facts, beliefs and messages. */
async function expectServerState(tab, id) {
  await server.settledHead(id);
  const { session } = await server.graphql(
    "query ($id: ID!) { session(id: $id) { facts(first: 100) { nodes { id belief status } } messages(first: 100) { nodes { id } } } }", { id },
  );
  const facts = session.facts.nodes.filter((f) => f.status !== "RETRACTED");
  const expected = new Map(facts.map((f) => [f.id, f.status === "ENDED" ? "ended" : `belief ${Math.round(f.belief * 100)} %`]));
  const read = () => tab.page.evaluate(() => ({
    facts: [...document.querySelectorAll(".facts li.fact")].map((li) => [li.dataset.fact, li.querySelector(".belief").textContent]),
    messages: [...document.querySelectorAll("[data-message]")].map((m) => m.dataset.message),
  }));
  const now = await until(async () => {
    const seen = await read();
    const equal = seen.facts.length === expected.size && seen.facts.every(([key, belief]) => expected.get(key) === belief);
    return equal && seen.messages.length === session.messages.nodes.length && seen;
  }, "the page to show the server's state").catch(async (error) => {
    throw new Error(`${error.message}\npage: ${JSON.stringify(await read())}\nserver: ${JSON.stringify([...expected])} ${session.messages.nodes.length} messages`);
  });
  assert.deepEqual([...now.messages].sort(), session.messages.nodes.map((m) => m.id).sort());
}

test("a fact appears and grows, and missed events return after a disconnect", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  assert.equal(await page.locator(".pill").getAttribute("data-transport"), "webrtc");
  const id = await sessionIn(tab);

  await page.getByRole("button", { name: /John likes Mary/ }).first().click();
  await waitForElement(fact(tab, "John", "likes", "Mary"), "the fact");
  assert.equal(await beliefOf(fact(tab, "John", "likes", "Mary")), 67);
  await waitForElement(page.locator('.graph .node[aria-label="John, person"]'), "John in the graph");
  await waitForElement(page.locator(".message.own .mention").filter({ hasText: "Mary" }), "the underlined mention");

  await say(tab, "John likes Mary.");
  await until(async () => (await beliefOf(fact(tab, "John", "likes", "Mary"))) >= 74, "the belief to grow");
  assert.equal(await fact(tab, "John", "likes", "Mary").count(), 1);

  assert.equal(await page.locator("header").getByRole("button", { name: /line/ }).count(), 0, "a live line needs no button");
  await cutLine(tab);
  await say(tab, "Mary likes climbing.");
  await say(tab, "John likes Mary.");
  await server.settledHead(id);
  await sleep(300);
  assert.equal(await fact(tab, "climbing").count(), 0, "a paused stream delivers nothing");

  await page.getByRole("button", { name: "Restore", exact: true }).click();
  await waitForElement(page.locator(".news").filter({ hasText: /Caught up: \d+ events replayed/ }), "the notice about the replay");
  const [log, composer] = await Promise.all([page.locator(".log").boundingBox(), page.locator(".composer").boundingBox()]);
  assert.ok(composer.y > log.y + 300 && log.width > 400, "the notice does not displace the conversation");
  await waitForElement(fact(tab, "Mary", "likes", "climbing"), "the missed fact");
  await expectServerState(tab, id);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("citations of an answer link to their source", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "John likes Mary.");
  await waitForElement(fact(tab, "John", "likes", "Mary"), "the fact");
  await say(tab, "Who does John like?");
  const answer = page.locator(".message.assistant").last();
  await waitForElement(answer.locator(".sources li"), "the sources");
  assert.match(await answer.locator(".text").innerText(), /Mary/);
  assert.match(await answer.locator(".sources").innerText(), /John likes Mary/);
  await answer.locator(".sources button").first().click();
  const evidence = page.locator(".facts .evidence");
  await waitForElement(evidence.filter({ hasText: "How do I know?" }), "the evidence of the cited fact");
  assert.match(await evidence.innerText(), /John likes Mary/);
  await expectServerState(tab, await sessionIn(tab));

  await page.reload();
  await waitForPhase(tab, "live");
  await waitForElement(page.locator(".message.assistant .sources li"), "the answer and its sources after a reload");
  await expectServerState(tab, await sessionIn(tab));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("shared sessions have a badge, and shared sources open their session", async () => {
  // A separate server: shared memory would change the answers of other tests.
  const own = await Server.start();
  const tab = await browser.visit(`${own.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  const before = await sessionIn(tab);
  await page.getByRole("button", { name: "New shared session" }).click();
  const shared = await until(async () => { const id = await sessionIn(tab); return id !== before && id; }, "the shared session");
  await waitForPhase(tab, "live");
  await waitForElement(page.locator("nav li.on .badge"), "the badge in the list of sessions");
  await say(tab, "Our office is in Lyon.");
  await say(tab, "Yuki likes Ramen.");
  await waitForElement(fact(tab, "Yuki", "Ramen").locator(".badge"), "the badge of a shared fact");

  await newSession(tab);
  await waitForPhase(tab, "live");
  await say(tab, "Where is our office?");
  const source = page.locator(".sources li", { hasText: "Lyon" });
  await waitForElement(source.locator(".badge"), "the badge of the source");
  await source.getByRole("button").click();
  await until(async () => (await sessionIn(tab)) === shared, "the shared session to open");
  await waitForElement(page.locator(".message", { hasText: "Our office is in Lyon." }), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
  await own.stop();
});

test("stopping an answer removes its text", async () => {
  // A model whose answers never end.
  let open = 0;
  const model = createServer((request, response) => {
    open += 1;
    response.on("close", () => { open -= 1; });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "John likes Ma" } }] })}\n\n`);
    request.resume();
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  const own = await Server.start({ RECALL_MODEL_URL: `http://127.0.0.1:${model.address().port}/v1`, RECALL_MODEL_NAME: "endless", RECALL_EXTRACTION: "local" });
  try {
    const tab = await browser.visit(`${own.url}/`);
    const { page } = tab;
    await waitForPhase(tab, "live");
    await newSession(tab);
    await say(tab, "John likes Mary.");
    await waitForElement(fact(tab, "John", "likes", "Mary"), "the fact");
    await say(tab, "Who does John like?");
    const streaming = page.locator(".message.assistant", { hasText: "John likes Ma" });
    await waitForElement(streaming, "the start of the answer");
    const before = open;
    await streaming.getByRole("button", { name: "Stop" }).click();
    await until(async () => (await page.locator(".message.assistant").count()) === 0, "the answer to disappear");
    assert.match(await page.locator(".message.own").last().innerText(), /The answer was cancelled/);
    await until(() => open < before, "the request to the model to end");
    await page.reload();
    await waitForPhase(tab, "live");
    await waitForElement(page.locator(".message.own").nth(1), "the question after a reload");
    assert.equal(await page.locator(".message.assistant").count(), 0);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
    model.closeAllConnections();
    model.close();
  }
});

test("a question about an unknown person gets no source", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "Where does Wilhelmina live?");
  const answer = tab.page.locator(".message.assistant").last();
  await until(async () => /no source found/.test(await answer.innerText().catch(() => "")), "an answer without a source");
  assert.equal(await answer.locator(".sources li").count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("messages wait for a killed server, are sent once, and the page catches up", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "Sarah works on Phoenix.");
  await waitForElement(fact(tab, "Sarah", "Phoenix"), "the fact");
  const id = await sessionIn(tab);
  tab.outage = true;
  await server.kill();
  await until(() => page.locator('.pill:is([data-phase="waiting"], [data-phase="connecting"])').count(), "the page to detect the outage");
  await say(tab, "Sarah lives in Ghent.");
  await waitForElement(page.locator('.message[data-stage="unsent"]'), "the unsent message");
  await server.run();
  await waitForPhase(tab, "live");
  tab.outage = false;
  await waitForElement(fact(tab, "Sarah", "Ghent"), "the fact of the unsent message");
  await expectServerState(tab, id);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an unsent message survives a page reload", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  const id = await sessionIn(tab);
  tab.outage = true;
  await page.route("**/graphql", (route) => route.abort());
  await say(tab, "Tariq lives in Porto.");
  await waitForElement(page.locator('.message[data-stage="unsent"]'), "the unsent message");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.reload();
  await waitForPhase(tab, "live");
  tab.outage = false;
  await waitForElement(fact(tab, "Tariq", "Porto"), "the fact of the unsent message");
  await expectServerState(tab, id);
  assert.equal(await page.locator(".message.own").count(), 1);
  await tab.context.close();
});

test("two tabs on one session show the same state", async () => {
  const one = await browser.visit(`${server.url}/`);
  await waitForPhase(one, "live");
  await newSession(one);
  await say(one, "Phoenix uses PostgreSQL.");
  await waitForElement(fact(one, "Phoenix", "PostgreSQL"), "the fact");
  const id = await sessionIn(one);
  const two = await browser.visit(`${server.url}/#/s/${id}`, { visitor: one });
  await waitForPhase(two, "live");
  await say(one, "John likes sushi.");
  await say(two, "John likes Mary.");
  for (const tab of [one, two]) {
    await waitForElement(fact(tab, "sushi"), "the other tab's fact");
    await waitForElement(fact(tab, "Mary"), "the other tab's fact");
    await expectServerState(tab, id);
  }
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
});

test("a change in one tab appears in the lists of another at once", async () => {
  const one = await browser.visit(`${server.url}/`);
  await waitForPhase(one, "live");
  const two = await browser.visit(`${server.url}/#/d`, { visitor: one });
  await waitForElement(two.page.getByRole("heading", { name: "Documents", level: 1 }), "the documents");
  const three = await browser.visit(`${server.url}/#/memory`, { visitor: one });
  const item = (tab, title) => tab.page.getByRole("navigation", { name: "Sessions" }).locator("li", { hasText: title });

  // Not by the page, so that only events can tell.
  const { createSession } = await server.graphql('mutation { createSession(input: { title: "Elsewhere" }) { session { id } } }', {});
  const { id } = createSession.session;
  await waitForElement(item(one, "Elsewhere"), "the new session");
  await server.graphql('mutation ($id: ID!) { updateSession(input: { sessionId: $id, title: "Renamed" }) { errors { code } } }', { id });
  await waitForElement(item(one, "Renamed"), "the new title");
  await server.graphql('mutation ($id: ID!) { sendMessage(input: { sessionId: $id, text: "Ludmila likes rowing." }) { errors { code } } }', { id });
  await waitForElement(item(one, "1 fact"), "the number of facts");
  await waitForElement(three.page.locator(".memory-page", { hasText: "rowing" }), "the fact on the memory page");

  const added = await server.graphql('mutation { addDocument(input: { path: "rowing.txt", text: "Rowing is a sport on water." }) { document { id } } }', {});
  const row = two.page.locator(".doc", { hasText: "rowing.txt" });
  await waitForElement(row.locator('[data-status="COMPLETED"]'), "the document in the other tab");
  await server.graphql('mutation ($id: ID!) { deleteDocument(input: { id: $id }) { errors { code } } }', { id: added.addDocument.document.id });
  await until(async () => (await row.count()) === 0, "the document to be gone");
  await server.graphql('mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }', { id });
  await until(async () => (await item(one, "Renamed").count()) === 0, "the session to be gone");
  await until(async () => (await three.page.locator(".memory-page", { hasText: "rowing" }).count()) === 0, "the fact to be gone");
  assert.deepEqual([one, two, three].flatMap((tab) => tab.problems), []);
  await one.context.close();
});

test("the keyboard alone can write, open and close evidence, and visit an entity", async () => {
  const tab = await browser.visit(`${server.url}/`, { reducedMotion: "reduce" });
  const { page } = tab;
  await waitForPhase(tab, "live");
  await page.getByRole("button", { name: "New session", exact: true }).focus();
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".welcome"), "the empty session");
  await page.keyboard.press("/");
  await page.keyboard.type("Mary lives in Lyon.");
  await page.keyboard.press("Enter");
  await waitForElement(fact(tab, "Mary", "Lyon"), "the fact");
  await fact(tab, "Mary", "Lyon").locator(".fact-line").focus();
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".facts .evidence q"), "the evidence");
  await page.keyboard.press("Escape");
  await until(async () => (await page.locator(".facts .evidence").count()) === 0, "the evidence to close");
  await page.locator('.graph .node[aria-label="Mary, person"]').focus();
  await page.keyboard.press("Enter");
  await waitForElement(page.getByRole("heading", { name: "Mary", level: 1 }), "the entity page");
  await waitForElement(page.locator(".entity .fact").filter({ hasText: "Lyon" }), "its facts");
  await page.getByRole("link", { name: "Back to the conversation" }).focus();
  await page.keyboard.press("Enter");
  await waitForElement(page.getByRole("textbox", { name: "Message" }), "the conversation");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("on a phone, nothing is wider than the screen and tabs show facts and graph", async () => {
  const tab = await browser.visit(`${server.url}/`, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const { page } = tab;
  await waitForPhase(tab, "live");
  await say(tab, "Sarah works on Phoenix and Sarah lives in Ghent.");
  await page.getByRole("button", { name: /^Facts/ }).click();
  await waitForElement(fact(tab, "Sarah"), "the facts");
  assert.ok(await page.locator(".facts").isVisible());
  await page.getByRole("button", { name: "Session graph", exact: true }).click();
  await until(() => page.locator(".graph svg").first().isVisible(), "the graph");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await until(() => page.getByRole("button", { name: "New session", exact: true }).isVisible(), "the list of sessions to open");
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `${content} > ${screen}`);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the page has a strict content security policy and no external resources", async () => {
  const response = await fetch(`${server.url}/`, { headers: { connection: "close" } });
  const policy = response.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'self'|default-src 'none'/);
  assert.doesNotMatch(policy, /script-src[^;]*unsafe/);
  assert.doesNotMatch(await response.text(), /https?:\/\/|<script(?![^>]*\bsrc=)/);
});

test("page scripts can open WebSockets only to this server", async () => {
  const elsewhere = createServer().listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const tab = await browser.visit(`${server.url}/`);
  const [own, other, blocked] = await tab.page.evaluate(async (port) => {
    const violation = new Promise((resolve) => document.addEventListener("securitypolicyviolation", (event) => resolve(event.blockedURI), { once: true }));
    const open = (host) => new Promise((resolve) => {
      try {
        const socket = new WebSocket(`ws://${host}/graphql/ws`, "graphql-transport-ws");
        socket.onopen = () => { socket.close(); resolve("open"); };
        socket.onerror = () => resolve("refused");
      } catch {
        resolve("refused");
      }
    });
    return [await open(location.host), await open(`127.0.0.1:${port}`), await violation];
  }, elsewhere.address().port);
  assert.deepEqual([own, other], ["open", "refused"]);
  assert.match(blocked, new RegExp(`:${elsewhere.address().port}/graphql/ws`));
  await tab.context.close();
  elsewhere.close();
});
