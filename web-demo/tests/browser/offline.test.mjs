// The demo page without its server, in a real Chromium: the page opens, shows what was known, and sends later what was written.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findViolations } from "./axe.mjs";
import { fact, kept, newSession, say, sessionIn, waitForElement, waitForPhase } from "./demo-page.mjs";
import { Server, setOffline, until, withServerAndBrowser } from "./harness.mjs";

let server;
/** A server that requires a login, with visits. */
let guarded;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });
before(async () => {
  guarded = await Server.start((url) => ({ RECALL_TOKEN: "offline-token-0123456789-0123456789-0123456789", RECALL_PUBLIC_URL: url, RECALL_ANONYMOUS: "true" }));
});
after(() => guarded?.stop());

const banner = ({ page }) => page.locator(".news", { hasText: "Offline. You see what was known at" }).locator("visible=true");
/** Waits for the banner and the conversation below it. */
async function waitForCopy(tab) {
  await waitForElement(banner(tab), "the banner");
  await waitForElement(tab.page.locator(".message"), "the conversation");
}
const waiting = ({ page }) => page.locator('.message[data-stage="unsent"]');
const texts = ({ page }) => page.locator(".message.own .text").allInnerTexts();

/** The page can open without its server: its files and the open session are stored. */
async function waitUntilStored(tab, text) {
  await tab.page.evaluate(() => navigator.serviceWorker.ready);
  await waitUntilKept(tab, text);
}

async function waitUntilKept({ page }, text) {
  const isWhole = ({ snapshot }) => snapshot?.facts.length > 0 && JSON.stringify(snapshot).includes(text);
  await until(async () => (await kept(page)).some(isWhole), `"${text}" and its fact to be kept`);
}

const waitingTexts = (page) => page.evaluate(() => JSON.stringify(Object.entries(localStorage).filter(([key]) => key.startsWith("recall.outbox"))));

/** What the server stored of a session, oldest first. */
async function stored(id) {
  const { session } = await server.graphql('query ($id: ID!) { session(id: $id) { messages(first: 100) { nodes { role text } } } }', { id });
  return session.messages.nodes.filter(({ role }) => role === "USER").map(({ text }) => text);
}

async function openSession(on = server) {
  const tab = await browser.visit(`${on.url}/`);
  if (on === guarded) await tab.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForPhase(tab, "live");
  tab.outage = true;
  return tab;
}

test("a page without its server shows what was known, and the present when it returns", async () => {
  const tab = await openSession();
  const { page } = tab;
  await newSession(tab);
  await say(tab, "Nadia likes chess.");
  await waitForElement(fact(tab, "Nadia", "chess"), "the fact");
  await waitUntilStored(tab, "Nadia likes chess.");
  const first = await sessionIn(tab);
  await newSession(tab);
  await say(tab, "I work at Siemens.");
  await waitForElement(fact(tab, "Siemens"), "the fact");
  const id = await sessionIn(tab);
  await waitUntilStored(tab, "I work at Siemens.");
  const unopened = await server.newSession();

  await server.kill();
  await waitForElement(banner(tab), "the banner on the open page");
  await page.reload();
  await waitForCopy(tab);
  await waitForElement(fact(tab, "Siemens"), "the fact");
  assert.deepEqual(await texts(tab), ["I work at Siemens."]);
  await waitForElement(page.locator('.graph .node[aria-label*="Siemens"]'), "the graph");
  assert.match(await page.locator(".pill").innerText(), /Offline/);
  await say(tab, "I like tea.");
  await waitForElement(waiting(tab), "the waiting message");
  assert.deepEqual(await findViolations(tab, "the page without its server"), []);
  await page.locator(`nav li a[href="#/s/${first}"]`).click();
  await waitForElement(fact(tab, "Nadia", "chess"), "the other session");
  assert.deepEqual(await texts(tab), ["Nadia likes chess."]);
  await fact(tab, "Nadia", "chess").locator(".fact-line").click();
  await waitForElement(page.getByText("Not available offline: this was not opened on this device before. It loads when the line is back."), "the notice about evidence");
  await page.evaluate((hash) => { location.hash = hash; }, `#/s/${unopened.id}`);
  await waitForElement(page.getByRole("heading", { name: "This session is not on this device" }), "the notice about a session that is not kept");
  await page.evaluate((hash) => { location.hash = hash; }, `#/s/${id}`);
  await waitForElement(fact(tab, "Siemens"), "the first session again");

  await server.run();
  await waitForPhase(tab, "live");
  await until(async () => (await banner(tab).count()) === 0, "the banner to disappear");
  await waitForElement(fact(tab, "tea"), "the fact of the waiting message");
  await server.say(id, "I live in Ghent.");
  await waitForElement(fact(tab, "Ghent"), "the page follows its server again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a server that hangs is missing, too: messages wait, and a reload shows what was known", async (t) => {
  const tab = await openSession();
  const { page } = tab;
  await newSession(tab);
  await say(tab, "Odile likes tea.");
  await waitForElement(fact(tab, "Odile", "tea"), "the fact");
  await waitUntilStored(tab, "Odile likes tea.");
  const { pid } = server.process;
  t.after(() => process.kill(pid, "SIGCONT"));
  // Connections stay open, and nothing answers.
  process.kill(pid, "SIGSTOP");
  await say(tab, "Odile likes chess.");
  await waitForElement(waiting(tab).filter({ hasText: "Not sent yet: the server does not answer." }), "the words at the message");
  await page.reload({ waitUntil: "commit" });
  // No file of the page waits for the server, and its first answer has 2 seconds.
  await until(async () => (await banner(tab).count()) > 0, "the copy");
  await waitForCopy(tab);
  assert.deepEqual(await texts(tab), ["Odile likes tea.", "Odile likes chess."]);
  process.kill(pid, "SIGCONT");
  await waitForPhase(tab, "live");
  await waitForElement(fact(tab, "Odile", "chess"), "the fact of the waiting message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [what, operation] of [["its start", "query Start"], ["the open session", "query Head"]]) {
  test(`a server that hangs at ${what} does not stop the page for long`, async () => {
    const { id } = await server.newSession();
    await server.say(id, "Ruprecht likes tea.");
    await server.settledHead(id);
    const tab = await browser.visit(`${server.url}/#/s/${id}`, { serviceWorkers: "block", outage: true });
    const { page } = tab;
    await waitForElement(fact(tab, "Ruprecht", "tea"), "the fact");
    await waitForPhase(tab, "live");
    await waitUntilKept(tab, "Ruprecht likes tea.");
    let hangs = true;
    await page.route("**/graphql", (route) => (hangs && route.request().postData()?.includes(operation) ? undefined : route.fallback()));
    await page.reload();
    await until(async () => (await banner(tab).count()) > 0, "the copy");
    await waitForElement(fact(tab, "Ruprecht", "tea"), "the fact of the copy");
    hangs = false;
    await waitForPhase(tab, "live");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("without copies, a page whose server hangs says so, and can try again", async () => {
  const tab = await browser.visit(`${server.url}/healthz`, { serviceWorkers: "block", outage: true });
  const { page } = tab;
  let hangs = true;
  await page.route("**/graphql", (route) => (hangs ? undefined : route.fallback()));
  await page.goto(`${server.url}/`);
  await waitForElement(page.getByRole("status").filter({ hasText: "Waiting for the server" }), "the words while the page waits");
  await waitForElement(page.getByText("The server does not answer."), "the error");
  hangs = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await waitForPhase(tab, "live");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("messages written offline arrive once and in order, also if the page was closed meanwhile", async () => {
  const tab = await openSession();
  await newSession(tab);
  await say(tab, "Tariq likes tea.");
  await waitForElement(fact(tab, "Tariq", "tea"), "the fact");
  await waitUntilStored(tab, "Tariq likes tea.");
  const id = await sessionIn(tab);
  const address = tab.page.url();
  await setOffline(tab, true);
  await tab.page.reload();
  await waitForCopy(tab);
  const written = ["Tariq lives in Porto.", "Tariq works on Phoenix.", "Tariq speaks German."];
  for (const text of written.slice(0, 2)) await say(tab, text);
  await until(async () => (await waiting(tab).count()) === 2, "two waiting messages");
  await tab.page.close();

  const next = await browser.visit(address, { visitor: tab });
  next.outage = true;
  await waitForCopy(next);
  assert.deepEqual(await texts(next), ["Tariq likes tea.", ...written.slice(0, 2)]);
  await say(next, written[2]);
  await until(async () => (await waiting(next).count()) === 3, "three waiting messages");
  assert.deepEqual(await stored(id), ["Tariq likes tea."]);
  await setOffline(next, false);
  await waitForPhase(next, "live");
  await waitForElement(fact(next, "Tariq", "Porto"), "a fact of a waiting message");
  await until(async () => (await stored(id)).length === 4, "all messages to arrive");
  await server.settledHead(id);
  assert.deepEqual(await stored(id), ["Tariq likes tea.", ...written]);
  await until(async () => (await waiting(next).count()) === 0, "no message to wait");
  assert.deepEqual(await texts(next), ["Tariq likes tea.", ...written]);
  assert.equal(await waitingTexts(next.page), "[]");
  assert.deepEqual(next.problems, []);
  await tab.context.close();
});

test("messages of a session that is not open are sent, too", async () => {
  const tab = await openSession();
  await newSession(tab);
  await say(tab, "Yuki likes rice.");
  await waitForElement(fact(tab, "Yuki", "rice"), "the fact");
  await waitUntilStored(tab, "Yuki likes rice.");
  const id = await sessionIn(tab);
  await setOffline(tab, true);
  await tab.page.reload();
  await waitForCopy(tab);
  await say(tab, "Yuki lives in Kyoto.");
  await waitForElement(waiting(tab), "the waiting message");
  const other = await server.newSession();
  await tab.page.close();
  await setOffline(tab, false);
  const next = await browser.visit(`${server.url}/#/s/${other.id}`, { visitor: tab });
  await waitForPhase(next, "live");
  await until(async () => (await stored(id)).length === 2, "the message to arrive");
  assert.deepEqual(await stored(id), ["Yuki likes rice.", "Yuki lives in Kyoto."]);
  await tab.context.close();
});

test("two tabs send a waiting message once", async () => {
  const one = await openSession();
  await newSession(one);
  await say(one, "Mary likes rowing.");
  await waitForElement(fact(one, "Mary", "rowing"), "the fact");
  await waitUntilStored(one, "Mary likes rowing.");
  const id = await sessionIn(one);
  await setOffline(one, true);
  await one.page.reload();
  await waitForCopy(one);
  const written = ["Mary lives in Lyon.", "Mary uses Emacs."];
  for (const text of written) await say(one, text);
  await until(async () => (await waiting(one).count()) === 2, "two waiting messages");
  const two = await browser.visit(one.page.url(), { visitor: one });
  two.outage = true;
  await until(async () => (await waiting(two).count()) === 2, "the same messages in the other tab");
  const answered = [];
  for (const { page } of [one, two]) {
    page.on("response", (response) => {
      const text = written.find((each) => response.request().postData()?.includes(each));
      if (text) answered.push(text);
    });
  }
  await setOffline(one, false);
  for (const tab of [one, two]) {
    await waitForPhase(tab, "live");
    await waitForElement(fact(tab, "Mary", "Lyon"), "the fact");
    await waitForElement(fact(tab, "Mary", "Emacs"), "the other fact");
    await until(async () => (await waiting(tab).count()) === 0, "no message to wait");
    assert.deepEqual(await texts(tab), ["Mary likes rowing.", ...written]);
  }
  await server.settledHead(id);
  assert.deepEqual(await stored(id), ["Mary likes rowing.", ...written]);
  assert.deepEqual(answered, written, "one tab sends each message");
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
});

test("a logout deletes what the browser keeps", async () => {
  const tab = await openSession(guarded);
  const { page } = tab;
  await say(tab, "Ottilie likes Aachen.");
  await waitForElement(fact(tab, "Aachen"), "the fact");
  await waitUntilStored(tab, "Ottilie likes Aachen.");
  await page.route("**/graphql", (route) => route.abort());
  await say(tab, "Ottilie likes Trier.");
  await waitForElement(waiting(tab), "the waiting message");
  assert.match(await waitingTexts(page), /Trier/);
  const draft = () => page.evaluate(() => sessionStorage.getItem("recall.drafts"));
  await page.getByRole("textbox", { name: "Message" }).fill("Ottilie likes Bonn");
  assert.match(await draft(), /Bonn/);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.getByRole("button", { name: "Leave" }).click();
  await waitForElement(page.locator(".login-page"), "the login page");
  assert.deepEqual([await kept(page), await waitingTexts(page), JSON.parse(await draft()).drafts], [[], "[]", {}]);
  await setOffline(tab, true);
  await page.reload();
  await waitForElement(page.getByRole("heading", { name: "Recall cannot be reached" }), "a page without data");
  assert.ok(!(await page.locator("body").innerText()).includes("Ottilie"));
  await setOffline(tab, false);
  await waitForElement(page.locator(".login-page"), "the login page when the line is back");
  await tab.context.close();
});

test("a logout without the server deletes what the browser keeps, too", async () => {
  const tab = await openSession(guarded);
  const { page } = tab;
  await say(tab, "Gerda likes Basel.");
  await waitForElement(fact(tab, "Basel"), "the fact");
  await waitUntilStored(tab, "Gerda likes Basel.");
  await setOffline(tab, true);
  await page.reload();
  await waitForCopy(tab);
  await say(tab, "Gerda likes Zug.");
  await waitForElement(waiting(tab), "the waiting message");
  await page.getByRole("button", { name: "Leave" }).click();
  await waitForElement(page.getByRole("heading", { name: "Recall cannot be reached" }), "a page without data");
  assert.deepEqual([await kept(page), await waitingTexts(page)], [[], "[]"]);
  // The server knows nothing of the logout.
  await setOffline(tab, false);
  await waitForPhase(tab, "live");
  await waitForElement(fact(tab, "Basel"), "the fact");
  assert.deepEqual(await texts(tab), ["Gerda likes Basel."]);
  await tab.context.close();
});

test("another account in the same browser sees and sends nothing", async () => {
  const tab = await openSession(guarded);
  const { page } = tab;
  await say(tab, "Emil likes Bonn.");
  await waitForElement(fact(tab, "Bonn"), "the fact");
  await waitUntilStored(tab, "Emil likes Bonn.");
  const address = page.url();
  await setOffline(tab, true);
  await page.reload();
  await waitForCopy(tab);
  await say(tab, "Emil likes Bern.");
  await waitForElement(waiting(tab), "the waiting message");

  // The login ends without a logout.
  await tab.context.clearCookies();
  await setOffline(tab, false);
  await waitForElement(page.locator(".login-page"), "the login page");
  assert.deepEqual(await kept(page), []);
  await page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(page.getByRole("heading", { name: "There is no such session" }), "the other account at the first one's URL");
  await page.goto(`${guarded.url}/#/`);
  await waitForPhase(tab, "live");
  await say(tab, "Dora likes tea.");
  await waitForElement(fact(tab, "tea"), "the fact of the other account");
  await waitUntilStored(tab, "Dora likes tea.");
  const body = () => page.locator("body").innerText();
  assert.ok(!/Emil|Bonn|Bern/.test(await body()));
  await setOffline(tab, true);
  await page.reload();
  await waitForElement(fact(tab, "tea"), "the other account's own copy");
  assert.ok(!/Emil|Bonn|Bern/.test(await body()));
  await page.goto(address);
  await waitForElement(page.getByRole("heading", { name: "This session is not on this device" }), "no copy of the first account");
  assert.ok(!/Emil|Bonn|Bern/.test(JSON.stringify(await kept(page))));
  await tab.context.close();
});

test("deleting everything deletes the copies, and forgetting deletes those of other sessions", async (t) => {
  const own = await Server.start();
  t.after(() => own.stop());
  const tab = await browser.visit(`${own.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await say(tab, "Wilhelmina likes Oslo.");
  await waitForElement(fact(tab, "Oslo"), "the fact");
  await waitUntilStored(tab, "Wilhelmina likes Oslo.");
  await newSession(tab);
  await say(tab, "Ludmila likes Rome.");
  await waitForElement(fact(tab, "Rome"), "the fact");
  await waitUntilStored(tab, "Ludmila likes Rome.");
  const sessions = async () => JSON.stringify((await kept(page)).filter((one) => one.snapshot));
  assert.match(await sessions(), /Oslo/);
  await own.graphql('mutation { forget(input: { query: "everything about Oslo", dryRun: false }) { factCount errors { message } } }');
  await until(async () => !/Oslo/.test(await sessions()), "the copy with what was forgotten to disappear");
  assert.match(await sessions(), /Rome/);

  await page.goto(`${own.url}/#/memory/data`);
  await page.getByRole("button", { name: "Delete everything…" }).click();
  await page.getByLabel("Type DELETE to confirm").fill("DELETE");
  await page.getByRole("dialog").getByRole("button", { name: "Delete everything" }).click();
  await waitForElement(page.getByRole("button", { name: "Start again" }), "the receipt");
  assert.doesNotMatch(JSON.stringify(await kept(page)), /Rome|Ludmila/);
  await tab.context.close();
});

test("a Memory page that was not opened before says so, and loads when the server returns", async () => {
  const tab = await openSession();
  const { page } = tab;
  await newSession(tab);
  await say(tab, "Ingrid likes skiing.");
  await waitForElement(fact(tab, "skiing"), "the fact");
  await waitUntilStored(tab, "Ingrid likes skiing.");
  await setOffline(tab, true);
  await page.goto(`${server.url}/#/memory`);
  await page.reload();
  const notice = page.getByText("Not available offline: this was not opened on this device before.");
  await waitForElement(notice, "the notice");
  await setOffline(tab, false);
  await waitForElement(page.locator(".memory-page .row", { hasText: "skiing" }), "the facts");
  assert.equal(await notice.count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the documents load again when the server returns", async () => {
  const own = await Server.start();
  try {
    const form = new FormData();
    form.append("file", new Blob(["# Garden\n\nThe roses are watered in the morning."]), "garden.md");
    await fetch(`${own.url}/documents`, { method: "POST", body: form, headers: { connection: "close" } });
    const tab = await browser.visit(`${own.url}/#/d`, { outage: true });
    const { page } = tab;
    const document = page.locator(".doc", { hasText: "garden.md" });
    await waitForElement(document, "the document");
    await page.getByRole("link", { name: "garden.md" }).click();
    await waitForElement(page.getByRole("heading", { name: "Garden", level: 1 }), "the document");
    await own.kill();
    await page.goBack();
    await page.getByRole("searchbox", { name: "Search by name or title" }).fill("garden");
    const trouble = page.locator(".documents .trouble");
    await waitForElement(trouble, "the failure");
    await own.run();
    await until(async () => (await trouble.count()) === 0, "the failure to go", 60_000);
    await waitForElement(document, "the document again");

    await own.kill();
    await page.getByRole("link", { name: "garden.md" }).click();
    await waitForElement(page.getByRole("heading", { name: "Garden", level: 1 }), "the document, which was opened before");
    await waitForElement(page.locator(".news.lost"), "the notice");
    await own.run();
    await until(async () => (await page.locator(".news.lost").count()) === 0, "the notice to go", 60_000);
    await until(async () => (await trouble.count()) === 0, "no failure to be shown", 60_000);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await own.stop();
  }
});

test("the files of a new version replace those of the old one when its pages are closed", async () => {
  const tab = await openSession();
  const { page, context } = tab;
  const cacheNames = (of) => of.page.evaluate(() => caches.keys());
  await page.evaluate(() => navigator.serviceWorker.ready);
  const [old] = await cacheNames(tab);
  const source = await page.evaluate(async () => (await fetch("/precache.js")).text());
  await context.route("**/precache.js", (route) => route.fulfill({ contentType: "text/javascript", body: source.replace(old.slice("recall-".length), "next") }));
  // Requests of an update cannot be answered by a test, but those of another script can.
  await page.evaluate(async () => { await navigator.serviceWorker.register("/sw.js?next"); });
  await until(() => page.evaluate(async () => (await navigator.serviceWorker.ready).waiting?.state === "installed"), "the new version to wait");
  assert.deepEqual((await cacheNames(tab)).sort(), [old, "recall-next"].sort(), "the open page keeps its files");
  const worker = context.serviceWorkers().find((one) => one.url().endsWith("?next"));
  await page.close();
  // A page that opens earlier keeps the old version.
  await until(() => worker.evaluate(() => self.registration.active?.scriptURL.endsWith("?next")), "the new version to take over");
  const next = await browser.visit(`${server.url}/`, { visitor: tab });
  await waitForPhase(next, "live");
  await until(async () => (await cacheNames(next)).join() === "recall-next", "the old files to be deleted");
  assert.deepEqual(next.problems, []);
  await context.close();
});

test("the service worker stores the files of the page and no answer of the API", async () => {
  const tab = await openSession();
  await say(tab, "Felix likes maps.");
  await waitForElement(fact(tab, "maps"), "the fact");
  await waitUntilStored(tab, "Felix likes maps.");
  await tab.page.reload();
  await waitForPhase(tab, "live");
  const paths = await tab.page.evaluate(async () => {
    const found = [];
    for (const name of await caches.keys()) for (const { url } of await (await caches.open(name)).keys()) found.push(new URL(url).pathname);
    return found;
  });
  for (const asset of ["places", "theme"]) assert.ok(paths.some((one) => new RegExp(`^/assets/${asset}-.*\\.js$`).test(one)), paths.join());
  assert.ok(paths.includes("/"));
  assert.deepEqual(paths.filter((one) => !/^\/(assets\/[^/]+)?$/.test(one)), [], "each file but the page has a hash in its name");
  const response = await fetch(`${server.url}/sw.js`, { headers: { connection: "close" } });
  assert.equal(response.headers.get("cache-control"), "no-cache", "files of the root, such as the service worker, are revalidated");
  await tab.context.close();
});
