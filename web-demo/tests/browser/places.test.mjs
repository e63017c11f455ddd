// The demo page after reloads, in long conversations, across sessions and tabs, and on small screens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseAction, fact, newSession, waitForPhase, say, sessionIn, waitForElement } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const importMessages = async (sessionId, texts) => {
  for (let at = 0; at < texts.length; at += 100) {
    const messages = texts.slice(at, at + 100).map((text) => ({ text }));
    const { importMessages: payload } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId, messages } });
    assert.deepEqual(payload.errors, []);
  }
  await server.settledHead(sessionId);
};
const isVisible = (locator) => locator.evaluate((node) => {
  const { top, bottom } = node.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
});

test("chips show after a reload how each message changed its facts", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  for (const text of ["I use React.", "I use React.", "I do not use React.", "I no longer use React."]) {
    await say(tab, text);
    await waitForElement(page.locator(".message.own").last().locator(".learned li"), `the chip of "${text}"`);
  }
  const chips = () => page.locator(".message.own .learned i").allInnerTexts();
  const before = await chips();
  assert.deepEqual(before, ["+", "↑", "↓", "×"]);
  await page.reload();
  await waitForPhase(tab, "live");
  await until(async () => (await chips()).length === before.length, "the chips after the reload");
  assert.deepEqual(await chips(), before);
  await tab.context.close();
});

test("links from evidence, answers and entities load and scroll to old messages", async () => {
  const session = await server.newSession();
  await importMessages(session.id, ["Wilhelmina lives in Ghent.", ...Array.from({ length: 130 }, (_, i) => `Good morning, this is number ${i}.`)]);
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  const oldMessage = page.locator(".message", { hasText: "Wilhelmina lives in Ghent." }).first();
  const expectScrolledTo = async (what) => {
    await waitForElement(oldMessage, what);
    await until(() => isVisible(oldMessage), `${what} to be scrolled to`);
  };
  const reopen = async () => {
    await page.goto(`${server.url}/#/s/${session.id}`);
    await page.reload();
    await waitForPhase(tab, "live");
    assert.equal(await oldMessage.count(), 0, "only the newest messages are loaded");
  };
  assert.equal(await oldMessage.count(), 0);
  await fact(tab, "Wilhelmina", "Ghent").locator(".fact-line").click();
  await page.locator(".facts .evidence li button").first().click();
  await expectScrolledTo("the message from the evidence");

  // The messages between load page by page, in order, each once.
  for (let more = true; more;) {
    const between = page.getByRole("button", { name: "Show the messages between" });
    more = (await between.count()) > 0;
    const count = await page.locator(".message").count();
    if (more) await between.click();
    if (more) await until(async () => (await page.locator(".message").count()) > count, "more messages");
  }
  const texts = await page.locator(".message .text").allInnerTexts();
  assert.deepEqual(texts.slice(1), Array.from({ length: 130 }, (_, i) => `Good morning, this is number ${i}.`));

  await reopen();
  await page.locator('.graph .node[aria-label^="Wilhelmina"]').focus();
  await page.keyboard.press("Enter");
  await page.locator(".mentions a").first().click();
  await expectScrolledTo("the message from the entity");

  await reopen();
  await say(tab, "Where does Wilhelmina live?");
  await page.locator(".message.assistant .sources button").first().click();
  await expectScrolledTo("the message from the answer");

  // Also from another session.
  await newSession(tab);
  await say(tab, "Wilhelmina likes tea.");
  await waitForElement(fact(tab, "Wilhelmina", "tea"), "the fact of the other session");
  await page.locator(".message .mention", { hasText: "Wilhelmina" }).first().click();
  await page.locator(".mentions a", { has: page.locator("q", { hasText: "lives in Ghent" }) }).click();
  await until(async () => (await sessionIn(tab)) === session.id, "the session of the message");
  await expectScrolledTo("the message of the other session");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("entities from other sessions keep their type", async () => {
  const first = await server.newSession();
  await server.say(first.id, "Sarah lives in Ghent.");
  await server.settledHead(first.id);
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "Sarah lives in Lyon.");
  await waitForElement(fact(tab, "Sarah", "Lyon"), "the fact");
  const types = async () => page.locator(".graph .node:not(.viewer)").evaluateAll((nodes) => nodes.map((n) => n.getAttribute("aria-label")).sort());
  // The fact of the other session is a rival, so the page shows "Ghent" although this session does not mention it.
  await until(async () => (await types()).some((t) => t.startsWith("Ghent")), "the rival of the other session");
  assert.deepEqual(await types(), ["Ghent, place", "Lyon, place", "Sarah, person"]);
  await tab.context.close();
});

test("the tab, the list of sessions and the heading show the same fact count", async () => {
  const tab = await browser.visit(`${server.url}/`, PHONE);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await newSession(tab);
  for (const text of ["Nadia likes tea.", "Nadia uses Emacs.", "Nadia likes chess."]) await say(tab, text);
  await say(tab, "Nadia no longer uses Emacs.");
  await page.locator(".tabs button", { hasText: "Facts" }).click();
  await until(async () => (await page.locator(".fact[data-status='ended']").count()) === 1, "the ended fact");
  await fact(tab, "tea").locator(".fact-line").click();
  await page.getByRole("button", { name: "This is wrong" }).click();
  await page.getByRole("button", { name: /^Retract the fact/ }).click();
  await until(async () => (await fact(tab, "tea").count()) === 0, "the fact to disappear");
  await until(() => page.evaluate(() => document.activeElement?.matches(".fact-line")), "the focus on the next fact");
  const counts = async () => [
    await page.locator(".tabs i").innerText(), (await page.locator("nav li.on small").textContent()).split(" ")[0], (await page.locator(".facts .total").textContent()).split(" ")[0],
  ];
  assert.deepEqual(await counts(), ["1", "1", "1"]);
  const id = await sessionIn(tab);
  await newSessionByMenu(page);
  // The server counts the facts of sessions that are not open.
  await until(async () => (await page.locator(`nav li a[href="#/s/${id}"] small`).textContent()).startsWith("1 fact,"), "the same count from the server");
  await tab.context.close();
});
const newSessionByMenu = async (page) => {
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await page.getByRole("button", { name: "New session", exact: true }).click();
  await waitForElement(page.locator(".welcome"), "the empty session");
};

test("the URL of an unknown session shows an error and opens no other session", async () => {
  for (const id of ["00000000-0000-7000-8000-000000000000", "nonsense"]) {
    const tab = await browser.visit(`${server.url}/#/s/${id}`);
    const { page } = tab;
    await waitForElement(page.getByRole("heading", { name: "There is no such session" }), "the error");
    assert.equal(await sessionIn(tab), id);
    assert.equal(await page.locator(".message").count(), 0);
    await page.getByRole("button", { name: "Start a new session" }).click();
    await waitForPhase(tab, "live");
    assert.notEqual(await sessionIn(tab), id);
    assert.equal(await page.getByRole("heading", { name: "There is no such session" }).count(), 0);
    await tab.context.close();
  }
});

test("other tabs show created and deleted sessions", async () => {
  const one = await browser.visit(`${server.url}/`);
  await waitForPhase(one, "live");
  const two = await browser.visit(`${server.url}/`, { visitor: one });
  await waitForPhase(two, "live");
  await newSession(one);
  const before = await sessionIn(one);
  await say(one, "Imogen likes tea.");
  await newSession(one);
  const id = await until(async () => { const now = await sessionIn(one); return now !== before && now; }, "another session");
  const item = (tab, of) => tab.page.locator(`nav li a[href="#/s/${of}"]`);
  await waitForElement(item(two, id), "the new session in the other tab");
  await until(async () => (await item(two, before).textContent()).includes("Imogen"), "the title of the first one");
  await chooseAction(one.page.locator("nav li.on"), "Delete…");
  await one.page.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await item(two, id).count()) === 0, "the deleted session to disappear");
  await one.context.close();
});


test("a message without facts shows that it was stored", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "Good morning.");
  await until(async () => /stored, no fact found in it/.test(await tab.page.locator(".message.own").innerText()), "the status of the message");
  await tab.context.close();
});

/** Runs in the page. */
function widenLetters() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(".graph text { letter-spacing: .12em }");
  document.adoptedStyleSheets = [sheet];
}

// The font of the page is left out if it is late, and the one of the system may be wider.
for (const font of ["the font of the page", "a wider font"]) {
  test(`graph labels do not overlap with twenty entities in ${font}, and zoom does not enlarge text`, async () => {
    const cities = ["Paris", "Berlin", "Madrid", "Lisbon", "Vienna", "Prague", "Dublin", "Athens", "Oslo", "Rome"];
    const names = ["Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas"];
    const session = await server.newSession();
    await importMessages(session.id, names.flatMap((name, i) => [`${name} likes ${names[(i + 1) % names.length]}.`, `${name} lives in ${cities[i]}.`]));
    const tab = await browser.visit(`${server.url}/healthz`, { reducedMotion: "reduce" });
    const { page } = tab;
    if (font === "a wider font") await page.addInitScript(widenLetters);
    await page.goto(`${server.url}/#/s/${session.id}`);
    await waitForPhase(tab, "live");
    await until(async () => (await page.locator(".graph .node").count()) >= 20, "twenty entities");
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
      return edges.flatMap((a) => [...edges, ...others].filter((b) => hits(a, b)).map((b) => `${a.node.textContent} on ${b.node.textContent || "a node"}`));
    });
    await until(async () => (await labels.count()) >= 5, "labels");
    assert.deepEqual(await overlaps(), []);
    const before = Math.max(...(await sizes()));
    await page.locator(".graph").hover();
    for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
    await waitForElement(page.getByRole("button", { name: "Show the whole graph" }), "the button after a manual zoom");
    await page.mouse.move(5, 300);
    assert.ok(Math.max(...(await sizes())) <= before * 1.15, `${Math.max(...(await sizes()))} px, before ${before} px`);
    assert.deepEqual(await overlaps(), []);
    await tab.context.close();
  });
}

test("on a phone, times stay on the screen and the delete button covers no title", async () => {
  const session = await server.newSession();
  const long = "Bartholomew likes the very long walk along the river Leie from Ghent to Deinze on a Sunday morning in spring.";
  await server.say(session.id, long);
  await server.settledHead(session.id);
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`, PHONE);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  const item = page.locator("nav li.on");
  await until(() => item.getByRole("button").isVisible(), "the list of sessions to open");
  const covered = await item.evaluate((li) => {
    const deleteButton = li.querySelector("button").getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(li.querySelector("a span"));
    const span = li.querySelector("a span").getBoundingClientRect();
    return Math.min(range.getBoundingClientRect().right, span.right) > deleteButton.left;
  });
  assert.equal(covered, false);
  await page.keyboard.press("Escape");
  await page.locator(".message .mention").first().click();
  await waitForElement(page.locator(".entity .mentions time"), "the list of mentions");
  const over = await page.evaluate(() => [...document.querySelectorAll(".entity *")].filter((n) => n.getBoundingClientRect().right > innerWidth + 0.5).map((n) => n.className || n.tagName));
  assert.deepEqual(over, []);
  await tab.context.close();
});

test("the logo has no border, and the shared badge does not overlap the time", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await page.getByRole("button", { name: "New shared session" }).click();
  await waitForElement(page.locator("nav li.on .badge"), "the badge");
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

test("a session of long messages loads smaller pages", async () => {
  const session = await server.newSession();
  const long = "A sentence that goes on and on. ".repeat(1_900);
  for (let at = 0; at < 40; at += 10) {
    const messages = Array.from({ length: 10 }, (_, i) => ({ text: `Number ${at + i}. ${long}`, role: "ASSISTANT" }));
    await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: session.id, messages } });
  }
  const tab = await browser.visit(`${server.url}/#/s/${session.id}`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await waitForElement(page.locator(".message", { hasText: "Number 39." }).first(), "the newest message");
  assert.equal(await page.locator(".message").count(), 10, "a smaller page");
  await page.locator("button.earlier").click();
  await until(async () => (await page.locator(".message").count()) === 40, "the other thirty messages");
  await tab.context.close();
});

test("opening a URL adds a session of another program to the list", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  const session = await server.newSession();
  await page.goto(`${server.url}/#/s/${session.id}`);
  await waitForElement(page.locator(`nav li.on a[href="#/s/${session.id}"]`), "the session in the list");
  await tab.context.close();
});

for (const [size, options] of [["desktop", {}], ["phone", PHONE]]) {
  test(`nothing moves while a conversation opens on a ${size}`, async () => {
    const { id } = await server.newSession();
    await importMessages(id, ["I live in Lyon.", "I like tea."]);
    const tab = await browser.visit(`${server.url}/healthz`, { ...options, serviceWorkers: "block" });
    const { page } = tab;
    await page.addInitScript(() => {
      window.shifts = [];
      new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) window.shifts.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 80))]);
      }).observe({ type: "layout-shift", buffered: true });
    });
    // The empty page is painted before the server answers.
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route("**/auth/session", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${server.url}/#/s/${id}`);
    await until(() => page.evaluate(async () => {
      await document.fonts.ready;
      return performance.getEntriesByName("first-contentful-paint").length > 0;
    }), "the first paint");
    release();
    await waitForPhase(tab, "live");
    await waitForElement(page.locator(".message", { hasText: "I like tea." }), "the conversation");
    await waitForElement(page.locator(".hints"), "the suggestions");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.deepEqual(await page.evaluate(() => window.shifts), []);
    await tab.context.close();
  });
}

test("a phone lays the graph out when its tab opens", async () => {
  const { id } = await server.newSession();
  await importMessages(id, ["Sarah lives in Ghent."]);
  const tab = await browser.visit(`${server.url}/#/s/${id}`, PHONE);
  const { page } = tab;
  const node = page.locator('.graph .node[aria-label^="Sarah"]');
  await waitForElement(page.locator(".tabs i"), "the number of facts");
  assert.equal(await page.locator(".graph, .facts").count(), 0, "nothing is drawn behind the chat");
  await page.locator(".tabs button", { hasText: "Graph" }).click();
  await until(() => node.getAttribute("transform"), "the node in its place");
  await page.locator(".tabs button", { hasText: "Chat" }).click();
  assert.equal(await node.count(), 1, "a tab that was opened stays");
  await tab.context.close();
});

test("on a phone, another tab gets the focus, and Back leads to the chat of the same session", async () => {
  const { id: before } = await server.newSession();
  await server.say(before, "Ivo lives in Turin.");
  const { id } = await server.newSession();
  await server.say(id, "Nadia lives in Ghent.");
  await server.settledHead(id);
  const tab = await browser.visit(`${server.url}/#/s/${before}`, PHONE);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await page.evaluate((hash) => { location.hash = hash; }, `#/s/${id}`);
  await waitForElement(page.locator(".message", { hasText: "Nadia" }), "the session");
  const isShown = (selector) => page.locator(selector).evaluate((node) => node.checkVisibility());
  const tabButton = (name) => page.locator(".tabs button", { hasText: name });

  await tabButton("Facts").press("Enter");
  await until(() => isShown(".facts"), "the facts");
  assert.ok(await page.evaluate(() => document.activeElement.contains(document.querySelector(".facts")) && document.activeElement !== document.body), "the focus is before the facts");
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.querySelector(".memory").contains(document.activeElement)), "Tab goes on to them");
  await tabButton("Session graph").press("Enter");
  await page.goBack();
  await until(() => isShown(".talk"), "the chat");
  assert.equal(await sessionIn(tab), id);

  await page.locator(".learned button", { hasText: "Ghent" }).press("Enter");
  await until(() => isShown(".facts"), "the fact");
  await until(() => page.evaluate(() => document.activeElement.matches(".fact-line")), "the focus on the fact");
  await tabButton("Chat").press("Enter");
  await until(() => isShown(".talk"), "the chat again");
  await page.goBack();
  assert.equal(await sessionIn(tab), before, "the tabs leave no entries in the history");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
