// The Memory page: orders of facts, filters by type, source and last change, previews of merges, and types of things.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const DESKTOP = { viewport: { width: 1360, height: 850 }, locale: "en-GB", timezoneId: "UTC" };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, locale: "en-GB", timezoneId: "UTC" };

async function newSession(title, shared = false) {
  const { createSession } = await server.graphql("mutation ($i: CreateSessionInput!) { createSession(input: $i) { session { id } } }", { i: { title, shared } });
  return createSession.session.id;
}
/** Sends messages one after another, so that each changes the memory at a time of its own. */
async function tell(sessionId, ...texts) {
  for (const text of texts) {
    await server.say(sessionId, text);
    await server.settledHead(sessionId);
  }
}
async function addDocument(path, text) {
  const { addDocument: added } = await server.graphql("mutation ($i: AddDocumentInput!) { addDocument(input: $i) { document { id } errors { message } } }", { i: { path, text } });
  assert.deepEqual(added.errors, []);
}
const factsOf = async (text, args = "") => (await server.graphql(`query ($t: String!) { facts(first: 100, filter: { text: $t }${args}) { nodes { id updatedAt object { name } } } }`, { t: text })).facts.nodes;
/** The day of a time, and of days before or after it, in the time zone of the tests. */
const dayOf = (time, later = 0) => new Date(Date.parse(time) + later * 86_400_000).toISOString().slice(0, 10);

const rows = (tab) => tab.page.locator(".memory-page .row");
const row = (tab, ...words) => words.reduce((found, word) => found.filter({ hasText: word }), rows(tab));
const hash = (tab) => tab.page.evaluate(() => location.hash);
const order = (tab) => tab.page.getByLabel("sorted by");
const openMemory = async (place, options = DESKTOP, visitor = undefined) => {
  const tab = await browser.visit(`${server.url}/#/memory${place}`, { ...options, visitor });
  await waitForElement(rows(tab), "the list");
  return tab;
};
/** What the rows say of these words, from top to bottom. */
const sequence = async (tab, words) => {
  const texts = await tab.page.locator(".memory-page .row .triple").allInnerTexts();
  return texts.map((text) => words.find((word) => text.includes(word)) ?? "?").join(", ");
};
const waitForSequence = (tab, words, expected) => until(async () => (await sequence(tab, words)) === expected, expected);
const inDialog = (tab, name) => tab.page.getByRole("dialog").getByRole("button", { name, exact: true });
const openThing = async (tab, name) => {
  await row(tab, name).first().locator("[data-row]").click();
  await waitForElement(tab.page.getByRole("heading", { name, exact: false, level: 2 }), "the details");
};

/** Somebody who likes tea, chess and opera. Chess is of shared memory. Tea is stated three times, chess once, opera twice. */
async function tellOfQuirin(name) {
  const [own, shared] = [await newSession("Own"), await newSession("Shared", true)];
  await tell(own, `${name} likes opera.`, `${name} likes tea.`);
  await tell(shared, `${name} likes chess.`);
  await tell(own, `${name} likes tea.`, `${name} likes tea.`, `${name} likes opera.`);
  return { own, shared };
}
const LIKES = ["tea", "chess", "opera"];

test("each order merges own and shared memory, and is part of the URL", async () => {
  const { shared } = await tellOfQuirin("Quirin");
  const tab = await openMemory("?text=Quirin");
  const { page } = tab;
  await waitForSequence(tab, LIKES, "opera, tea, chess");
  assert.equal(await order(tab).inputValue(), "");
  await order(tab).selectOption("Learned last");
  await waitForSequence(tab, LIKES, "chess, tea, opera");
  assert.match(await row(tab, "chess").innerText(), /learned just now|learned \d+ min ago/);
  await order(tab).selectOption("Most certain");
  await waitForSequence(tab, LIKES, "tea, opera, chess");
  assert.match(await hash(tab), /order=MOST_BELIEVED/);
  await page.reload();
  await waitForSequence(tab, LIKES, "tea, opera, chess");
  assert.equal(await order(tab).locator("option:checked").innerText(), "Most certain");
  await order(tab).selectOption("Least certain");
  await waitForSequence(tab, LIKES, "chess, opera, tea");

  // An event of another session moves the fact to its place.
  await tell(shared, ...Array.from({ length: 4 }, () => "Quirin likes chess."));
  await waitForSequence(tab, LIKES, "opera, tea, chess");
  await page.getByLabel("Status").selectOption("ACTIVE");
  await page.getByRole("link", { name: "Clear", exact: true }).click();
  await until(async () => (await hash(tab)) === "#/memory?order=LEAST_BELIEVED", "the filters to be cleared, but not the order");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the past has no order to choose, and forgets filters of today", async () => {
  await tell(await newSession("Letters"), "Leonora likes tea.");
  const [{ updatedAt }] = await factsOf("Leonora");
  const tab = await openMemory(`?text=Leonora&order=LEAST_BELIEVED&since=${dayOf(updatedAt)}`);
  const { page } = tab;
  await page.getByLabel("As of").fill("2024-03-31");
  await waitForElement(page.getByRole("group", { name: "The past" }), "the banner");
  assert.equal(await order(tab).count(), 0);
  assert.equal(await page.getByLabel("Changed since", { exact: true }).count(), 0);
  assert.doesNotMatch(await hash(tab), /order|since/);
  await page.getByRole("link", { name: "Back to today" }).click();
  await waitForElement(row(tab, "Leonora"), "the list of today");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("another order begins at the top, and a change far down shows after an event", { timeout: 240_000 }, async () => {
  const syllables = ["ba", "ko", "lu", "mi", "ra", "to", "ne", "vi", "sa", "du"];
  const nameOf = (i) => `V${[...String(i).padStart(3, "0")].map((digit) => syllables[Number(digit)]).join("")}`;
  const id = await newSession("Many");
  await tell(id, "Valentin likes archery.");
  const messages = Array.from({ length: 50 }, (_, i) => ({ text: `${nameOf(i)} likes tea and chess and opera.` }));
  const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages } });
  assert.deepEqual(importMessages.errors, []);
  await until(async () => (await server.graphql('{ facts(filter: { text: "V" }) { totalCount } }')).facts.totalCount > 150, "the facts", 120_000);
  const tab = await openMemory("?text=V&order=LATEST_LEARNED");
  const { page } = tab;
  const box = page.locator(".memory-page .rows");
  const first = row(tab, "Valentin", "archery");
  await until(async () => {
    await box.evaluate((node) => { node.scrollTop = node.scrollHeight; });
    return first.count();
  }, "the end of the list");
  const belief = async () => Number(/(\d+) %/.exec(await first.innerText())[1]);
  const before = await belief();
  await tell(id, "Valentin likes archery.");
  await until(async () => (await belief()) > before, "the belief to rise");
  assert.ok((await box.evaluate((node) => node.scrollTop)) > 100 * 58, "the list stays where it is");

  await order(tab).selectOption("Most certain");
  await until(async () => (await rows(tab).first().innerText()).includes("Valentin"), "the fact that was stated twice to come first");
  assert.equal(await box.evaluate((node) => node.scrollTop), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("facts are filtered by type, source and last change", async () => {
  const id = await newSession("Addresses");
  await tell(id, "Gustav lives in Ghent.", "Gustav likes tea.");
  await addDocument("gustav.txt", "Gustav works at Oakwood.");
  await until(async () => (await factsOf("Gustav")).length === 3, "the facts");
  const times = (await factsOf("Gustav")).map(({ updatedAt }) => updatedAt).sort();
  const tab = await openMemory("?text=Gustav");
  const { page } = tab;
  const shows = (...things) => until(async () => (await rows(tab).count()) === things.length && (await Promise.all(things.map((thing) => row(tab, thing).count()))).every((count) => count === 1), things.join() || "nothing");
  await shows("Ghent", "tea", "Oakwood");
  await page.getByLabel("Type").selectOption("PLACE");
  await shows("Ghent");
  await page.getByLabel("Type").selectOption("ORGANIZATION");
  await shows("Oakwood");
  await page.getByLabel("Source").selectOption("Conversations");
  await waitForElement(page.getByText("Nothing matches."), "the empty list");
  await page.getByLabel("Type").selectOption("");
  await shows("Ghent", "tea");
  await page.getByLabel("Source").selectOption("Documents");
  await shows("Oakwood");
  await page.reload();
  await shows("Oakwood");
  assert.equal(await page.getByLabel("Source").inputValue(), "DOCUMENTS");
  await page.getByLabel("Source").selectOption("");

  await page.getByLabel("Changed since", { exact: true }).fill(dayOf(times[0]));
  await until(async () => (await hash(tab)).includes(`since=${dayOf(times[0])}`), "the day in the URL");
  await shows("Ghent", "tea", "Oakwood");
  // No day is in this period.
  await page.getByLabel("Changed before").fill(dayOf(times[0]));
  await waitForElement(page.getByText(/^Choose a day after .*, the beginning of the period\.$/), "the sentence");
  assert.equal(await page.getByLabel("Changed before").getAttribute("aria-invalid"), "true");
  assert.doesNotMatch(await hash(tab), /before/);
  await shows("Ghent", "tea", "Oakwood");
  await page.getByLabel("Changed since", { exact: true }).fill("");
  await waitForElement(page.getByText("Nothing matches."), "no fact that changed before");
  await page.getByRole("link", { name: "Clear", exact: true }).click();
  await waitForElement(rows(tab), "the whole list");
  assert.doesNotMatch(await hash(tab), /since|before/);
  await tab.context.close();

  const later = await browser.visit(`${server.url}/#/memory?text=Gustav&since=${dayOf(times.at(-1), 1)}`, DESKTOP);
  await waitForElement(later.page.getByText("Nothing matches."), "no fact that changed later");
  await later.page.goto(`${server.url}/#/memory?text=Gustav&before=${dayOf(times.at(-1), 1)}`);
  await until(async () => (await rows(later).count()) === 3, "the facts that changed before");
  assert.deepEqual([...tab.problems, ...later.problems], []);
  await later.context.close();
});

test("the keyboard alone chooses an order and a day", async () => {
  await tellOfQuirin("Ottilie");
  const tab = await openMemory("?text=Ottilie");
  const { page } = tab;
  const { keyboard } = page;
  const tabTo = async (label) => {
    for (let presses = 0; presses < 50; presses += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.labels?.[0]?.textContent?.startsWith(wanted), label)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${label}`);
  };
  await page.getByRole("searchbox").focus();
  await tabTo("Changed since");
  // The same in every order of day and month.
  await keyboard.type("03032024");
  await until(async () => (await hash(tab)).includes("since=2024-03-03"), "the day in the URL");
  await tabTo("sorted by");
  await keyboard.press("ArrowDown");
  await waitForSequence(tab, LIKES, "chess, tea, opera");
  assert.ok(await order(tab).evaluate((node) => node === document.activeElement), "the order keeps the focus");
  await keyboard.press("ArrowDown");
  await waitForSequence(tab, LIKES, "tea, opera, chess");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a merge is shown before it happens, with what it deletes", async () => {
  await tell(await newSession("Sisters"), "Anna knows Anne.", "Anne likes tea.", "Anna likes tea.", "Anne lives in Ghent.");
  const tab = await openMemory("/things?text=Ann");
  const { page } = tab;
  await openThing(tab, "Anna");
  await page.getByRole("button", { name: "Merge…" }).click();
  assert.ok(await inDialog(tab, "Merge").isDisabled(), "nothing is merged without a preview");
  await page.getByRole("combobox", { name: "The other one" }).fill("Anne");
  await page.getByRole("option", { name: /Anne/ }).click();
  const preview = page.getByRole("list", { name: "What changes" });
  await waitForElement(preview.getByText("3 mentions and 1 fact move, 1 fact becomes one with a fact that is there, 1 fact is deleted because it would relate Anna to Anna."), "the preview");
  await page.getByRole("radio", { name: /^Anne/ }).check();
  await waitForElement(preview.getByText("2 mentions move, 1 fact becomes one with a fact that is there, 1 fact is deleted because it would relate Anne to Anne."), "the preview of the other way");
  assert.equal((await factsOf("Ann")).length, 4, "the preview changes nothing");
  await page.getByRole("radio", { name: /^Anna/ }).check();
  await inDialog(tab, "Merge").click();
  await until(async () => (await factsOf("Ann")).length === 2, "what the preview said");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a thing gets another type, which other tabs show and messages keep", async () => {
  const id = await newSession("Ships");
  await tell(id, "Halcyon likes tea.");
  const tab = await openMemory("/things?text=Halcyon");
  const { page } = tab;
  const other = await openMemory("/things?text=Halcyon", DESKTOP, tab);
  const facts = await browser.visit(`${server.url}/#/memory?text=Halcyon&type=PROJECT`, { visitor: tab });
  await waitForElement(facts.page.getByText("Nothing matches."), "no fact of a project");
  await openThing(tab, "Halcyon");
  await page.getByRole("button", { name: "Change type…" }).click();
  await waitForElement(page.getByRole("dialog").getByText("Your choice is kept: no later message changes the type."), "the sentence");
  assert.ok(await inDialog(tab, "Change").isDisabled());
  await page.getByRole("dialog").getByLabel("Type").selectOption("project");
  await inDialog(tab, "Change").click();
  await waitForElement(page.locator(".pane h2 .type", { hasText: "project" }), "the type in the details");
  await waitForElement(row(other, "Halcyon").locator(".type", { hasText: "project" }), "the type in the other tab");
  await waitForElement(row(facts, "Halcyon", "tea"), "the fact of a project");
  await tell(id, "Halcyon likes chess.");
  await waitForElement(row(other, "Halcyon").filter({ hasText: "2 mentions" }), "the mention");
  assert.match(await row(other, "Halcyon").innerText(), /project/);
  await page.locator(".undo-bar").getByRole("button", { name: "Change back" }).click();
  await waitForElement(row(other, "Halcyon").locator(".type", { hasText: "person" }), "the type before");
  assert.deepEqual([...tab.problems, ...other.problems, ...facts.problems], []);
  await tab.context.close();
});

test("the user's own entity stays a person", async () => {
  await tell(await newSession("Me"), "I like gardening.");
  const { viewer } = await server.graphql("{ viewer { entity { id } } }");
  const tab = await browser.visit(`${server.url}/#/memory/things/${viewer.entity.id}`, DESKTOP);
  await waitForElement(tab.page.getByRole("button", { name: "Rename…" }), "the actions");
  assert.equal(await tab.page.getByRole("button", { name: "Change type…" }).count(), 0);
  await tab.context.close();
});

for (const [size, options] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in orders, filters and dialogs on a ${size}, ${colorScheme}`, async () => {
      await tell(await newSession("Neighbours"), "Rosalind lives in Ghent.", "Mortimer lives in Lyon.", "Mortimer likes tea.");
      const tab = await openMemory("?text=Rosalind&type=PERSON&source=MESSAGES&since=2024-01-01&order=LATEST_LEARNED", { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => {
        violations.push(...(await findViolations(tab, view)));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${view}: nothing is wider than the screen`);
      };
      assert.ok(await order(tab).isVisible(), "the order is visible without the filters");
      if (size === "phone") await page.getByRole("button", { name: "Filters (3)" }).click();
      await check("the filters");
      await page.goto(`${server.url}/#/memory/things?text=Rosalind`);
      await openThing(tab, "Rosalind");
      await page.getByRole("button", { name: "Change type…" }).click();
      await check("a change of the type");
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Merge…" }).click();
      await page.getByRole("combobox", { name: "The other one" }).fill("Mortimer");
      await page.getByRole("option", { name: /Mortimer/ }).click();
      await waitForElement(page.getByText(/mentions? and \d facts? move/), "the preview");
      await check("a merge");
      assert.deepEqual(violations, []);
      await tab.context.close();
    });
  }
}
