// Reading without the server besides the chat: evidence, entities, documents and the graph. What was seen once stays readable; the rest says so, and comes by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { fact, kept, newSession, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { Server, setOffline, until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const NOT_KEPT = "Not available offline: this was not opened on this device before. It loads when the line is back.";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

async function openChat(texts) {
  const tab = await browser.visit(`${server.url}/`);
  await waitForPhase(tab, "live");
  tab.outage = true;
  await newSession(tab);
  for (const [text, ...words] of texts) {
    await say(tab, text);
    await waitForElement(fact(tab, ...words), `the fact of "${text}"`);
  }
  await tab.page.evaluate(() => navigator.serviceWorker.ready);
  await untilKept(tab, texts.at(-1)[0]);
  return tab;
}
const untilKept = ({ page }, text) => until(async () => JSON.stringify(await kept(page)).includes(text), `"${text}" to be kept`);
const openEvidence = (tab, ...words) => fact(tab, ...words).locator(".fact-line").first().click();
const evidence = ({ page }, text) => page.locator(".evidence q", { hasText: text });
const upload = async (on, name, text) => {
  const form = new FormData();
  form.append("file", new Blob([text]), name);
  await fetch(`${on.url}/documents`, { method: "POST", body: form, headers: { connection: "close" } });
};

test("evidence that was opened stays readable, and other evidence comes when the line is back", async () => {
  const tab = await openChat([["Nadia likes chess.", "Nadia", "chess"], ["Nadia lives in Ghent.", "Nadia", "Ghent"]]);
  const { page } = tab;
  await openEvidence(tab, "Nadia", "chess");
  await waitForElement(evidence(tab, "Nadia likes chess"), "the evidence");
  await until(async () => (await kept(page)).some(({ key, result }) => key && JSON.stringify(result).includes("Nadia likes chess")), "the evidence to be kept");
  await setOffline(tab, true);
  await page.reload();
  await waitForElement(page.locator(".news.lost"), "the notice");
  await openEvidence(tab, "Nadia", "chess");
  await waitForElement(evidence(tab, "Nadia likes chess"), "the kept evidence");
  await openEvidence(tab, "Nadia", "chess");
  await openEvidence(tab, "Nadia", "Ghent");
  await waitForElement(page.getByText(NOT_KEPT), "the notice about other evidence");
  assert.deepEqual(await findViolations(tab, "evidence without the server"), []);
  await setOffline(tab, false);
  await waitForElement(evidence(tab, "Nadia lives in Ghent"), "the evidence, without an action");
  assert.equal(await page.getByText(NOT_KEPT).count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an entity that was opened stays readable, and another one comes when the line is back", async () => {
  const tab = await openChat([["Olga likes skiing.", "Olga", "skiing"], ["Olga lives in Kyiv.", "Olga", "Kyiv"]]);
  const { page } = tab;
  const { entities } = await server.graphql('{ entities(first: 100) { nodes { id name } } }');
  const idOf = (name) => entities.nodes.find((entity) => entity.name === name).id;
  const show = (name) => page.evaluate((id) => { location.hash = `#/e/${id}`; }, idOf(name));
  await show("Olga");
  await waitForElement(page.getByRole("heading", { name: "Olga", level: 1 }), "the entity");
  await until(async () => (await kept(page)).some(({ key }) => key?.includes("EntityPage")), "the entity to be kept");
  await setOffline(tab, true);
  await page.reload();
  await waitForElement(page.getByRole("heading", { name: "Olga", level: 1 }), "the kept entity");
  await show("Kyiv");
  await waitForElement(page.locator(".page").getByText(NOT_KEPT), "the notice about another entity");
  await setOffline(tab, false);
  await waitForElement(page.getByRole("heading", { name: "Kyiv", level: 1 }), "the entity, without an action");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an entity keeps its page while it cannot be read again", async () => {
  const tab = await openChat([["Rosa likes chess.", "Rosa", "chess"]]);
  const { page } = tab;
  await page.locator(".message .mention", { hasText: "Rosa" }).first().click();
  const heading = page.getByRole("heading", { name: "Rosa", level: 1, exact: true });
  await waitForElement(heading, "the entity");
  await page.route("**/graphql", (route) => (route.request().postData()?.includes("EntityPage") ? route.fulfill({ json: { errors: [{ message: "Too much at once.", extensions: { code: "RATE_LIMITED" } }] } }) : route.fallback()));
  const session = await page.evaluate(() => document.querySelector(".back").getAttribute("href").split("/").at(-1));
  await server.say(session, "Rosa lives in Ghent.");
  await waitForElement(page.locator(".page .trouble"), "the notice that it is older");
  assert.equal(await heading.count(), 1, "what was read stays");
  await tab.context.close();
});

for (const [size, options] of Object.entries({ desktop: {}, phone: PHONE })) {
  test(`documents that were opened stay readable, and others come when the line is back, on a ${size}`, async () => {
    const own = await Server.start();
    try {
      await upload(own, "garden.md", "# Garden\n\nThe roses are watered in the morning.");
      await upload(own, "kitchen.md", "# Kitchen\n\nThe bread is baked on Mondays.");
      await until(async () => (await own.graphql('{ documents(first: 9, filter: { status: COMPLETED }) { totalCount } }')).documents.totalCount === 2, "the documents");
      const tab = await browser.visit(`${own.url}/#/d`, { outage: true, ...options });
      const { page } = tab;
      await page.getByRole("link", { name: "garden.md" }).click();
      await waitForElement(page.getByText("The roses are watered"), "the text");
      await page.evaluate(() => navigator.serviceWorker.ready);
      await untilKept(tab, "The roses are watered");
      await setOffline(tab, true);
      await page.reload();
      await waitForElement(page.getByText("The roses are watered"), "the kept text");
      await waitForElement(page.locator(".news.lost", { hasText: "You see what was opened on this device before" }), "the notice");
      await page.getByRole("link", { name: "All documents" }).click();
      await waitForElement(page.locator(".doc", { hasText: "kitchen.md" }), "the kept list");
      assert.equal(await page.locator(".documents .trouble").count(), 0, "no failure");
      assert.deepEqual(await findViolations(tab, "documents without the server"), []);
      await page.getByRole("link", { name: "kitchen.md" }).click();
      await waitForElement(page.getByText(NOT_KEPT), "the notice about another document");
      assert.deepEqual(await findViolations(tab, "a document that is not kept"), []);
      await setOffline(tab, false);
      await waitForElement(page.getByText("The bread is baked"), "the text, without an action");
      assert.equal(await page.getByText(NOT_KEPT).count(), 0);
      await until(async () => (await page.locator(".news.lost").count()) === 0, "the notice to go");
      assert.deepEqual(tab.problems, []);
      await tab.context.close();
    } finally {
      await own.stop();
    }
  });
}

test("a graph that was opened stays readable, and other neighbours come when the line is back", async () => {
  const own = await Server.start();
  try {
    const { id } = await own.newSession();
    for (const text of ["I know Sarah.", "I like climbing.", "Sarah lives in Lyon."]) await own.say(id, text);
    await own.settledHead(id);
    const tab = await browser.visit(`${own.url}/#/graph`, { outage: true });
    const { page } = tab;
    const summary = page.locator(".graph-page .total");
    await until(async () => /around you/.test(await summary.innerText()), "the graph");
    await page.getByRole("button", { name: "List", exact: true }).click();
    const row = (name) => page.locator(".graph-page .listing .row", { hasText: name });
    await row("climbing").locator("[data-row]").click();
    await waitForElement(row("climbing").locator("[aria-pressed=true]"), "the selection");
    await page.evaluate(() => navigator.serviceWorker.ready);
    await until(async () => (await kept(page)).filter(({ key }) => key?.includes("GraphFactPage")).length > 2, "the answers to be kept");
    await setOffline(tab, true);
    await page.reload();
    await until(async () => /^Offline, as known at .*around you/s.test(await summary.innerText()), "the kept graph");
    await page.getByRole("button", { name: "List", exact: true }).click();
    await waitForElement(row("Sarah"), "a neighbour");
    assert.deepEqual(await findViolations(tab, "the graph without the server"), []);
    await page.getByRole("button", { name: "Expand Sarah" }).click();
    await row("Sarah").locator("[data-row]").click();
    await page.getByRole("button", { name: "List", exact: true }).click();
    const pane = page.getByRole("region", { name: "Details" });
    await waitForElement(pane.getByText(NOT_KEPT), "the notice about other facts");
    assert.deepEqual(await findViolations(tab, "facts that are not kept"), []);
    await setOffline(tab, false);
    await waitForElement(pane.getByText("Lyon"), "the facts, without an action");
    assert.equal(await page.getByText(NOT_KEPT).count(), 0);
    await until(async () => !/Offline/.test(await summary.innerText()), "the present");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
  }
});

test("a forgetting elsewhere deletes the kept answers", async () => {
  const tab = await openChat([["Wilma likes Oslo.", "Wilma", "Oslo"]]);
  const { page } = tab;
  await openEvidence(tab, "Wilma", "Oslo");
  const answers = async () => (await kept(page)).filter(({ key }) => key);
  await until(async () => JSON.stringify(await answers()).includes("Wilma likes Oslo"), "the evidence to be kept");
  await page.evaluate(() => { location.hash = "#/settings"; });
  await server.graphql('mutation { forget(input: { query: "everything about Oslo", dryRun: false }) { factCount errors { message } } }');
  await until(async () => !JSON.stringify(await answers()).includes("Oslo"), "the answers with what was forgotten to go");
  await tab.context.close();
});

for (const [size, options] of Object.entries({ desktop: {}, phone: PHONE })) {
  test(`the Memory page shows what it showed before, changes nothing, and is fresh when the line is back, on a ${size}`, async () => {
    const own = await Server.start();
    try {
      const session = await own.newSession();
      for (const text of ["Nils likes chess.", "Nils lives in Bergen."]) await own.say(session.id, text);
      await own.settledHead(session.id);
      const tab = await browser.visit(`${own.url}/#/memory`, { outage: true, ...options });
      const { page } = tab;
      const row = (...words) => words.reduce((found, text) => found.filter({ hasText: text }), page.locator(".memory-page .row"));
      const go = (place) => page.evaluate((hash) => { location.hash = hash; }, `#/memory${place}`);
      const open = async (...words) => {
        await row(...words).first().locator("[data-row]").click();
        await until(() => page.evaluate(() => /\/(facts|things)\/./.test(location.hash)), "the details to open");
      };
      const pane = page.locator(".pane");
      // What is shown now can be read later.
      await waitForElement(row("Nils", "Bergen"), "the facts");
      await open("Nils", "chess");
      await waitForElement(pane.locator(".history q", { hasText: "Nils likes chess" }), "the story of a fact");
      await go("/things");
      await waitForElement(row("Nils", "person"), "the things");
      await open("Nils", "person");
      await waitForElement(pane.locator(".short-facts li"), "the facts of a person");
      await go("/sessions");
      await waitForElement(row("2 facts"), "the sessions");
      await page.evaluate(() => navigator.serviceWorker.ready);
      await until(async () => (await kept(page)).some(({ key }) => key?.includes("SessionPage")), "the sessions to be kept");

      await setOffline(tab, true);
      await go("");
      await page.reload();
      await waitForElement(page.locator(".memory-page .news.lost", { hasText: "You see what was opened on this device before" }), "the notice");
      await waitForElement(row("Nils", "Bergen"), "the kept facts");
      for (const name of ["Add a fact", "Forget…"]) assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
      assert.ok(await page.getByRole("checkbox").first().isDisabled(), "nothing can be selected");
      assert.deepEqual(await findViolations(tab, "the kept facts"), []);
      await open("Nils", "chess");
      await waitForElement(pane.locator(".history q", { hasText: "Nils likes chess" }), "the kept story");
      assert.equal(await pane.getByRole("button", { name: "Confirm", exact: true }).count(), 0);
      await waitForElement(pane.getByText("It can be changed when the line is back."), "why there are no actions");
      await go("/things");
      await waitForElement(row("Nils", "person"), "the kept things");
      await open("Nils", "person");
      await waitForElement(pane.locator(".short-facts li"), "the kept facts of a person");
      await go("/sessions");
      await waitForElement(row("2 facts"), "the kept sessions");
      await go("/data");
      await waitForElement(page.getByText("Export, import and deletion need the server."), "why nothing can be exported");
      await go("?text=Bergen");
      await waitForElement(page.locator(".memory-page .none", { hasText: NOT_KEPT }), "the notice about another list");
      await go("");
      await open("Nils", "Bergen");
      await waitForElement(pane.getByText(NOT_KEPT), "the notice about another fact");
      assert.deepEqual(await findViolations(tab, "a fact that is not kept"), []);

      await own.say(session.id, "Nils likes rowing.");
      await own.settledHead(session.id);
      await setOffline(tab, false);
      await waitForElement(pane.locator(".history q", { hasText: "Nils lives in Bergen" }), "the story, without an action");
      await until(async () => (await page.locator(".news.lost").count()) === 0, "the notice to go");
      await waitForElement(row("Nils", "rowing"), "what was learned meanwhile");
      await waitForElement(pane.getByRole("button", { name: "Confirm", exact: true }), "the actions");
      assert.deepEqual(tab.problems, []);
      await tab.context.close();
    } finally {
      await own.stop();
    }
  });
}

test("what a place reads before the page knows its user is kept", async () => {
  const tab = await browser.visit(`${server.url}/healthz`);
  const { page } = tab;
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("query Start")) await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.fallback();
  });
  await page.goto(`${server.url}/#/memory`);
  await until(async () => (await kept(page)).some(({ key }) => key?.includes("query Ontology")), "the relations to be kept");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a dialog of the Memory page opens from the store of the browser", async () => {
  const tab = await openChat([["Selma likes chess.", "Selma", "chess"]]);
  const { page } = tab;
  await page.evaluate(() => { location.hash = "#/memory"; });
  await waitForElement(page.locator(".memory-page .row", { hasText: "Selma" }), "the list");
  // The pages themselves cannot be loaded any more; the line of the API stays.
  await page.route("**/assets/**", (route) => route.abort());
  await page.getByRole("button", { name: "Add a fact", exact: true }).click();
  await waitForElement(page.getByRole("dialog", { name: "Add a fact" }), "the dialog from the store of the browser");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
