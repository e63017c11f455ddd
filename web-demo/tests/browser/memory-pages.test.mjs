// The Memory page with thousands of facts, by keyboard, and with axe-core in light and dark.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
// Thousands of facts are read: the rules find them without the network, in a fraction of the time.
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_EXTRACTION_LEARNED: "false" });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };

async function importAll(title, texts) {
  const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
  const { id } = createSession.session;
  for (let at = 0; at < texts.length; at += 500) {
    const messages = texts.slice(at, at + 500).map((text) => ({ text }));
    const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages } });
    assert.deepEqual(importMessages.errors, []);
  }
  return id;
}
const countFacts = async (text = "") => (await server.graphql("query ($t: String) { facts(first: 1, filter: { text: $t }) { totalCount } }", { t: text })).facts.totalCount;
/** The number of messages of a session whose facts are still to be found. Each may move a row of the list. */
const countWaiting = async (id) => {
  const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { messages(first: 100) { nodes { status } } } }", { id });
  return session.messages.nodes.filter(({ status }) => status === "PROCESSING").length;
};
const rows = (page) => page.locator(".memory-page .row");

/** Pronounceable names, all different: "Bakolu". */
const names = (count) => Array.from({ length: count }, (_, i) => {
  const syllables = ["ba", "ko", "lu", "mi", "ra", "to", "ne", "vi", "sa", "du"];
  const name = [...String(i).padStart(4, "0")].map((digit) => syllables[Number(digit)]).join("");
  return name[0].toUpperCase() + name.slice(1);
});

test("an empty memory says what to do, and takes a first fact", async () => {
  const tab = await browser.visit(`${server.url}/#/memory`);
  const { page } = tab;
  await waitForElement(page.getByText("Nothing is known yet."), "the hint");
  await page.getByRole("button", { name: "Add a fact" }).click();
  await page.getByRole("combobox", { name: "Who or what" }).fill("you");
  await page.getByRole("dialog").getByRole("combobox", { name: "Relation" }).fill("likes");
  await page.getByRole("combobox", { name: "Whom or what" }).fill("gardening");
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await waitForElement(rows(page).filter({ hasText: "you like gardening" }), "the fact about the user");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  test(`facts that changed since the last visit are marked until all are seen, also after a reload, on a ${size}`, async () => {
    const what = size === "phone" ? "fencing" : "archery";
    const tab = await browser.visit(`${server.url}/#/`, options);
    const { page } = tab;
    const news = rows(page).filter({ hasText: what });
    const marks = page.locator(".memory-page .new");
    const openPlace = (place) => page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: place }).click();
    await page.clock.install();
    await page.clock.resume();
    await openPlace("Memory");
    await waitForElement(rows(page), "the list");
    assert.equal(await marks.count(), 0, "nothing is new on the first visit");
    await openPlace("Chat");
    await importAll("Between two visits", [`Yvonne likes ${what}.`]);
    await until(async () => (await countFacts(what)) > 0, "the fact");
    await page.clock.fastForward("31:00");
    await openPlace("Memory");
    await waitForElement(news.locator(".new"), "the mark");
    assert.match(await page.locator(".total").innerText(), /1 new since your last visit/);
    assert.equal(await rows(page).filter({ hasText: "gardening" }).locator(".new").count(), 0);
    await page.reload();
    await waitForElement(news.locator(".new"), "the mark after a reload");
    if (size === "phone") assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no wider than the screen");
    assert.deepEqual(await findViolations(tab, "marks of new facts"), []);

    await page.getByRole("button", { name: "Mark all as seen" }).press("Enter");
    await until(async () => (await marks.count()) === 0, "the marks to go");
    assert.ok(await page.evaluate(() => document.activeElement.matches(".memory-page [data-row]")), "the focus is in the list");
    await page.reload();
    await waitForElement(news, "the list after a reload");
    assert.equal(await marks.count(), 0);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("the keyboard alone finds, corrects, forgets and restores a fact", async () => {
  await importAll("By keyboard", ["Zacharias lives in Bruges.", "Zacharias likes tea."]);
  await until(async () => (await countFacts("Zacharias")) === 2, "the facts");
  const tab = await browser.visit(`${server.url}/#/memory`);
  const { page } = tab;
  const { keyboard } = page;
  await waitForElement(rows(page).filter({ hasText: "Zacharias" }), "the list");
  /** Presses Tab until an element that matches has the focus. */
  const tabTo = async (selector) => {
    for (let presses = 0; presses < 40; presses += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${selector}`);
  };
  const tabToButton = async (name) => {
    for (let presses = 0; presses < 40; presses += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.textContent?.trim() === wanted, name)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${name}`);
  };
  await tabTo("input[type=search]");
  await keyboard.type("Zacharias");
  await until(async () => (await rows(page).count()) === 2, "the two facts");
  await tabTo("[data-row]");
  const opensBruges = await rows(page).first().innerText().then((text) => text.includes("Bruges"));
  if (!opensBruges) await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await waitForElement(page.locator(".fact-detail"), "the details");
  await tabToButton("Correct…");
  await keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.matches("dialog [role=combobox]"));
  await keyboard.press("Control+A");
  await keyboard.type("Leuven");
  await keyboard.press("Enter");
  await waitForElement(rows(page).filter({ hasText: "Leuven" }), "the right fact");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Correct…", "the focus is back where it was");
  await keyboard.press("Tab");
  await tabToButton("Forget…");
  await keyboard.press("Enter");
  await waitForElement(page.locator(".preview li"), "the preview");
  await tabTo("dialog .danger");
  await keyboard.press("Enter");
  await until(async () => (await rows(page).filter({ hasText: "Bruges" }).count()) === 0, "the fact to be forgotten");
  await tabToButton("Undo");
  await keyboard.press("Enter");
  await waitForElement(rows(page).filter({ hasText: "Bruges" }), "the fact again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation on the Memory page on a ${size}, ${colorScheme}`, async () => {
      const letters = await importAll("Letters", ["Wilma lives in Ghent.", "Wilma lives in Lyon.", "Wilma likes tea.", "I use React.", "I no longer use React.", "Wilhelmina likes tea.", "Wilma is allergic to peanuts.", "Xenia Miller works for Siemens.", "Xenia likes tea."]);
      await until(async () => (await countWaiting(letters)) === 0, "the facts");
      const tab = await browser.visit(`${server.url}/#/memory`, { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => violations.push(...(await findViolations(tab, view)));
      const close = () => page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      const openRow = async (text) => {
        await rows(page).filter({ hasText: text }).first().locator("[data-row]").click();
        await waitForElement(page.locator(".pane article"), "the details");
      };
      await waitForElement(rows(page), "the list");
      if (size === "phone") await page.getByRole("button", { name: "Filters" }).click();
      await page.getByLabel(/^Select Wilma/).first().check();
      await check("the list with a selection");
      await page.getByRole("button", { name: "Add a fact" }).click();
      await page.getByRole("dialog").getByRole("combobox", { name: "Relation" }).fill("lives");
      await waitForElement(page.getByRole("dialog").getByRole("option"), "the suggestions");
      await check("adding a fact");
      await close();
      await page.getByRole("button", { name: "Forget…" }).first().click();
      await page.getByLabel("What to forget").fill("everything about Wilma");
      await page.keyboard.press("Enter");
      await waitForElement(page.locator(".preview li"), "the preview");
      await check("forgetting");
      await close();
      await openRow("Ghent");
      await page.getByText("What these do").click();
      await check("a fact");
      await page.locator(".pane").getByRole("button", { name: "Confirm" }).click();
      await waitForElement(page.locator(".undo-bar li"), "the notice");
      await check("a notice");
      await page.goto(`${server.url}/#/memory/things`);
      await waitForElement(rows(page), "the list of names");
      await check("the list of names");
      await openRow("Wilma");
      await page.getByRole("button", { name: "Merge…" }).click();
      await page.getByRole("combobox", { name: "The other one" }).fill("Wilhelmina");
      await page.getByRole("option", { name: /Wilhelmina/ }).click();
      await waitForElement(page.getByRole("list", { name: "What changes" }), "the preview");
      await check("merging");
      await close();
      await check("a name");
      if (size === "phone") await page.goto(`${server.url}/#/memory/things`);
      await openRow("Xenia Miller");
      for (const [button, view] of [["Split…", "splitting"], ["Rename…", "renaming"], ["Change type…", "another type"]]) {
        await page.getByRole("button", { name: button, exact: true }).click();
        await waitForElement(page.getByRole("list", { name: "What changes" }), view);
        await check(view);
        await close();
      }
      await page.goto(`${server.url}/#/memory/sessions`);
      await openRow("Letters");
      await check("a session");
      await page.goto(`${server.url}/#/memory/data`);
      await page.getByRole("button", { name: "Delete everything…" }).click();
      await check("deleting everything");
      await close();
      await check("the data");
      await page.goto(`${server.url}/#/memory?text=nobody-has-this-name`);
      await waitForElement(page.locator(".none"), "the empty list");
      await check("an empty list");
      const over = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(over, false, "nothing is wider than the screen");
      assert.deepEqual(violations, []);
      await tab.context.close();
    });
  }
}

test("two thousand facts scroll with few rows in the document, by keyboard too", { timeout: 300_000 }, async () => {
  const things = ["tea", "chess", "opera", "Emacs", "sushi"];
  await importAll("Everybody", names(450).map((name) => `${name} likes ${things.join(" and ")}.`));
  const total = await until(async () => { const now = await countFacts(); return now >= 2000 && now; }, "two thousand facts", 240_000);
  const tab = await browser.visit(`${server.url}/#/memory`);
  const { page } = tab;
  await waitForElement(rows(page), "the list");
  await until(async () => Number((await page.locator(".total").innerText()).replace(/\D/g, "")) >= total, "the count");
  const box = page.locator(".memory-page .rows");
  const list = page.locator(".memory-page .rows > ul");
  const rendered = [];
  // Scroll until every fact was loaded.
  await until(async () => {
    await box.evaluate((node) => { node.scrollTop = node.scrollHeight; });
    rendered.push(await rows(page).count());
    return (await list.evaluate((node) => node.clientHeight)) >= 2000 * 58;
  }, "all facts to be loaded", 120_000);
  assert.ok(Math.max(...rendered) < 60, `${Math.max(...rendered)} rows in the document`);

  const focusedPosition = () => page.evaluate(() => Number(document.activeElement?.closest("li")?.getAttribute("aria-posinset")));
  await page.locator(".memory-page [data-row]").last().focus();
  await page.keyboard.press("Home");
  assert.equal(await focusedPosition(), 1);
  await page.keyboard.press("PageDown");
  const afterPage = await focusedPosition();
  assert.ok(afterPage > 5, `PageDown went to row ${afterPage}`);
  await page.keyboard.press("ArrowUp");
  assert.equal(await focusedPosition(), afterPage - 1);
  await page.keyboard.press("End");
  assert.ok((await focusedPosition()) >= 2000);
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".fact-detail"), "the details");
  assert.ok((await rows(page).count()) < 60);

  // The search asks the server, which knows all facts.
  await page.getByRole("searchbox").fill("Bakolumi");
  await until(async () => (await rows(page).count()) === 5, "the facts about one person");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the list does not move when a fact opens or others change it", async () => {
  const id = await importAll("Steady", ["Xaver likes tea.", "Xaver likes chess."]);
  const tab = await browser.visit(`${server.url}/#/memory`);
  const { page } = tab;
  await waitForElement(rows(page), "the list");
  await page.evaluate(() => {
    window.shift = 0;
    new PerformanceObserver((entries) => { for (const e of entries.getEntries()) if (!e.hadRecentInput) window.shift += e.value; }).observe({ type: "layout-shift", buffered: true });
  });
  await rows(page).first().locator("[data-row]").click();
  await waitForElement(page.locator(".fact-detail"), "the details");
  await server.say(id, "Xaver likes opera.");
  await waitForElement(rows(page).filter({ hasText: "Xaver" }).filter({ hasText: "opera" }), "the new fact");
  const shift = await page.evaluate(() => window.shift);
  assert.ok(shift < 0.02, `layout shift ${shift}`);

  // The focused row keeps the focus, however many others come before it.
  const focusedText = () => page.evaluate(() => document.activeElement?.closest("li")?.textContent ?? "");
  await rows(page).filter({ hasText: "Xaver" }).filter({ hasText: "chess" }).first().locator("[data-row]").focus();
  await importAll("Later", names(80).map((name) => `${name} likes rowing.`));
  await until(async () => (await rows(page).first().textContent()).includes("rowing"), "the facts before it");
  await until(async () => Number(await page.evaluate(() => document.activeElement?.closest("li")?.getAttribute("aria-posinset"))) > 60, "the row to move down");
  assert.match(await focusedText(), /Xaver.*chess/s);
  await tab.context.close();
});
