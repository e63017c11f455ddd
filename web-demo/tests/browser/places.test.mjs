// What the demo shows stays true after a reload, far back in a conversation, in other sessions and tabs, and at any size.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fact, newSession, phase, say, sessionIn, shown } from "./demo-page.mjs";
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

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const imported = async (sessionId, texts) => {
  for (let at = 0; at < texts.length; at += 100) {
    const messages = texts.slice(at, at + 100).map((text) => ({ text }));
    const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId, messages } });
    assert.deepEqual(importMessages.errors, []);
  }
  await server.settledHead(sessionId);
};
const visible = (locator) => locator.evaluate((node) => {
  const { top, bottom } = node.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
});

test("chips say after a reload what each message did to its facts", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  for (const text of ["I use React.", "I use React.", "I do not use React.", "I no longer use React."]) {
    await say(tab, text);
    await shown(page.locator(".message.own").last().locator(".learned li"), `what "${text}" did`);
  }
  const chips = () => page.locator(".message.own .learned i").allInnerTexts();
  const before = await chips();
  assert.deepEqual(before, ["+", "↑", "↓", "×"]);
  await page.reload();
  await phase(tab, "live");
  await until(async () => (await chips()).length === before.length, "the chips after the reload");
  assert.deepEqual(await chips(), before);
  await tab.context.close();
});

test("a message far back is loaded with those around it and scrolled to: from evidence, an answer and an entity", async () => {
  const session = await server.newSession();
  await imported(session.id, ["Wilhelmina lives in Ghent.", ...Array.from({ length: 130 }, (_, i) => `Good morning, this is number ${i}.`)]);
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`);
  const { page } = tab;
  await phase(tab, "live");
  const old = page.locator(".message", { hasText: "Wilhelmina lives in Ghent." }).first();
  const reached = async (what) => {
    await shown(old, what);
    await until(() => visible(old), `${what} to be scrolled to`);
  };
  const again = async () => {
    await page.goto(`${server.url}/#/s/${session.id}`);
    await page.reload();
    await phase(tab, "live");
    assert.equal(await old.count(), 0, "only the newest messages are loaded");
  };
  assert.equal(await old.count(), 0);
  await fact(tab, "Wilhelmina", "Ghent").locator(".fact-line").click();
  await page.locator(".facts .evidence li button").first().click();
  await reached("the message from the evidence");

  // What lies between is loaded page by page, in order, each message once.
  for (let more = true; more;) {
    const between = page.getByRole("button", { name: "Show the messages between" });
    more = (await between.count()) > 0;
    const count = await page.locator(".message").count();
    if (more) await between.click();
    if (more) await until(async () => (await page.locator(".message").count()) > count, "more messages");
  }
  const texts = await page.locator(".message .text").allInnerTexts();
  assert.deepEqual(texts.slice(1), Array.from({ length: 130 }, (_, i) => `Good morning, this is number ${i}.`));

  await again();
  await page.locator('.graph .node[aria-label^="Wilhelmina"]').focus();
  await page.keyboard.press("Enter");
  await page.locator(".mentions a").first().click();
  await reached("the message from the entity");

  await again();
  await say(tab, "Where does Wilhelmina live?");
  await page.locator(".message.assistant .sources button").first().click();
  await reached("the message from the answer");

  // From another session, too.
  await newSession(tab);
  await say(tab, "Wilhelmina likes tea.");
  await shown(fact(tab, "Wilhelmina", "tea"), "the fact of the other session");
  await page.locator(".message .mention", { hasText: "Wilhelmina" }).first().click();
  await page.locator(".mentions a", { has: page.locator("q", { hasText: "lives in Ghent" }) }).click();
  await until(async () => (await sessionIn(tab)) === session.id, "the session of the message");
  await reached("the message of the other session");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("things of other sessions have their colour", async () => {
  const first = await server.newSession();
  await server.say(first.id, "Sarah lives in Ghent.");
  await server.settledHead(first.id);
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  await say(tab, "Sarah lives in Lyon.");
  await shown(fact(tab, "Sarah", "Lyon"), "the fact");
  const types = async () => page.locator(".graph .node:not(.viewer)").evaluateAll((nodes) => nodes.map((n) => n.getAttribute("aria-label")).sort());
  // The fact of the other session is a rival, so it is here, too, though nobody said "Ghent" here.
  await until(async () => (await types()).some((t) => t.startsWith("Ghent")), "the rival of the other session");
  assert.deepEqual(await types(), ["Ghent, place", "Lyon, place", "Sarah, person"]);
  await tab.context.close();
});

test("badge, list of sessions and heading count the same", async () => {
  const tab = await browser.visit(`${server.url}/`, PHONE);
  const { page } = tab;
  await phase(tab, "live");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await newSession(tab);
  for (const text of ["Nadia likes tea.", "Nadia uses Emacs.", "Nadia likes chess."]) await say(tab, text);
  await say(tab, "Nadia no longer uses Emacs.");
  await until(async () => (await page.locator(".fact[data-status='ended']").count()) === 1, "the ended fact");
  await page.locator(".tabs button", { hasText: "Facts" }).click();
  await fact(tab, "tea").locator(".fact-line").click();
  await page.getByRole("button", { name: "This is wrong" }).click();
  await page.getByRole("button", { name: "Take the fact back?" }).click();
  await until(async () => (await fact(tab, "tea").count()) === 0, "the fact to go");
  const counts = async () => [
    await page.locator(".tabs i").innerText(), (await page.locator("nav li.on small").textContent()).split(" ")[0], (await page.locator(".facts .total").textContent()).split(" ")[0],
  ];
  assert.deepEqual(await counts(), ["1", "1", "1"]);
  const id = await sessionIn(tab);
  await newSessionByMenu(page);
  // Not open, it is counted by the server.
  await until(async () => (await page.locator(`nav li a[href="#/s/${id}"] small`).textContent()).startsWith("1 fact,"), "the same count from the server");
  await tab.context.close();
});
const newSessionByMenu = async (page) => {
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await page.getByRole("button", { name: "New session", exact: true }).click();
  await shown(page.locator(".welcome"), "the empty session");
};

test("the address of an unknown session says so and opens no other", async () => {
  for (const id of ["00000000-0000-7000-8000-000000000000", "nonsense"]) {
    const tab = await browser.visit(`${server.url}/#/s/${id}`);
    const { page } = tab;
    await shown(page.getByRole("heading", { name: "There is no such session" }), "that there is none");
    assert.equal(await sessionIn(tab), id);
    assert.equal(await page.locator(".message").count(), 0);
    await page.getByRole("button", { name: "Start a new session" }).click();
    await phase(tab, "live");
    assert.notEqual(await sessionIn(tab), id);
    assert.equal(await page.getByRole("heading", { name: "There is no such session" }).count(), 0);
    await tab.context.close();
  }
});

test("a new session and its deletion show in the other tab", async () => {
  const one = await browser.visit(`${server.url}/`);
  await phase(one, "live");
  const two = await browser.visit(`${server.url}/`, { visitor: one });
  await phase(two, "live");
  await newSession(one);
  const before = await sessionIn(one);
  await say(one, "Imogen likes tea.");
  await newSession(one);
  const id = await until(async () => { const now = await sessionIn(one); return now !== before && now; }, "another session");
  const item = (tab, of) => tab.page.locator(`nav li a[href="#/s/${of}"]`);
  await shown(item(two, id), "the new session in the other tab");
  await until(async () => (await item(two, before).textContent()).includes("Imogen"), "the title of the first one");
  await one.page.locator("nav li.on").getByRole("button", { name: /Delete session/ }).click();
  await one.page.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await item(two, id).count()) === 0, "the deleted session to go");
  await one.context.close();
});

test("who talks of other things is offered no sentences about John", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await newSession(tab);
  const offered = page.locator(".hints .chip", { hasText: "John likes Mary." });
  await say(tab, "Nadia likes chess.");
  await shown(offered, "the sentence of the tour");
  await say(tab, "Nadia lives in Ghent.");
  await say(tab, "Nadia uses Emacs.");
  await until(async () => (await offered.count()) === 0, "the sentence to go");
  await shown(page.locator(".hints .chip", { hasText: "How do you know?" }), "what needs no sentence");
  await tab.context.close();
});

test("a stored message without a fact is said to be stored", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await phase(tab, "live");
  await newSession(tab);
  await say(tab, "Good morning.");
  await until(async () => /stored, no fact found in it/.test(await tab.page.locator(".message.own").innerText()), "what became of it");
  await tab.context.close();
});

test("twenty things: no label covers another, a thing or a name, and zooming in does not enlarge text", async () => {
  const cities = ["Paris", "Berlin", "Madrid", "Lisbon", "Vienna", "Prague", "Dublin", "Athens", "Oslo", "Rome"];
  const names = ["Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas"];
  const session = await server.newSession();
  await imported(session.id, names.flatMap((name, i) => [`${name} likes ${names[(i + 1) % names.length]}.`, `${name} lives in ${cities[i]}.`]));
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`, { reducedMotion: "reduce" });
  const { page } = tab;
  await phase(tab, "live");
  await until(async () => (await page.locator(".graph .node").count()) >= 20, "twenty things");
  const labels = page.locator(".graph .edge text:not([visibility='hidden'])");
  const sizes = () => page.evaluate(() => [...document.querySelectorAll(".graph .edge text:not([visibility='hidden']), .graph .node .name")].map((t) => t.getBoundingClientRect().height));
  const overlaps = () => page.evaluate(() => {
    const box = (node, slack) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return { node, left: left + slack, right: right - slack, top: top + slack, bottom: bottom - slack };
    };
    const edges = [...document.querySelectorAll(".graph .edge text:not([visibility='hidden'])")].map((n) => box(n, 2));
    const others = [...document.querySelectorAll(".graph .node .name, .graph .node .disc")].map((n) => box(n, 2));
    const hits = (a, b) => a.node !== b.node && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return edges.flatMap((a) => [...edges, ...others].filter((b) => hits(a, b)).map((b) => `${a.node.textContent} on ${b.node.textContent || "a thing"}`));
  });
  assert.ok((await labels.count()) >= 5, "there are labels");
  assert.deepEqual(await overlaps(), []);
  const before = Math.max(...(await sizes()));
  await page.locator(".graph").hover();
  for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
  await shown(page.getByRole("button", { name: "Show the whole graph" }), "the zoom by hand");
  await page.mouse.move(5, 300);
  assert.ok(Math.max(...(await sizes())) <= before * 1.15, `${Math.max(...(await sizes()))} px, before ${before} px`);
  assert.deepEqual(await overlaps(), []);
  await tab.context.close();
});

test("on a phone: times stay on the screen, and the bin covers no title", async () => {
  const session = await server.newSession();
  const long = "Bartholomew likes the very long walk along the river Leie from Ghent to Deinze on a Sunday morning in spring.";
  await server.say(session.id, long);
  await server.settledHead(session.id);
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`, PHONE);
  const { page } = tab;
  await phase(tab, "live");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  const item = page.locator("nav li.on");
  await until(() => item.getByRole("button").isVisible(), "the sessions to slide in");
  const covered = await item.evaluate((li) => {
    const bin = li.querySelector("button").getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(li.querySelector("a span"));
    const span = li.querySelector("a span").getBoundingClientRect();
    return Math.min(range.getBoundingClientRect().right, span.right) > bin.left;
  });
  assert.equal(covered, false);
  await page.keyboard.press("Escape");
  await page.locator(".message .mention").first().click();
  await shown(page.locator(".entity .mentions time"), "where it was mentioned");
  const over = await page.evaluate(() => [...document.querySelectorAll(".entity *")].filter((n) => n.getBoundingClientRect().right > innerWidth + 0.5).map((n) => n.className || n.tagName));
  assert.deepEqual(over, []);
  await tab.context.close();
});

test("the logo is no box, and the badge of a shared session stands beside its time", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  await page.getByRole("button", { name: "New shared session" }).click();
  await shown(page.locator("nav li.on .badge"), "the badge");
  const logo = await page.locator(".brand .mark").evaluate((node) => { const s = getComputedStyle(node); return [s.borderTopWidth, s.paddingLeft, node.getBoundingClientRect().width]; });
  assert.deepEqual(logo, ["0px", "0px", 28]);
  const apart = await page.locator("nav li.on small").evaluate((small) => {
    const badge = small.querySelector(".badge");
    const range = document.createRange();
    range.setStartAfter(badge);
    range.setEndAfter(small.lastChild);
    const [a, b] = [badge.getBoundingClientRect(), range.getBoundingClientRect()];
    return b.left >= a.right && badge.scrollWidth <= badge.clientWidth + 1;
  });
  assert.ok(apart);
  await tab.context.close();
});

test("a conversation of long messages opens with fewer of them", async () => {
  const session = await server.newSession();
  const long = "A sentence that goes on and on. ".repeat(1_900);
  for (let at = 0; at < 40; at += 10) {
    const messages = Array.from({ length: 10 }, (_, i) => ({ text: `Number ${at + i}. ${long}`, role: "ASSISTANT" }));
    await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: session.id, messages } });
  }
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`);
  const { page } = tab;
  await phase(tab, "live");
  await shown(page.locator(".message", { hasText: "Number 39." }).first(), "the newest message");
  assert.equal(await page.locator(".message").count(), 10, "a page that fits into an answer");
  await page.locator("button.earlier").click();
  await until(async () => (await page.locator(".message").count()) === 40, "the thirty before, which fit");
  await tab.context.close();
});

test("a session that another program made is in the list once its address is opened", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await phase(tab, "live");
  const session = await server.newSession();
  await page.goto(`${server.url}/#/s/${session.id}`);
  await shown(page.locator(`nav li.on a[href="#/s/${session.id}"]`), "the session in the list, without any event");
  await tab.context.close();
});
