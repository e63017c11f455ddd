// What another device changes: the settings of the viewer, and copies of sessions that this browser keeps for reading without the server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fact, kept, newSession, say, sessionIn, waitForElement, waitForPhase } from "./demo-page.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const pauseSwitch = ({ page }) => page.getByRole("switch", { name: "Pause remembering in all sessions" });
const isPaused = async (tab) => (await pauseSwitch(tab).isChecked()) && (await tab.page.getByText("Remembering is paused.").count()) > 0;
/** What the browser does when the page comes to the front. A page of a test is always in front. */
const comeToFront = ({ page }) => page.evaluate(() => { document.dispatchEvent(new Event("visibilitychange")); });
const forget = (text, on = server) => on.graphql("mutation ($t: String!) { forget(input: { query: $t, dryRun: false }) { factCount errors { message } } }", { t: `everything about ${text}` });
const deleteSession = (id) => server.graphql("mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { message } } }", { id });

/** Opens a page whose stream of the memory the test can cut. Call `cut(true)` to close it and to refuse new ones. */
async function visitWithCut(url) {
  // The browser logs the refused connections, and that there is no icon for the first address.
  const tab = await browser.visit(`${server.url}/healthz`, { outage: true });
  const { page } = tab;
  const open = new Set();
  let isCut = false;
  await page.routeWebSocket(/\/graphql\/ws/, (socket) => {
    if (isCut) return void socket.close();
    socket.connectToServer();
    open.add(socket);
  });
  await page.route(/\/events\?/, (route) => (isCut ? route.abort() : route.fallback()));
  await page.goto(url);
  tab.cut = async (wanted) => {
    isCut = wanted;
    if (!isCut) return;
    for (const socket of open) await socket.close();
    open.clear();
  };
  return tab;
}

const copies = async ({ page }) => (await kept(page)).filter(({ snapshot }) => snapshot);
const copyHas = async (tab, text) => JSON.stringify(await copies(tab)).includes(text);

/** Says something in a new session, and waits until the browser keeps a copy. Returns the session. */
async function keepSentence(tab, text, ...words) {
  await newSession(tab);
  await say(tab, text);
  await waitForElement(fact(tab, ...words), "the fact");
  await until(() => copyHas(tab, text), `"${text}" to be kept`);
  return sessionIn(tab);
}

async function openDevice(url = `${server.url}/`) {
  const tab = await browser.visit(url);
  await waitForPhase(tab, "live");
  return tab;
}

test("a pause of all sessions on another device shows at once", async () => {
  const here = await browser.visit(`${server.url}/#/settings/remembering`);
  const there = await browser.visit(`${server.url}/#/settings/remembering`);
  for (const tab of [here, there]) await waitForElement(pauseSwitch(tab), "the switch");
  await pauseSwitch(there).check();
  await waitForElement(there.page.getByText("Remembering is paused."), "the pause on the other device");
  await until(() => isPaused(here), "the pause");
  await pauseSwitch(here).uncheck();
  await waitForElement(here.page.getByText("Recall remembers what you write."), "the end of the pause");
  await until(async () => !(await isPaused(there)), "the end of the pause on the other device");
  assert.deepEqual([...here.problems, ...there.problems], []);
  for (const { context } of [here, there]) await context.close();
});

test("a pause of all sessions on another device shows when the stream reconnects", async () => {
  const here = await visitWithCut(`${server.url}/#/settings/remembering`);
  const there = await browser.visit(`${server.url}/#/settings/remembering`);
  for (const tab of [here, there]) await waitForElement(pauseSwitch(tab), "the switch");
  await here.cut(true);
  await pauseSwitch(there).check();
  await waitForElement(there.page.getByText("Remembering is paused."), "the pause on the other device");
  assert.equal(await isPaused(here), false);
  await here.cut(false);
  await until(() => isPaused(here), "the pause");
  await pauseSwitch(there).uncheck();
  await waitForElement(there.page.getByText("Recall remembers what you write."), "the end of the pause");
  assert.deepEqual([...here.problems, ...there.problems], []);
  for (const { context } of [here, there]) await context.close();
});

test("the settings read their values again when the page comes to the front, and when the server returns", async (t) => {
  const own = await Server.start({ RECALL_FORGET_UNDO_MINUTES: "5" });
  t.after(() => own.stop());
  const tab = await openDevice(`${own.url}/`);
  const { page } = tab;
  const reads = () => tab.requests.filter((request) => request === "POST /graphql").length;
  await page.goto(`${own.url}/#/settings/retention`);
  await waitForElement(page.getByText("You can undo this for 5 minutes."), "the time");
  const before = reads();
  await comeToFront(tab);
  await until(() => reads() >= before + 2, "the page to read the value and the list of sessions");
  tab.outage = true;
  await own.kill();
  own.settings = { RECALL_FORGET_UNDO_MINUTES: "7" };
  await own.run();
  await waitForElement(page.getByText("You can undo this for 7 minutes."), "the new time");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("forgetting and deleting on another device deletes the copies here, without opening the sessions", async () => {
  const here = await openDevice();
  await keepSentence(here, "Wilhelmina likes Oslo.", "Oslo");
  const second = await keepSentence(here, "Ludmila likes Rome.", "Rome");
  await keepSentence(here, "Karla likes Turin.", "Turin");
  const there = await openDevice();
  // With an archived session, the list is not complete, so it does not tell which copies are of deleted sessions.
  const { id: archived } = await server.newSession();
  await server.graphql("mutation ($i: UpdateSessionInput!) { updateSession(input: $i) { errors { code } } }", { i: { sessionId: archived, archived: true } });
  const { page } = there;
  await page.goto(`${server.url}/#/memory`);
  await page.getByRole("button", { name: "Forget…" }).first().click();
  await page.getByRole("dialog").getByRole("textbox").fill("everything about Oslo");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Forget", exact: true }).click();
  await until(async () => !(await copyHas(here, "Oslo")), "the copy with what was forgotten to disappear");
  assert.ok(await copyHas(here, "Rome"));
  await deleteSession(second);
  await until(async () => !(await copyHas(here, "Rome")), "the copy of the deleted session to disappear");
  assert.ok(await copyHas(here, "Turin"), "other copies stay");
  // The open session is followed, so its copy loses only what was forgotten.
  await say(here, "Karla likes tea.");
  await until(() => copyHas(here, "Karla likes tea."), "the second sentence");
  await forget("Turin");
  await until(async () => !(await copyHas(here, "Turin")), "the sentence to disappear from the copy");
  await until(() => copyHas(here, "Karla likes tea."), "the other sentence to be kept");
  await until(async () => !/Oslo|Rome|Turin/.test(JSON.stringify(await kept(here.page))), "the list of sessions to be kept as it is");
  assert.deepEqual([...here.problems, ...there.problems], []);
  for (const { context } of [here, there]) await context.close();
});

test("a session that is deleted on another device is left, and the others stay", async () => {
  const here = await openDevice();
  await keepSentence(here, "Ottokar likes Genoa.", "Genoa");
  const id = await keepSentence(here, "Ottokar likes Parma.", "Parma");
  await deleteSession(id);
  await waitForElement(here.page.getByRole("heading", { name: "There is no such session" }), "the words about it");
  assert.equal(await here.page.getByRole("alert").count(), 0);
  await here.page.getByRole("link", { name: "Open the newest session" }).click();
  await waitForElement(fact(here, "Ottokar", "Genoa"), "the other session");
  await waitForPhase(here, "live");
  assert.deepEqual(here.problems, []);
  await here.context.close();
});

for (const [place, words] of [["", null], ["#/memory", "Xanthippe likes Pisa"], ["#/graph", "Graph"]]) {
  test(`after everything is deleted on another device, ${place || "the chat"} starts again with an empty session`, async (t) => {
    const own = await Server.start();
    t.after(() => own.stop());
    const here = await openDevice(`${own.url}/`);
    const { page } = here;
    await say(here, "Wenzel likes Pavia.");
    await waitForElement(fact(here, "Pavia"), "the first fact");
    await page.getByRole("textbox", { name: "Message" }).fill("A draft of the first session");
    await newSession(here);
    await say(here, "Xanthippe likes Pisa.");
    await waitForElement(fact(here, "Pisa"), "the second fact");
    await page.evaluate(() => sessionStorage.setItem("recall.forgotten", JSON.stringify([{ token: "t", text: "Forgotten: 1 fact.", until: null }])));
    if (place) {
      await page.goto(`${own.url}/${place}`);
      await waitForElement(page.getByText(words).first(), "the place");
      await waitForPhase(here, "live");
    }
    const there = await openDevice(`${own.url}/#/memory/data`);
    await there.page.getByRole("button", { name: "Delete everything…" }).click();
    await there.page.getByRole("textbox", { name: "Type DELETE to confirm" }).fill("DELETE");
    await there.page.keyboard.press("Enter");
    await waitForElement(page.locator(".welcome"), "the empty session");
    await waitForPhase(here, "live");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await page.getByText(/Pavia|Pisa|Forgotten/).count(), 0);
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "");
    assert.doesNotMatch(JSON.stringify(await kept(page)) + await page.evaluate(() => JSON.stringify(sessionStorage)), /Pavia|Pisa|Forgotten|draft of/);
    await say(here, "Yvo likes Turin.");
    await waitForElement(fact(here, "Turin"), "a new fact");
    await page.goto(`${own.url}/#/memory`);
    await waitForElement(page.locator(".memory-page .row", { hasText: "Turin" }), "the only fact");
    assert.equal(await page.locator(".memory-page .row").count(), 1);
    assert.deepEqual([...here.problems, ...there.problems], []);
    for (const { context } of [here, there]) await context.close();
  });
}

test("a page learns what was forgotten while it was closed, and keeps its copies otherwise", async () => {
  const here = await openDevice();
  await keepSentence(here, "Bertha likes Graz.", "Graz");
  const open = await keepSentence(here, "Bertha likes Linz.", "Linz");
  await here.page.close();
  await server.say((await server.newSession()).id, "Bertha likes Wels.");
  const again = await browser.visit(`${server.url}/#/s/${open}`, { visitor: here });
  await waitForPhase(again, "live");
  await waitForElement(again.page.locator("nav li", { hasText: "Wels" }), "the new session");
  assert.ok(await copyHas(again, "Graz"), "nothing was forgotten");
  await again.page.close();
  await forget("Graz");
  const last = await browser.visit(`${server.url}/#/s/${open}`, { visitor: here });
  await waitForPhase(last, "live");
  await until(async () => !(await copyHas(last, "Graz")), "the copy with what was forgotten to disappear");
  await until(() => copyHas(last, "Linz"), "the open session to be kept");
  assert.deepEqual([...again.problems, ...last.problems], []);
  await here.context.close();
});

test("after a gap, copies of the own memory are deleted and those of shared memory stay", async () => {
  const { createSession } = await server.graphql("mutation { createSession(input: { shared: true }) { session { id } } }");
  await server.say(createSession.session.id, "Tilda likes Namur.");
  const here = await visitWithCut(`${server.url}/#/s/${createSession.session.id}`);
  await waitForPhase(here, "live");
  await until(() => copyHas(here, "Namur"), "the shared session to be kept");
  const first = await keepSentence(here, "Gustav likes Metz.", "Metz");
  await keepSentence(here, "Gustav likes Reims.", "Reims");
  await keepSentence(here, "Gustav likes Nancy.", "Nancy");
  await here.cut(true);
  // A forgetting ends the replay of what was before it, so the page misses these events.
  await server.say(first, "Gustav likes tea.");
  await server.settledHead(first);
  await forget("Metz");
  assert.ok(await copyHas(here, "Metz"), "the page does not know yet");
  await here.cut(false);
  await until(async () => !(await copyHas(here, "Metz")), "the copy with what was forgotten to disappear");
  assert.ok(!(await copyHas(here, "Reims")), "another copy that may contain what was forgotten is gone, too");
  await until(() => copyHas(here, "Nancy"), "the open session to be kept");
  assert.ok(await copyHas(here, "Namur"), "the copy of shared memory stays");
  assert.deepEqual(here.problems, []);
  await here.context.close();
});

test("what is deleted here leaves no kept answers that quote it, although no event tells of it yet", async () => {
  const own = await Server.start();
  try {
    for (const [name, text] of [["north.md", "The camp is at 4200 metres."], ["south.md", "The camp is at 5100 metres."]]) {
      const form = new FormData();
      form.append("file", new Blob([`# Camp\n\n${text} Tents are green and stand in two rows next to the river.`]), name);
      await fetch(`${own.url}/documents`, { method: "POST", body: form, headers: { connection: "close" } });
    }
    const documents = async () => (await own.graphql("{ documents(first: 9, filter: { status: COMPLETED }) { nodes { id filename } } }")).documents.nodes;
    await until(async () => (await documents()).length === 2, "the documents");
    const input = { documentIds: (await documents()).map(({ id }) => id) };
    const { compareDocuments } = await own.graphql("mutation ($input: CompareDocumentsInput!) { compareDocuments(input: $input) { comparison { id } } }", { input });
    const { id } = compareDocuments.comparison;
    await until(async () => (await own.graphql("query ($id: ID!) { comparison(id: $id) { status } }", { id })).comparison.status === "COMPLETED", "the comparison");
    const tab = await visitWithCut(`${own.url}/#/c/${id}`);
    const { page } = tab;
    const keeps = async (query) => (await kept(page)).some(({ key, result }) => key?.includes(`query ${query}`) && JSON.stringify(result).includes("4200 metres"));
    await until(() => keeps("GetComparison"), "the report to be kept");
    const north = (await documents()).find(({ filename }) => filename === "north.md").id;
    await page.evaluate((hash) => { location.hash = hash; }, `#/d/${north}`);
    await until(() => keeps("GetDocument"), "the document to be kept");
    await page.getByRole("link", { name: "All documents" }).click();
    await tab.cut(true);
    await page.getByRole("button", { name: /^Delete Comparison of/ }).click();
    await page.getByRole("button", { name: "Delete?" }).click();
    await until(async () => !(await keeps("GetComparison")), "the quotes of the comparison to go");

    await page.getByRole("link", { name: "north.md" }).click();
    await until(() => keeps("GetDocument"), "the document to be kept again");
    await page.getByRole("link", { name: "All documents" }).click();
    await page.getByRole("button", { name: "Delete north.md" }).click();
    await page.getByRole("button", { name: "Delete?" }).click();
    await until(async () => !(await keeps("GetDocument")), "the text of the document to go");
    await tab.context.close();
  } finally {
    await own.stop();
  }
});
