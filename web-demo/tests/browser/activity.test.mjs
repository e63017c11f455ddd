// The activity in the settings in a real Chromium against the real server: own entries, those of all users, and pages of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
/** The user of this token is an administrator. */
const TOKEN = "activity-token-0123456789-0123456789-0123456789";
const PAGE = 30;
let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); }, (url) => ({ RECALL_TOKEN: TOKEN, RECALL_PUBLIC_URL: url, RECALL_ANONYMOUS: "true" }));

async function logIn(token = TOKEN, options = {}) {
  const tab = await browser.visit(`${server.url}/`, options);
  await tab.page.getByLabel("Access token").fill(token);
  await tab.page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(tab, "live");
  return tab;
}

const openActivity = async ({ page }) => {
  await page.evaluate(() => { location.hash = "#/settings/tokens"; });
  await page.getByRole("navigation", { name: "Parts of the settings" }).getByRole("link", { name: "Activity" }).click();
  await waitForElement(page.getByRole("heading", { name: "Activity", level: 2 }), "the activity");
};
const entries = ({ page }) => page.getByRole("list", { name: "Activity" }).getByRole("listitem");
const entry = (tab, text) => entries(tab).filter({ hasText: text });
const everybody = ({ page }) => page.getByRole("switch", { name: "Of all users" });
const focused = ({ page }, selector) => page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector);

async function request(query, variables = {}, token = TOKEN) {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${token}`, connection: "close" }, body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Creates an access token by the API. */
async function createToken(name, scopes) {
  const input = { name, scopes, expiresInDays: 7 };
  const { createAccessToken } = await request("mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken { id } secret errors { message } } }", { input });
  assert.deepEqual(createAccessToken.errors, []);
  return { id: createAccessToken.accessToken.id, secret: createAccessToken.secret };
}

/** Fills the log of all users until it has more entries than `count`. Every such read is an entry. */
async function fillLog(count) {
  for (let read = 0; read <= count; read += 1) await request("{ auditLog(first: 1, everybody: true) { nodes { id } } }");
}

/** A visitor deletes a session. Returns the id of the visitor. */
async function deleteSessionAsVisitor() {
  const visit = await fetch(`${server.url}/auth/visit`, { method: "POST", headers: { origin: server.url, connection: "close" } });
  const { csrfToken, user } = await visit.json();
  const headers = { "content-type": "application/json", origin: server.url, "x-csrf-token": csrfToken, cookie: visit.headers.getSetCookie()[0].split(";")[0], connection: "close" };
  const ask = async (query, variables) => (await (await fetch(`${server.url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query, variables }) })).json()).data;
  const { createSession } = await ask("mutation { createSession(input: {}) { session { id } } }");
  const { deleteSession } = await ask("mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { message } } }", { id: createSession.session.id });
  assert.deepEqual(deleteSession.errors, []);
  return user.id;
}

test("users see what they did with their access tokens, latest first", async () => {
  const tab = await logIn();
  const { page } = tab;
  await page.goto(`${server.url}/#/settings/tokens`);
  for (const name of ["Backup script", "Old script"]) {
    await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
    await page.getByRole("button", { name: "Create" }).click();
    await waitForElement(page.getByRole("button", { name: `Revoke ${name}` }), "the new token");
  }
  await page.getByRole("button", { name: "Revoke Old script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await until(async () => (await page.getByRole("button", { name: "Revoke Old script" }).count()) === 0, "the token to be revoked");
  await openActivity(tab);
  await waitForElement(entry(tab, "Created an access token: Backup script"), "the entry with the name of the token");
  const texts = await entries(tab).locator("span").allInnerTexts();
  assert.deepEqual(texts, ["Revoked an access token", "Created an access token", "Created an access token: Backup script", "Became an administrator"]);
  const times = await entries(tab).locator("time").evaluateAll((all) => all.map((time) => time.dateTime));
  assert.deepEqual(times, times.toSorted().reverse());
  await waitForElement(page.getByText("These are all entries (4)."), "the number of entries");
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  assert.doesNotMatch(await page.locator(".settings .sheet").innerText(), /[0-9a-f]{8}-[0-9a-f]{4}/, "no id is shown");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an administrator reads the activity of all users, and the page says that this is recorded", async () => {
  const visitor = await deleteSessionAsVisitor();
  const tab = await logIn();
  const { page } = tab;
  await openActivity(tab);
  await waitForElement(entries(tab), "the own entries");
  assert.equal(await everybody(tab).isChecked(), false);
  await waitForElement(page.getByText("The server records each time that you read the activity of all users."), "the note");
  assert.equal(await entry(tab, "Deleted a session").count(), 0, "entries of others are not listed");
  assert.equal(await entries(tab).locator("small").count(), 0, "own entries do not name the user");
  await everybody(tab).check();
  await waitForElement(entry(tab, "Deleted a session").filter({ hasText: `by user ${visitor}` }), "the entry of the visitor");
  assert.match(await entries(tab).first().innerText(), /Read as an administrator: the activity of all users\s+by you/, "the read itself is the latest entry");
  await everybody(tab).uncheck();
  await until(async () => (await entries(tab).count()) > 0 && (await entry(tab, "Deleted a session").count()) === 0, "the own entries again");
  assert.match(await entries(tab).first().innerText(), /the activity of all users/, "the user sees the recorded read");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a change of shared memory links to its object", async () => {
  const { createSession } = await request("mutation { createSession(input: { shared: true }) { session { id } errors { message } } }");
  assert.deepEqual(createSession.errors, []);
  const tab = await logIn();
  await openActivity(tab);
  const link = tab.page.getByRole("link", { name: "Created a shared session" });
  await waitForElement(link, "the entry");
  assert.equal(await link.first().getAttribute("href"), `#/s/${createSession.session.id}`);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("changes of the own memory link to their objects, and a pause has no object", async () => {
  const { createSession } = await request("mutation { createSession(input: {}) { session { id } } }");
  const sessionId = createSession.session.id;
  const { assertFact } = await request("mutation ($i: AssertFactInput!) { assertFact(input: $i) { fact { id subject { id } } } }", { i: { sessionId, subject: "Vera", relation: "LIVES_IN", object: "Ghent" } });
  const { fact } = assertFact;
  await request("mutation ($id: ID!) { retractFact(input: { id: $id }) { errors { code } } restoreFact(input: { id: $id }) { errors { code } } }", { id: fact.id });
  await request("mutation ($id: ID!, $s: ID!) { renameEntity(input: { id: $id, name: \"Verena\" }) { errors { code } } updateSession(input: { sessionId: $s, pinned: true }) { errors { code } } }", { id: fact.subject.id, s: sessionId });
  for (const paused of [true, false]) await request("mutation ($p: Boolean!) { updateViewer(input: { paused: $p }) { errors { code } } }", { p: paused });
  const tab = await logIn();
  await openActivity(tab);
  const hrefOf = async (text) => {
    await waitForElement(entry(tab, text), text);
    return entry(tab, text).first().locator("a").first().getAttribute("href");
  };
  for (const text of ["Retracted a fact", "Restored a fact"]) assert.equal(await hrefOf(text), `#/memory/facts/${fact.id}`, text);
  assert.equal(await hrefOf("Renamed a person or thing"), `#/e/${fact.subject.id}`);
  assert.equal(await hrefOf("Pinned a session"), `#/s/${sessionId}`);
  for (const text of ["Paused remembering in all sessions", "Resumed remembering in all sessions"]) {
    await waitForElement(entry(tab, text), text);
    assert.equal(await entry(tab, text).first().locator("a").count(), 0, text);
  }
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("further pages follow on request, by keyboard, without gaps or repetitions", async () => {
  await fillLog(2 * PAGE);
  const tab = await logIn();
  const { page } = tab;
  await openActivity(tab);
  await until(async () => (await entries(tab).count()) === PAGE, "the first page");
  const { auditLog } = await request("{ auditLog(first: 100) { nodes { at } } }");
  const all = auditLog.nodes.length;
  assert.ok(all > 2 * PAGE && all <= 3 * PAGE, `${all} entries have three pages`);
  await waitForElement(page.getByText(`These are the latest ${PAGE} entries.`), "the number of entries");
  const more = page.getByRole("button", { name: "Show more" });
  await more.focus();
  await page.keyboard.press("Enter");
  await until(async () => (await entries(tab).count()) === 2 * PAGE, "the second page");
  assert.ok(await more.evaluate((button) => button === document.activeElement), "the button keeps the focus");
  await page.keyboard.press("Enter");
  await until(async () => (await entries(tab).count()) === all, "the last page");
  assert.equal(await more.count(), 0);
  await until(() => focused(tab, "[role=status]"), "the number of entries to have the focus");
  assert.equal(await page.locator(":focus").innerText(), `These are all entries (${all}).`);
  const times = await entries(tab).locator("time").evaluateAll((nodes) => nodes.map((time) => time.dateTime));
  assert.deepEqual(times, auditLog.nodes.map(({ at }) => at));
  // The keyboard also reaches the switch and the list of all users.
  await everybody(tab).focus();
  await page.keyboard.press("Space");
  await waitForElement(entries(tab).locator("small"), "the users");
  assert.ok(await focused(tab, "[role=switch]"), "the switch keeps the focus");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an action without words is shown as its name", async () => {
  const tab = await logIn();
  await tab.page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("auditLog")) return route.fallback();
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replaceAll('"action":"role.admin"', '"action":"constructor"').replaceAll('"action":"admin.read"', '"action":"moon.visited"') });
  });
  await openActivity(tab);
  await waitForElement(entry(tab, "moon.visited"), "the name of the action");
  await everybody(tab).check();
  await waitForElement(entries(tab).locator("small"), "the entries of all users");
  while (await tab.page.getByRole("button", { name: "Show more" }).count()) {
    const before = await entries(tab).count();
    await tab.page.getByRole("button", { name: "Show more" }).click();
    await until(async () => (await entries(tab).count()) > before, "the next page");
  }
  await waitForElement(entry(tab, "constructor"), "a name that JavaScript objects have");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("tokens that may not read the activity of all users, or no activity, get a sentence", async () => {
  const reading = await createToken("Reads", ["recall.read"]);
  const reader = await logIn(reading.secret);
  await openActivity(reader);
  await waitForElement(entries(reader), "the entries of the token's user");
  assert.equal(await everybody(reader).count(), 0, "a personal access token is no administrator");
  assert.deepEqual(reader.problems, []);
  await reader.context.close();

  // Like an administrator's login without the scope: the page shows the switch, and the server refuses the read.
  const narrow = await browser.visit(`${server.url}/`);
  narrow.outage = true; // The browser logs the refused request to its console.
  await narrow.page.route("**/graphql", async (route) => {
    if (!/query (Start|Sessions)/.test(route.request().postData() ?? "")) return route.fallback();
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('"role":"USER"', '"role":"ADMIN"') });
  });
  await narrow.page.getByLabel("Access token").fill(reading.secret);
  await narrow.page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(narrow, "live");
  await openActivity(narrow);
  await everybody(narrow).check();
  await waitForElement(narrow.page.getByText("cannot read the activity of all users. Log in as an administrator."), "the sentence");
  assert.equal(await narrow.page.locator(".settings .trouble").filter({ hasText: /./ }).count(), 0, "no error is shown");
  await everybody(narrow).uncheck();
  await waitForElement(entries(narrow), "the own entries");
  await narrow.context.close();

  // The page opens only with the right to read, so another token replaces it for this request.
  const writing = await createToken("Writes", ["recall.write"]);
  const writer = await logIn(reading.secret);
  writer.outage = true;
  await writer.page.route("**/graphql", (route) => route.fallback(
    route.request().postData()?.includes("auditLog") ? { headers: { ...route.request().headers(), authorization: `Bearer ${writing.secret}` } } : {},
  ));
  await openActivity(writer);
  await waitForElement(writer.page.getByText("This login or access token cannot read the activity. Log in again to see it."), "the sentence");
  await writer.context.close();
});

test("a visitor without entries gets a sentence", async () => {
  const visitor = await browser.visit(`${server.url}/#/settings/activity`);
  await visitor.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(visitor.page.getByText("Nothing is recorded yet."), "the sentence");
  assert.equal(await everybody(visitor).count(), 0);
  assert.deepEqual(visitor.problems, []);
  await visitor.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in the activity on a ${size}, ${colorScheme}`, async () => {
      await deleteSessionAsVisitor();
      const tab = await logIn(TOKEN, { ...options, colorScheme, reducedMotion: "reduce" });
      await openActivity(tab);
      await waitForElement(entries(tab), "the entries");
      const violations = await findViolations(tab, "own activity");
      await everybody(tab).check();
      await waitForElement(entries(tab).locator("small"), "the entries of all users");
      violations.push(...(await findViolations(tab, "activity of all users")));
      assert.deepEqual(violations, []);
      assert.equal(await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing is wider than the screen");
      const sheet = tab.page.locator(".settings .sheet");
      assert.equal(await sheet.evaluate((node) => node.scrollWidth > node.clientWidth), false, "the section does not scroll sideways");
      await tab.context.close();
    });
  }
}
