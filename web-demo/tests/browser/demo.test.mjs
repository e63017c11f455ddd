// The demo page as a visitor uses it, in a real Chromium against the real server.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fact, newSession, phase, say, sessionIn, shown, weightOf } from "./demo-page.mjs";
import { Browser, Server, until } from "./harness.mjs";

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

/** What the page shows is what the server knows: no fact lost, doubled or stale, no message lost or doubled. */
async function agrees(tab, id) {
  await server.settledHead(id);
  const { session } = await server.graphql(
    "query ($id: ID!) { session(id: $id) { facts(first: 100) { nodes { id weight status } } messages(first: 100) { nodes { id } } } }", { id },
  );
  const facts = session.facts.nodes.filter((f) => f.status !== "RETRACTED");
  const want = new Map(facts.map((f) => [f.id, f.status === "ENDED" ? "ended" : f.weight.toFixed(1)]));
  const read = () => tab.page.evaluate(() => ({
    facts: [...document.querySelectorAll(".facts li.fact")].map((li) => [li.dataset.fact, li.querySelector(".weight").textContent]),
    messages: [...document.querySelectorAll("[data-message]")].map((m) => m.dataset.message),
  }));
  const now = await until(async () => {
    const seen = await read();
    const right = seen.facts.length === want.size && seen.facts.every(([key, weight]) => want.get(key) === (weight === "ended" ? weight : Number(weight).toFixed(1)));
    return right && seen.messages.length === session.messages.nodes.length && seen;
  }, "the page to agree with the server").catch(async (error) => {
    throw new Error(`${error.message}\npage: ${JSON.stringify(await read())}\nserver: ${JSON.stringify([...want])} ${session.messages.nodes.length} messages`);
  });
  assert.deepEqual([...now.messages].sort(), session.messages.nodes.map((m) => m.id).sort());
}

test("a first visit: a fact appears, grows, the line is cut, and what was missed comes back", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  assert.equal(await page.locator(".pill").getAttribute("data-transport"), "webrtc");
  const id = await sessionIn(tab);

  await page.getByRole("button", { name: /John likes Mary/ }).first().click();
  await shown(fact(tab, "John", "likes", "Mary"), "the fact");
  assert.equal(await weightOf(fact(tab, "John", "likes", "Mary")), 1);
  await shown(page.locator('.graph .node[aria-label="John, person"]'), "John in the graph");
  await shown(page.locator(".message.own .mention").filter({ hasText: "Mary" }), "the underlined mention");

  await say(tab, "John likes Mary.");
  await until(async () => (await weightOf(fact(tab, "John", "likes", "Mary"))) > 1.9, "the weight to grow");
  assert.equal(await fact(tab, "John", "likes", "Mary").count(), 1);

  await page.getByRole("button", { name: "Cut the line", exact: true }).click();
  await phase(tab, "paused");
  await say(tab, "Mary likes climbing.");
  await say(tab, "John likes Mary.");
  await server.settledHead(id);
  await sleep(300);
  assert.equal(await fact(tab, "climbing").count(), 0, "a cut line brings nothing");

  await page.getByRole("button", { name: "Restore", exact: true }).click();
  await shown(page.locator(".news").filter({ hasText: /Caught up: \d+ events replayed/ }), "the news of the replay");
  const [log, composer] = await Promise.all([page.locator(".log").boundingBox(), page.locator(".composer").boundingBox()]);
  assert.ok(composer.y > log.y + 300 && log.width > 400, "the news does not push the conversation aside");
  await shown(fact(tab, "Mary", "likes", "climbing"), "the fact that was missed");
  await agrees(tab, id);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a question is answered with citations that lead to their source", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  await say(tab, "John likes Mary.");
  await shown(fact(tab, "John", "likes", "Mary"), "the fact");
  await say(tab, "Who does John like?");
  const answer = page.locator(".message.assistant").last();
  await shown(answer.locator(".sources li"), "the sources");
  assert.match(await answer.locator(".text").innerText(), /Mary/);
  assert.match(await answer.locator(".sources").innerText(), /John likes Mary/);
  await answer.locator(".sources button").first().click();
  const evidence = page.locator(".facts .evidence");
  await shown(evidence.filter({ hasText: "How do I know?" }), "the evidence of the cited fact");
  assert.match(await evidence.innerText(), /John likes Mary/);
  await agrees(tab, await sessionIn(tab));

  await page.reload();
  await phase(tab, "live");
  await shown(page.locator(".message.assistant .sources li"), "the answer and its sources after a reload");
  await agrees(tab, await sessionIn(tab));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("what an administrator shares is marked, and a source in it is opened where it was said", async () => {
  // Others' questions must not be answered from it.
  const own = await Server.start();
  const tab = await browser.visit(`${own.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  const before = await sessionIn(tab);
  await page.getByRole("button", { name: "New shared session" }).click();
  const shared = await until(async () => { const id = await sessionIn(tab); return id !== before && id; }, "the shared session");
  await phase(tab, "live");
  await shown(page.locator("nav li.on .badge"), "the mark in the list of sessions");
  await say(tab, "Our office is in Lyon.");
  await say(tab, "Yuki likes Ramen.");
  await shown(fact(tab, "Yuki", "Ramen").locator(".badge"), "the mark on a shared fact");

  await newSession(tab);
  await phase(tab, "live");
  await say(tab, "Where is our office?");
  const source = page.locator(".sources li", { hasText: "Lyon" });
  await shown(source.locator(".badge"), "the mark on the source");
  await source.getByRole("button").click();
  await until(async () => (await sessionIn(tab)) === shared, "the shared session to open");
  await shown(page.locator(".message", { hasText: "Our office is in Lyon." }), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
  await own.stop();
});

test("an answer is stopped while it is written, and nothing of it stays", async () => {
  // A model that begins an answer and never ends it.
  let open = 0;
  const model = createServer((request, response) => {
    open += 1;
    response.on("close", () => { open -= 1; });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "John likes Ma" } }] })}\n\n`);
    request.resume();
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  const own = await Server.start({ RECALL_MODEL_URL: `http://127.0.0.1:${model.address().port}/v1`, RECALL_MODEL_NAME: "endless" });
  try {
    const tab = await browser.visit(`${own.url}/`);
    const { page } = tab;
    await phase(tab, "live");
    await newSession(tab);
    await say(tab, "John likes Mary.");
    await shown(fact(tab, "John", "likes", "Mary"), "the fact");
    await say(tab, "Who does John like?");
    const streaming = page.locator(".message.assistant", { hasText: "John likes Ma" });
    await shown(streaming, "the beginning of the answer");
    const before = open;
    await streaming.getByRole("button", { name: "Stop" }).click();
    await until(async () => (await page.locator(".message.assistant").count()) === 0, "the answer to go");
    assert.match(await page.locator(".message.own").last().innerText(), /The answer was cancelled/);
    await until(() => open < before, "the request to the model to end");
    await page.reload();
    await phase(tab, "live");
    await shown(page.locator(".message.own").nth(1), "the question after a reload");
    assert.equal(await page.locator(".message.assistant").count(), 0);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
    model.closeAllConnections();
    model.close();
  }
});

test("nothing told, nothing claimed", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await phase(tab, "live");
  await newSession(tab);
  await say(tab, "Where does Wilhelmina live?");
  const answer = tab.page.locator(".message.assistant").last();
  await until(async () => /no source found/.test(await answer.innerText().catch(() => "")), "an answer without a source");
  assert.equal(await answer.locator(".sources li").count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the server is killed: messages wait, go out once, and the page catches up", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  await say(tab, "Sarah works on Phoenix.");
  await shown(fact(tab, "Sarah", "Phoenix"), "the fact");
  const id = await sessionIn(tab);
  tab.outage = true;
  await server.kill();
  await until(() => page.locator('.pill:is([data-phase="waiting"], [data-phase="connecting"])').count(), "the page to notice");
  await say(tab, "Sarah lives in Ghent.");
  await shown(page.locator('.message[data-stage="unsent"]'), "the message to wait");
  await server.run();
  await phase(tab, "live");
  tab.outage = false;
  await shown(fact(tab, "Sarah", "Ghent"), "the fact of the message that waited");
  await agrees(tab, id);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a message that waits survives a reload of the page", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  const id = await sessionIn(tab);
  tab.outage = true;
  await page.route("**/graphql", (route) => route.abort());
  await say(tab, "Tariq lives in Porto.");
  await shown(page.locator('.message[data-stage="unsent"]'), "the message to wait");
  await page.unroute("**/graphql");
  await page.reload();
  await phase(tab, "live");
  tab.outage = false;
  await shown(fact(tab, "Tariq", "Porto"), "the fact of the message that waited");
  await agrees(tab, id);
  assert.equal(await page.locator(".message.own").count(), 1);
  await tab.context.close();
});

test("two tabs on one session show the same", async () => {
  const one = await browser.visit(`${server.url}/`);
  await phase(one, "live");
  await newSession(one);
  await say(one, "Phoenix uses PostgreSQL.");
  await shown(fact(one, "Phoenix", "PostgreSQL"), "the fact");
  const id = await sessionIn(one);
  const two = await browser.visit(`${server.url}/#/s/${id}`, { visitor: one });
  await phase(two, "live");
  await say(one, "John likes sushi.");
  await say(two, "John likes Mary.");
  for (const tab of [one, two]) {
    await shown(fact(tab, "sushi"), "the other tab's fact");
    await shown(fact(tab, "Mary"), "the other tab's fact");
    await agrees(tab, id);
  }
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
});

test("by keyboard alone: write, open evidence, close it, visit an entity, come back", async () => {
  const tab = await browser.visit(`${server.url}/`, { reducedMotion: "reduce" });
  const { page } = tab;
  await phase(tab, "live");
  await page.getByRole("button", { name: "New session", exact: true }).focus();
  await page.keyboard.press("Enter");
  await shown(page.locator(".welcome"), "the empty session");
  await page.keyboard.press("/");
  await page.keyboard.type("Mary lives in Lyon.");
  await page.keyboard.press("Enter");
  await shown(fact(tab, "Mary", "Lyon"), "the fact");
  await fact(tab, "Mary", "Lyon").locator(".fact-line").focus();
  await page.keyboard.press("Enter");
  await shown(page.locator(".facts .evidence q"), "the evidence");
  await page.keyboard.press("Escape");
  await until(async () => (await page.locator(".facts .evidence").count()) === 0, "the evidence to close");
  await page.locator('.graph .node[aria-label="Mary, person"]').focus();
  await page.keyboard.press("Enter");
  await shown(page.getByRole("heading", { name: "Mary", level: 1 }), "the entity page");
  await shown(page.locator(".entity .fact").filter({ hasText: "Lyon" }), "its facts");
  await page.getByRole("link", { name: "Back to the conversation" }).focus();
  await page.keyboard.press("Enter");
  await shown(page.getByRole("textbox", { name: "Message" }), "the conversation");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("on a phone: nothing is wider than the screen, facts and graph are a tap away", async () => {
  const tab = await browser.visit(`${server.url}/`, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const { page } = tab;
  await phase(tab, "live");
  await say(tab, "Sarah works on Phoenix and Sarah lives in Ghent.");
  await page.getByRole("button", { name: /^Facts/ }).click();
  await shown(fact(tab, "Sarah"), "the facts");
  assert.ok(await page.locator(".facts").isVisible());
  await page.getByRole("button", { name: "Graph", exact: true }).click();
  assert.ok(await page.locator(".graph svg").first().isVisible());
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await until(() => page.getByRole("button", { name: "New session", exact: true }).isVisible(), "the sessions to slide in");
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= screen, `${content} > ${screen}`);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the page comes with a strict content security policy and asks nobody else", async () => {
  const response = await fetch(`${server.url}/`, { headers: { connection: "close" } });
  const policy = response.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'self'|default-src 'none'/);
  assert.doesNotMatch(policy, /script-src[^;]*unsafe/);
  assert.doesNotMatch(await response.text(), /https?:\/\/|<script(?![^>]*\bsrc=)/);
});

test("a script in the page opens a WebSocket to this server and to no other", async () => {
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
