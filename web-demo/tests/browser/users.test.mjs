// How long data is kept, and the users of the server, in the settings in a real Chromium against the real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement, waitForPhase } from "./demo-page.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, tablet: { viewport: { width: 1000, height: 800 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
/** The user of this token is an administrator. */
const TOKEN = "users-token-0123456789-0123456789-0123456789";
const PAGE = 20;
/** A server that requires a login, and deletes unused sessions. */
let guarded;
/** A server without login. */
let server;
let browser;
withServerAndBrowser((started) => { ({ server: guarded, browser } = started); }, (url) => ({
  RECALL_TOKEN: TOKEN, RECALL_PUBLIC_URL: url, RECALL_ANONYMOUS: "true",
  RECALL_SESSION_DAYS: "30", RECALL_FORGET_UNDO_MINUTES: "120", RECALL_AUDIT_DAYS: "90", RECALL_ANONYMOUS_HOURS: "72",
}));
before(async () => { server = await Server.start(); });
after(() => server?.stop());

async function logIn(token = TOKEN, options = {}) {
  const tab = await browser.visit(`${guarded.url}/`, options);
  await tab.page.getByLabel("Access token").fill(token);
  await tab.page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(tab, "live");
  return tab;
}
const sections = ({ page }) => page.getByRole("navigation", { name: "Parts of the settings" }).getByRole("link");
async function openSection(tab, name) {
  await tab.page.evaluate(() => { location.hash = "#/settings/tokens"; });
  await sections(tab).filter({ hasText: name }).click();
  await waitForElement(tab.page.getByRole("heading", { name, level: 2 }), `the section ${name}`);
}
const sentences = ({ page }) => page.getByRole("list", { name: "How long data is kept" }).getByRole("listitem");
const rows = ({ page }) => page.getByRole("table", { name: "Users" }).locator("tbody tr");
const cells = (row) => row.getByRole("cell").allInnerTexts();

async function ask(on, query, variables = {}, headers = {}) {
  const response = await fetch(`${on.url}/graphql`, { method: "POST", headers: { "content-type": "application/json", connection: "close", ...headers }, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}
const asAdministrator = (query, variables) => ask(guarded, query, variables, { authorization: `Bearer ${TOKEN}` });

/** A visitor says something. Returns the id of the visitor. */
async function visit(text) {
  const visit = await fetch(`${guarded.url}/auth/visit`, { method: "POST", headers: { origin: guarded.url, connection: "close" } });
  const { csrfToken, user } = await visit.json();
  const headers = { origin: guarded.url, "x-csrf-token": csrfToken, cookie: visit.headers.getSetCookie()[0].split(";")[0] };
  const { createSession } = await ask(guarded, "mutation { createSession(input: {}) { session { id } } }", {}, headers);
  await ask(guarded, "mutation ($input: SendMessageInput!) { sendMessage(input: $input) { errors { message } } }", { input: { sessionId: createSession.session.id, text } }, headers);
  return user.id;
}

/** Visits until the list of users has more than `count` rows. */
async function fillUsers(count) {
  const listed = async () => (await asAdministrator("{ users(first: 100) { nodes { id } } }")).users.nodes.length;
  for (let missing = count + 1 - (await listed()); missing > 0; missing -= 1) await visit(`I like the number ${missing}.`);
}

test("the retention times of a server that keeps sessions are sentences", async () => {
  const tab = await browser.visit(`${server.url}/#/settings/retention`);
  await waitForElement(sentences(tab), "the sentences");
  assert.deepEqual(await sentences(tab).allInnerTexts(), [
    "What you delete is gone at once: a session, a message, a document, a comparison, or all your data.",
    "What you make Recall forget is hidden at once. You can undo this for 10 minutes. Then it is deleted for good.",
    "Sessions and documents are kept until you delete them.",
    "Entries of the activity are kept for 365 days, also after you delete what they are about. They contain no text from a memory.",
  ]);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("visitors read when their visit ends, and the times that the operator chose", async () => {
  const visitor = await browser.visit(`${guarded.url}/#/settings/retention`);
  await visitor.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(sentences(visitor).filter({ hasText: "Your visit ends 3 days after your last request. Its data is then deleted." }), "the end of the visit");
  await visitor.context.close();

  const account = await logIn();
  await openSection(account, "How long data is kept");
  await waitForElement(sentences(account), "the sentences");
  const texts = (await sentences(account).allInnerTexts()).join("\n");
  assert.match(texts, /You can undo this for 2 hours\./);
  assert.match(texts, /A session without a new message for 30 days is deleted, and so is a document after this time\. Shared memory is kept\./);
  assert.match(texts, /activity are kept for 90 days/);
  assert.doesNotMatch(texts, /visit/, "only visitors read when a visit ends");
  assert.deepEqual([...visitor.problems, ...account.problems], []);
  await account.context.close();
});

test("an administrator sees the users with counts and without contents", async () => {
  const visitor = await visit("Ludmila likes rowing.");
  const { createSession } = await asAdministrator("mutation { createSession(input: {}) { session { id } } }");
  await asAdministrator("mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { message } } }", { id: createSession.session.id });
  const { viewer } = await asAdministrator("{ viewer { id } }");
  await until(async () => (await asAdministrator("{ users(first: 100) { nodes { id facts } } }")).users.nodes.some(({ id, facts }) => id === visitor && facts === 1), "the fact of the visitor");
  const tab = await logIn();
  const { page } = tab;
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: guarded.url });
  await openSection(tab, "Users");
  const row = rows(tab).filter({ has: page.getByTitle(visitor) });
  await waitForElement(row, "the row of the visitor");
  const [kind, active, ...counts] = await cells(row);
  assert.deepEqual([kind, ...counts], ["Visitor", "1", "1", "1", "0", "0"]);
  assert.notEqual(active, "never");
  const own = rows(tab).filter({ has: page.getByTitle(viewer.id) });
  await waitForElement(own.getByText("you", { exact: true }), "the mark of the viewer");
  assert.equal((await cells(own))[0], "Account");
  assert.equal(await rows(tab).getByText("you", { exact: true }).count(), 1);
  await waitForElement(page.getByText("The server records each time that you read this list."), "the note");
  assert.doesNotMatch(await page.locator(".settings .sheet").innerText(), /Ludmila|rowing/, "no contents");

  await row.getByRole("button").click();
  await waitForElement(row.getByText("copied", { exact: true }), "the confirmation");
  assert.equal(await page.locator(".settings [role=status]").first().innerText(), `Copied ${visitor}.`);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), visitor);
  await openSection(tab, "Activity");
  await waitForElement(page.getByText("Read as an administrator: the list of users"), "the recorded read");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("shared memory is one of the rows, and the local user is marked on a server without login", async () => {
  const { createSession } = await server.graphql("mutation { createSession(input: { shared: true }) { session { id } errors { message } } }");
  assert.deepEqual(createSession.errors, []);
  await server.say((await server.newSession()).id, "I like tea.");
  const tab = await browser.visit(`${server.url}/#/settings/users`);
  await waitForElement(rows(tab).filter({ hasText: "Shared memory" }), "the row of shared memory");
  await waitForElement(rows(tab).filter({ hasText: "Account" }).getByText("you", { exact: true }), "the row of the local user");
  await waitForElement(tab.page.getByText("These are all users with data (1)."), "the number of users");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("other users have no such section, and a login without the scope gets a sentence", async () => {
  const visitor = await browser.visit(`${guarded.url}/#/settings/users`);
  await visitor.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(visitor.page.getByRole("heading", { name: "Access tokens", level: 2 }), "the first section instead");
  await waitForElement(sections(visitor).filter({ hasText: "How long data is kept" }), "the sections");
  assert.equal(await sections(visitor).filter({ hasText: "Users" }).count(), 0);
  await visitor.context.close();

  const input = { name: "Reads", scopes: ["recall.read"], expiresInDays: 7 };
  const { createAccessToken } = await asAdministrator("mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { secret } }", { input });
  const narrow = await browser.visit(`${guarded.url}/`);
  narrow.outage = true; // The browser logs the refused request to its console.
  await narrow.page.route("**/graphql", async (route) => {
    if (!/query (Start|Sessions)/.test(route.request().postData() ?? "")) return route.fallback();
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('"role":"USER"', '"role":"ADMIN"') });
  });
  await narrow.page.getByLabel("Access token").fill(createAccessToken.secret);
  await narrow.page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(narrow, "live");
  await openSection(narrow, "Users");
  await waitForElement(narrow.page.getByText("cannot read the list of users. Log in as an administrator."), "the sentence");
  assert.equal(await narrow.page.locator(".settings .trouble").filter({ hasText: /./ }).count(), 0, "no error is shown");
  assert.deepEqual([...visitor.problems, ...narrow.problems], []);
  await narrow.context.close();
});

test("further users follow on request, by keyboard, without gaps or repetitions", async () => {
  await fillUsers(PAGE);
  const tab = await logIn();
  const { page } = tab;
  const { keyboard } = page;
  await openSection(tab, "Users");
  await until(async () => (await rows(tab).count()) === PAGE, "the first page");
  await waitForElement(page.getByText(`These are the first ${PAGE} users, by id.`), "how much is shown");
  const tabTo = async (name) => {
    for (let presses = 0; presses < 60; presses += 1) {
      if (await page.evaluate((wanted) => document.activeElement?.textContent === wanted, name)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${name}`);
  };
  await tabTo("Show more");
  await keyboard.press("Enter");
  const { users } = await asAdministrator("{ users(first: 100) { nodes { id } } }");
  await until(async () => (await rows(tab).count()) === users.nodes.length, "the last page");
  await until(() => page.evaluate(() => document.activeElement?.matches("[role=status]")), "the number of users to have the focus");
  assert.equal(await page.locator(":focus").innerText(), `These are all users with data (${users.nodes.length}).`);
  assert.deepEqual(await rows(tab).locator(".id").evaluateAll((ids) => ids.map(({ title }) => title)), users.nodes.map(({ id }) => id));
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a user is found by a part of the id, also one that is not read yet", async () => {
  await fillUsers(PAGE);
  const { users: { nodes } } = await asAdministrator("{ users(first: 100) { nodes { id kind } } }");
  const last = nodes.at(-1);
  const tab = await logIn();
  const { page } = tab;
  await openSection(tab, "Users");
  await until(async () => (await rows(tab).count()) === PAGE, "the first page");
  const field = page.getByRole("searchbox", { name: "Find by id" });
  const status = page.locator(".settings p[role=status]").last();
  await field.fill(last.id.slice(-12).toUpperCase());
  await until(async () => (await rows(tab).count()) === 0, "no row");
  assert.equal(await status.innerText(), `No user fits among the first ${PAGE - (nodes.slice(0, PAGE).some(({ kind }) => kind === "SHARED") ? 1 : 0)}. The others are not searched yet.`);
  await page.getByRole("button", { name: "Search the others" }).press("Enter");
  await waitForElement(page.getByTitle(last.id), "the user of another page");
  assert.equal(await rows(tab).count(), 1);
  assert.equal(await status.innerText(), `1 user fits. All users with data are searched (${nodes.filter(({ kind }) => kind !== "SHARED").length}).`);
  assert.equal(await page.getByRole("button", { name: /^(Search the others|Show more)$/ }).count(), 0);
  await field.fill("");
  await page.getByRole("combobox", { name: "Kind" }).selectOption("Accounts");
  const accounts = nodes.filter(({ kind }) => kind === "ACCOUNT").length;
  await until(async () => (await rows(tab).count()) === accounts, "the accounts");
  await page.getByRole("combobox", { name: "Kind" }).selectOption("All");
  await until(async () => (await rows(tab).count()) === nodes.length, "all users");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in retention and users on a ${size}, ${colorScheme}`, async () => {
      await visit("I like maps.");
      const tab = await logIn(TOKEN, { ...options, colorScheme, reducedMotion: "reduce" });
      const violations = [];
      for (const [section, content] of [["How long data is kept", sentences(tab)], ["Users", rows(tab)]]) {
        await openSection(tab, section);
        await waitForElement(content, section);
        violations.push(...(await findViolations(tab, section)));
        assert.equal(await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${section}: nothing is wider than the screen`);
        assert.equal(await tab.page.locator(".settings .sheet").evaluate((node) => node.scrollWidth > node.clientWidth), false, `${section} does not scroll sideways`);
      }
      assert.equal(await rows(tab).first().evaluate((row) => getComputedStyle(row).display), size === "phone" ? "grid" : "table-row");
      if (process.env.SHOTS) await tab.page.screenshot({ path: `${process.env.SHOTS}/users-${size}-${colorScheme}.png` });
      assert.deepEqual(violations, []);
      await tab.context.close();
    });
  }
}
