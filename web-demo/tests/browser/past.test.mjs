// The memory of a past day: what it knew, what has changed since, by keyboard, and with axe-core in light and dark.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
// A thousand facts are read: the rules find them without the network, in a fraction of the time.
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_EXTRACTION_LEARNED: "false" });

const DESKTOP = { viewport: { width: 1360, height: 850 }, locale: "en-GB" };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, locale: "en-GB" };
const MARCH = "2024-03-31";

/** Imports messages that were sent at these times. Their facts hold since then, although they are recorded now. */
async function importLetters(messages, shared = false) {
  const { createSession } = await server.graphql("mutation ($s: Boolean!) { createSession(input: { title: \"Letters\", shared: $s }) { session { id } } }", { s: shared });
  const { id } = createSession.session;
  for (let at = 0; at < messages.length; at += 500) {
    const part = messages.slice(at, at + 500).map(([sentAt, text]) => ({ text, sentAt }));
    const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages: part } });
    assert.deepEqual(importMessages.errors, []);
  }
  const isProcessed = async () => {
    const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { messages(last: 100) { nodes { status } } } }", { id });
    return session.messages.nodes.every(({ status }) => status === "PROCESSED");
  };
  await until(isProcessed, "the facts", 240_000);
}

/** Somebody's facts: three that stay, one that ends, one that is retracted, one that is learned, and one that is learned and ends. */
async function lifeOf(name) {
  await importLetters([
    ["2024-01-10T10:00:00Z", `${name} lives in Ghent.`], ["2024-02-11T10:00:00Z", `${name} uses React.`], ["2024-03-01T10:00:00Z", `${name} likes chess.`],
    ["2024-03-02T10:00:00Z", `${name} is allergic to peanuts.`], ["2024-05-05T10:00:00Z", `${name} no longer uses React.`],
    ["2024-06-01T10:00:00Z", `${name} likes opera.`], ["2024-06-02T10:00:00Z", `${name} uses Emacs.`], ["2024-06-03T10:00:00Z", `${name} no longer uses Emacs.`],
  ]);
  await importLetters([["2024-02-01T10:00:00Z", `${name} likes tea.`]], true);
  const { facts } = await server.graphql("query ($t: String!) { facts(first: 100, filter: { text: $t }) { nodes { id object { name } } } }", { t: name });
  const chess = facts.nodes.find((fact) => fact.object?.name === "chess");
  await server.graphql("mutation ($id: ID!) { retractFact(input: { id: $id }) { errors { message } } }", { id: chess.id });
}

const rows = (tab) => tab.page.locator(".memory-page .row");
const row = (tab, ...words) => words.reduce((found, word) => found.filter({ hasText: word }), rows(tab));
const total = (tab) => tab.page.locator(".total").innerText();
const banner = (tab) => tab.page.getByRole("group", { name: "The past" });
const theSwitch = (tab) => tab.page.getByRole("switch", { name: "What changed since" });
/** Opens the list of one person, as of March. */
const openPast = async (text, options = DESKTOP) => {
  const tab = await browser.visit(`${server.url}/#/memory?text=${text}&asOf=${MARCH}`, options);
  await waitForElement(rows(tab), "the list");
  return tab;
};
const openChanges = (text) => browser.visit(`${server.url}/#/memory?text=${text}&asOf=${MARCH}&changes=yes`, DESKTOP);
const open = async (tab, ...words) => {
  await row(tab, ...words).locator("[data-row]").click();
  await waitForElement(tab.page.locator(".pane article"), "the details");
};

for (const [size, options, name, expected] of [["desktop", DESKTOP, "Wilma", 2], ["phone", PHONE, "Wanda", 3]]) {
  test(`on a ${size}, ${expected} actions lead to what the memory knew in March, which cannot be changed there`, async () => {
    await lifeOf(name);
    const tab = await browser.visit(`${server.url}/`, options);
    const { page } = tab;
    await waitForElement(page.locator(".places"), "the page");
    let actions = 0;
    const act = async (action) => { actions += 1; await action; };
    await act(page.getByRole("link", { name: "Memory", exact: true }).click());
    await waitForElement(row(tab, name, "opera"), "the list of today");
    if (size === "phone") await act(page.getByRole("button", { name: "Filters" }).click());
    await act(page.getByLabel("As of").fill(MARCH));
    await until(async () => (await row(tab, name, "opera").count()) === 0, "the list of March");
    assert.equal(actions, expected);

    assert.match(await banner(tab).innerText(), /The memory of 31 Mar 2024, at the end of the day/);
    for (const known of ["Ghent", "React", "peanuts"]) await waitForElement(row(tab, name, known), known);
    await waitForElement(row(tab, name, "tea").locator(".badge", { hasText: "shared" }), "the shared fact");
    assert.equal(await row(tab, name, "Emacs").count(), 0, "a later fact is not listed");
    assert.match(await row(tab, name, "React").innerText(), /stated 11 Feb 2024\s+ended by 5 May 2024/);
    assert.equal(await rows(tab).getByRole("checkbox").count(), 0, "nothing can be selected");
    assert.equal(await page.locator(".memory-page .bar").count(), 0, "no belief of today is shown as that of March");
    for (const action of ["Add a fact", "Forget…"]) assert.equal(await page.getByRole("button", { name: action }).count(), 0, action);

    await open(tab, name, "React");
    assert.match(await page.locator(".verdict").innerText(), /On 31 Mar 2024 it held, stated 11 Feb 2024\. It had ended by 5 May 2024\./);
    for (const action of ["Confirm", "Restore", "Correct…", "Retract", "Forget…", "Remove the message…"]) assert.equal(await page.locator(".pane").getByRole("button", { name: action, exact: true }).count(), 0, action);
    await page.getByRole("link", { name: "See the fact of today" }).click();
    await waitForElement(page.locator(".pane").getByRole("button", { name: "Restore" }), "what people can do with the fact of today");
    await until(async () => (await banner(tab).count()) === 0, "the list of today");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("the day ends at midnight of the reader", async () => {
  await importLetters([["2024-03-31T10:30:00Z", "Agatha likes tea."], ["2024-03-31T11:30:00Z", "Agatha likes chess."]]);
  // In Auckland it was 23:30 on March 31, and 00:30 on April 1.
  const tab = await openPast("Agatha", { ...DESKTOP, timezoneId: "Pacific/Auckland" });
  await waitForElement(row(tab, "Agatha", "tea"), "the fact of the evening");
  assert.equal(await row(tab, "Agatha", "chess").count(), 0);
  assert.match(await banner(tab).innerText(), /31 Mar 2024/);
  await tab.context.close();
});

test("what changed since lists differences to today, and counts what is the same", async () => {
  await lifeOf("Ludmila");
  const tab = await openPast("Ludmila");
  const { page } = tab;
  await theSwitch(tab).click();
  await until(async () => (await total(tab)) === "1 learned, 1 ended, 1 retracted; 3 are the same", "the counts");
  assert.match(await row(tab, "opera").innerText(), /learned\s+stated 1 Jun 2024/);
  assert.match(await row(tab, "React").innerText(), /ended\s+stated 11 Feb 2024\s+ended by 5 May 2024/);
  assert.match(await row(tab, "chess").innerText(), /retracted\s+stated 1 Mar 2024/);
  assert.equal(await rows(tab).count(), 3, "what was learned and has ended since is no difference");

  await open(tab, "opera");
  assert.match(await page.locator(".verdict").innerText(), /On 31 Mar 2024 it was not known; it was stated 1 Jun 2024\. Today it holds\./);
  await open(tab, "chess");
  assert.match(await page.locator(".verdict").innerText(), /On 31 Mar 2024 it held, stated 1 Mar 2024\. It was retracted today/);

  await page.getByLabel("Change", { exact: true }).selectOption("ENDED");
  await until(async () => (await total(tab)) === "1 ended; 3 are the same", "one kind of change");
  await page.reload();
  await until(async () => (await total(tab)) === "1 ended; 3 are the same", "the same after a reload");
  await page.getByRole("link", { name: "Clear" }).click();
  await waitForElement(banner(tab), "the day to stay");
  await until(async () => !(await page.evaluate(() => location.hash)).includes("Ludmila"), "the other filters to be cleared");
  await theSwitch(tab).click();
  await until(() => page.evaluate(() => location.hash.includes("asOf=2024-03-31") && !location.hash.includes("changes")), "the list of March");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a fact that ended and was stated again tells that its past is not known", async () => {
  await importLetters([["2024-02-01T10:00:00Z", "Egon uses Vim."], ["2024-04-01T10:00:00Z", "Egon no longer uses Vim."], ["2024-06-01T10:00:00Z", "Egon uses Vim."]]);
  const tab = await openChanges("Egon");
  await waitForElement(row(tab, "Vim"), "the fact");
  await open(tab, "Vim");
  assert.match(await tab.page.locator(".verdict").innerText(), /It was stated again after 31 Mar 2024\. Whether it held on that day is not known\. Today it holds\./);
  await tab.context.close();
});

test("the past follows changes of today", async () => {
  await importLetters([["2024-03-01T10:00:00Z", "Xaver uses Vim."]]);
  const tab = await openChanges("Xaver");
  await until(async () => (await total(tab)) === "no changes; 1 is the same", "nothing to have changed");
  await importLetters([["2024-07-01T10:00:00Z", "Xaver no longer uses Vim."], ["2024-07-02T10:00:00Z", "Xaver uses Emacs."]]);
  await until(async () => (await total(tab)) === "1 learned, 1 ended; 0 are the same", "the changes");
  await tab.context.close();
});

test("two days are compared, the second of which is today at first", async () => {
  await lifeOf("Quentin");
  const tab = await openPast("Quentin");
  const { page } = tab;
  await theSwitch(tab).click();
  await until(async () => (await total(tab)) === "1 learned, 1 ended, 1 retracted; 3 are the same", "the changes until today");
  // Emacs was learned and had not yet ended. React had ended. Chess was retracted only today.
  await page.getByLabel("Until").fill("2024-06-02");
  await until(async () => (await total(tab)) === "2 learned, 1 ended", "the changes between two days");
  assert.match(await banner(tab).innerText(), /What changed from the end of 31 Mar 2024 until the end of 2 Jun 2024/);
  await waitForElement(row(tab, "Emacs", "learned"), "what was learned between, and has ended since");
  // A day that ends before it begins says so at its field, and changes nothing.
  const [from, end] = [page.getByLabel("From"), page.getByLabel("Until")];
  const [before, url] = [await total(tab), page.url()];
  await end.fill("2024-03-31");
  await waitForElement(page.getByText(/^Choose a day after .*2024, the beginning of the comparison\.$/), "the sentence");
  assert.equal(await end.getAttribute("aria-invalid"), "true");
  assert.equal(await end.inputValue(), "2024-03-31", "the field keeps it");
  assert.deepEqual(await findViolations(tab, "a refused day"), []);
  await end.fill("2024-06-02");
  await until(async () => (await end.getAttribute("aria-invalid")) === "false", "the sentence to go");
  await from.fill("2024-06-02");
  await waitForElement(page.getByText(/^Choose a day before .*2024, the end of the comparison\.$/), "the sentence");
  assert.equal(page.url(), url);
  assert.equal(await total(tab), before);
  // The other day makes it right.
  await end.fill("2024-06-10");
  await until(async () => (await total(tab)) === "1 ended", "the changes of a week");
  assert.equal(await from.getAttribute("aria-invalid"), "false");
  await page.reload();
  await until(async () => (await total(tab)) === "1 ended", "the same after a reload");
  assert.equal(await page.getByLabel("Change", { exact: true }).count(), 0, "the status of today does not filter the past");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("changes behind a thousand older facts are listed at once, with their number", { timeout: 300_000 }, async () => {
  await importLetters([["2024-06-01T10:00:00Z", "Quirin likes rowing."]]);
  const things = ["tea", "chess", "opera", "Emacs", "sushi"];
  const syllables = ["ba", "ko", "lu", "mi", "ra", "to", "ne", "vi", "sa", "du"];
  const nameOf = (i) => `Q${[...String(i).padStart(3, "0")].map((digit) => syllables[Number(digit)]).join("")}`;
  await importLetters(Array.from({ length: 230 }, (_, i) => ["2023-01-01T10:00:00Z", `${nameOf(i)} likes ${things.join(" and ")}.`]));
  const tab = await openChanges("Q");
  await waitForElement(row(tab, "Quirin", "rowing"), "the fact behind them");
  const requests = tab.requests.filter((request) => request === "POST /graphql").length;
  assert.ok(requests < 30, `${requests} requests`);
  await until(async () => /learned.*; 1,15\d are the same$/.test(await total(tab)), "the counts");
  await tab.context.close();
});

test("the keyboard alone goes to March, compares, and comes back", async () => {
  await lifeOf("Zacharias");
  const tab = await browser.visit(`${server.url}/#/memory?text=Zacharias`, DESKTOP);
  const { page } = tab;
  const { keyboard } = page;
  await waitForElement(rows(tab), "the list");
  const tabTo = async (selector) => {
    for (let presses = 0; presses < 40; presses += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${selector}`);
  };
  await tabTo("input[type=date]");
  // The same in every order of day and month.
  await keyboard.type("03032024");
  await waitForElement(banner(tab), "the banner");
  assert.ok(await page.evaluate(() => document.activeElement?.matches("input[type=date]")), "the field keeps the focus");
  assert.equal(await page.getByLabel("As of").inputValue(), "2024-03-03");
  await tabTo("[data-row]");
  await keyboard.press("Enter");
  await waitForElement(page.locator(".pane article"), "the details");
  await page.locator("#main").focus();
  await tabTo("[role=switch]");
  await keyboard.press("Space");
  await waitForElement(row(tab, "opera"), "what was learned since");
  assert.ok(await theSwitch(tab).evaluate((node) => node === document.activeElement), "the switch keeps the focus");
  await tabTo(".past a");
  await keyboard.press("Enter");
  await until(async () => (await banner(tab).count()) === 0, "the memory of today");
  await page.waitForFunction(() => document.activeElement?.id === "main");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a day that does not exist, and one before everything, break nothing", async () => {
  await importLetters([["2024-01-10T10:00:00Z", "Yvonne likes archery."]]);
  const tab = await browser.visit(`${server.url}/#/memory?text=Yvonne&asOf=yesterday&changes=yes`, DESKTOP);
  const { page } = tab;
  await waitForElement(row(tab, "archery"), "the list of today");
  assert.equal(await banner(tab).count(), 0);
  await page.getByLabel("As of").fill("1999-01-01");
  await waitForElement(page.locator(".none", { hasText: "Nothing matches." }), "the empty past");
  await page.getByRole("searchbox").fill("");
  await waitForElement(page.locator(".none", { hasText: "Nothing was known then." }), "why it is empty");
  await page.getByRole("link", { name: "Back to today" }).click();
  await waitForElement(rows(tab), "the list of today");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in the past on a ${size}, ${colorScheme}`, async () => {
      await lifeOf("Rosalind");
      const tab = await openPast("Rosalind", { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => violations.push(...(await findViolations(tab, view)));
      if (size === "phone") await page.getByRole("button", { name: "Filters" }).click();
      await check("the past");
      await theSwitch(tab).click();
      await waitForElement(row(tab, "opera"), "the changes");
      await check("the changes");
      await open(tab, "opera");
      await check("a fact");
      const over = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(over, false, "nothing is wider than the screen");
      assert.deepEqual(violations, []);
      await tab.context.close();
    });
  }
}
