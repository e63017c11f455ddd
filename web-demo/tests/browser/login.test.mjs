// Login to the demo with a real OpenID provider and a real browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chooseAction, fact, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const TOKEN = "fixed-token-0123456789-0123456789-0123456789";
let provider;
let server;
let browser;

class Provider {
  static async start() {
    const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../tests/services/oidc");
    assert.ok(existsSync(path.join(folder, "node_modules")), "The provider is not installed. Run npm ci in tests/services/oidc.");
    const provider = new Provider();
    // Tokens expire while the pages are open.
    provider.process = spawn("node", ["server.mjs"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ACCESS_TOKEN_SECONDS: "4", NODE_NO_WARNINGS: "1" } });
    provider.issuer = await new Promise((found) => {
      createInterface({ input: provider.process.stdout }).on("line", (line) => {
        if (line.startsWith("{")) found(JSON.parse(line).issuer);
      });
    });
    return provider;
  }

  /** Registers a Recall server and returns its settings. */
  async registerServer(url) {
    const response = await fetch(`${this.issuer}/reg`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: [`${url}/auth/callback`], post_logout_redirect_uris: [`${url}/`], grant_types: ["authorization_code", "refresh_token"],
        backchannel_logout_uri: `${url}/auth/backchannel-logout`, backchannel_logout_session_required: true,
      }),
    });
    const client = await response.json();
    assert.equal(response.status, 201, JSON.stringify(client));
    return {
      RECALL_OIDC_ISSUER: this.issuer, RECALL_OIDC_AUDIENCE: "https://recall.example.org", RECALL_OIDC_CLIENT_ID: client.client_id,
      RECALL_OIDC_CLIENT_SECRET: client.client_secret, RECALL_PUBLIC_URL: url, RECALL_TOKEN: TOKEN,
      RECALL_ANONYMOUS: "true",
    };
  }

  seen = async () => (await fetch(`${this.issuer}/seen`)).json();
  stop = () => this.process.kill();
}

withServerAndBrowser((started) => { ({ server, browser } = started); }, async (url) => {
  provider = await Provider.start();
  return provider.registerServer(url);
});
after(() => provider?.stop());

/** Ignores requests to the provider, and a missing font of its pages. */
const problems = (tab) => tab.problems.filter((p) => ![provider.issuer, "fonts.googleapis.com", "ERR_NAME_NOT_RESOLVED"].some((known) => p.includes(known)));

/** Completes the provider's login and consent pages. */
async function logInAtProvider(tab, name) {
  const { page } = tab;
  // The provider's pages request fonts and icons that do not exist.
  const { outage } = tab;
  tab.outage = true;
  await page.waitForURL(`${provider.issuer}/**`);
  // A login page and a consent page.
  while (page.url().startsWith(provider.issuer)) {
    if (await page.locator("input[name=login]").count()) {
      await page.locator("input[name=login]").fill(name);
      await page.locator("input[name=password]").fill("any");
    }
    const here = page.url();
    await page.locator("button[type=submit]").click();
    await page.waitForURL((url) => url.href !== here);
  }
  tab.outage = outage;
}

async function logIn(name, visitor) {
  const tab = await browser.visit(`${server.url}/`, { visitor });
  await tab.page.getByRole("link", { name: "Log in" }).click();
  await logInAtProvider(tab, name);
  await waitForPhase(tab, "live");
  return tab;
}

test("login survives a reload, logout ends it, and no token reaches the page", async () => {
  const first = await browser.visit(`${server.url}/`);
  await waitForElement(first.page.getByRole("link", { name: "Log in" }), "the login page");
  assert.equal(await first.page.locator(".composer").count(), 0, "only the login page");
  const answers = [];
  first.page.on("response", async (response) => {
    if (response.url().startsWith(server.url)) answers.push(`${JSON.stringify(response.headers())} ${await response.text().catch(() => "")}`);
  });
  await first.page.getByRole("link", { name: "Log in" }).click();
  await logInAtProvider(first, "anna");
  await waitForPhase(first, "live");
  assert.equal(await first.page.locator(".pill").getAttribute("data-transport"), "webrtc");
  assert.equal(await first.page.locator(".person b").innerText(), "anna of the provider");
  await say(first, "John likes Mary.");
  await waitForElement(fact(first, "Mary"), "the fact");
  const address = first.page.url();

  assert.equal(await first.page.evaluate(() => document.cookie), "", "scripts see no cookie");
  // Ignore the provider's cookies: it has the same host, and cookies ignore ports.
  const cookies = (await first.context.cookies(server.url)).filter(({ name }) => name.startsWith("__Host-"));
  assert.deepEqual(cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]), [["__Host-recall", true, true, "Strict"]]);
  assert.ok(answers.length > 5 && !/refresh_token|id_token|access_token|eyJ/.test(answers.join()), "no response contains a token");

  await first.page.reload();
  await waitForPhase(first, "live");
  await waitForElement(fact(first, "Mary"), "the fact after a reload");
  // Wait until the provider's access token has expired more than once.
  const before = (await provider.seen()).refreshed;
  await until(async () => (await provider.seen()).refreshed > before + 1, "the login to be renewed");
  await say(first, "John likes Anna.");
  await waitForElement(fact(first, "Anna"), "another fact over the same connection");

  const other = await logIn("boris");
  assert.equal(await other.page.locator(".facts li.fact").count(), 0, "another user has a separate memory");
  await other.page.goto(address);
  await other.page.reload();
  await waitForElement(other.page.getByRole("heading", { name: "There is no such session" }), "the error at the first user's URL");
  assert.equal(await other.page.locator(".facts li.fact, .message").count(), 0, "the first user's URL shows no data");
  await other.context.close();

  first.outage = true;
  await first.page.getByRole("button", { name: "Log out" }).click();
  await first.page.waitForURL(`${provider.issuer}/session/end**`);
  await first.page.locator("button[type=submit]").first().click();
  await first.page.waitForURL(`${server.url}/**`);
  await waitForElement(first.page.getByRole("link", { name: "Log in" }), "the login page again");
  assert.ok(!(await first.context.cookies(server.url)).some(({ name }) => name.startsWith("__Host-")), "no cookie is left");
  assert.deepEqual(problems(first), []);
  await first.context.close();
});

test("logout at the provider locks the page, and a new login restores it", async () => {
  const tab = await logIn("carla");
  const { page } = tab;
  await say(tab, "Carla likes Ghent.");
  await waitForElement(fact(tab, "Ghent"), "the fact");
  const address = page.url();
  tab.outage = true; // The browser logs rejected requests to its console.
  const elsewhere = await tab.context.newPage();
  await elsewhere.goto(`${provider.issuer}/session/end`);
  await elsewhere.locator("button[type=submit]").first().click();
  const began = Date.now();
  await waitForElement(page.getByRole("link", { name: "Log in" }), "the login page");
  assert.ok(Date.now() - began < 10_000, "within ten seconds");
  assert.equal(await page.locator(".facts").count(), 0, "no data stays on the page");
  assert.match(await page.locator(".login-page").innerText(), /Your login has ended/);

  await fetch(`${provider.issuer}/rotate`, { method: "POST" });
  await page.getByRole("link", { name: "Log in" }).click();
  await logInAtProvider(tab, "carla");
  await waitForPhase(tab, "live");
  assert.equal(page.url(), address);
  await waitForElement(fact(tab, "Ghent"), "the fact, after the provider changed its key");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("GraphiQL queries and subscriptions work with the login cookie", async () => {
  const tab = await logIn("root");
  const { page } = tab;
  await say(tab, "John likes Mary.");
  await waitForElement(fact(tab, "Mary"), "the fact");
  const second = await browser.visit(`${server.url}/graphql`, { visitor: tab });
  const result = second.page.locator(".result-window");
  await second.page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: "mutation SendMessage" }).first().waitFor();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await second.page.locator(".graphiql-execute-button").click();
  await until(async () => /"status": "PROCESSING"/.test((await result.innerText()).replaceAll("\u00a0", " ")), "a mutation to be answered");
  await second.page.getByRole("tab", { name: "LiveEvents", exact: true }).click();
  await second.page.locator(".graphiql-query-editor .CodeMirror-line").filter({ hasText: "subscription LiveEvents" }).first().waitFor();
  await new Promise((resolve) => setTimeout(resolve, 500));
  await second.page.locator(".graphiql-execute-button").click();
  await until(() => second.page.getByRole("button", { name: "Stop query" }).count(), "the subscription to run");
  // Open the session of the examples.
  const own = await second.page.evaluate(() => localStorage.getItem("recall.graphiql.session"));
  await page.goto(`${server.url}/#/s/${own}`);
  await until(async () => (await page.locator("nav li.on a").getAttribute("href")) === `#/s/${own}`, "the session of the examples");
  await say(tab, "Mary likes John.");
  await until(async () => /"type": "message_processed"/.test((await result.innerText()).replaceAll("\u00a0", " ")), "the last live event");
  assert.deepEqual(problems(second), []);
  // The page redirects users without a login to the provider.
  const anonymous = await browser.visit(`${server.url}/graphql`);
  await anonymous.page.waitForURL(`${provider.issuer}/**`);
  await anonymous.context.close();
  await tab.context.close();
});

test("users read shared sessions and only administrators write them", async () => {
  const admin = await logIn("root");
  await admin.page.getByRole("button", { name: "New shared session" }).click();
  await waitForElement(admin.page.locator("nav li.on .badge"), "the badge of the shared session");
  await waitForPhase(admin, "live");
  await say(admin, "Ottilie likes Aachen.");
  await waitForElement(fact(admin, "Aachen"), "the shared fact");
  const address = admin.page.url();

  const tab = await logIn("emil");
  const { page } = tab;
  assert.equal(await page.getByRole("button", { name: "New shared session" }).count(), 0, "users cannot create shared sessions");
  await say(tab, "Emil likes tea.");
  await waitForElement(fact(tab, "tea"), "a fact of the user's own session");
  const shared = page.locator("nav li").filter({ has: page.locator(".badge") });
  assert.equal(await shared.getByRole("button").count(), 0, "users cannot delete shared sessions");
  await shared.getByRole("link").click();
  await until(() => page.url() === address, "the shared session to open");
  await waitForPhase(tab, "live");
  await waitForElement(page.locator(".message", { hasText: "Ottilie likes Aachen." }), "the message of the administrator");
  await waitForElement(fact(tab, "Aachen"), "its fact");
  assert.match(await page.locator(".composer").innerText(), /Only administrators can write here/);
  assert.equal(await page.locator(".composer :is(textarea, input, button)").count(), 0, "users have no message field");
  assert.equal(await page.getByRole("textbox", { name: "Message" }).count(), 0);
  await page.reload();
  await waitForPhase(tab, "live");
  assert.match(await page.locator(".composer").innerText(), /Only administrators can write here/, "also after a reload");
  // New messages arrive, and the user's own session has a message field.
  await say(admin, "Ottilie likes Trier.");
  await waitForElement(page.locator(".message", { hasText: "Ottilie likes Trier." }), "the new message");
  await page.locator("nav li").filter({ hasText: "tea" }).getByRole("link").click();
  await waitForPhase(tab, "live");
  await say(tab, "Emil likes cake.");
  await waitForElement(fact(tab, "cake"), "a fact of the user's own session");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();

  // For visitors the shared session does not exist.
  const visitor = await browser.visit(address);
  await visitor.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(visitor.page.getByRole("heading", { name: "There is no such session" }), "the error for a visitor");
  assert.equal(await visitor.page.getByText("Ottilie").count(), 0);
  await visitor.context.close();
  // Delete the shared session, because other tests must not find it.
  const item = admin.page.locator("nav li").filter({ has: admin.page.locator(".badge") });
  await chooseAction(item, "Delete…");
  await item.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await item.count()) === 0, "the shared session to disappear");
  await admin.context.close();
});

test("users read and download shared documents, and only administrators add and delete them", async () => {
  const openDocuments = async (tab) => {
    await tab.page.reload();
    await tab.page.goto(`${server.url}/#/d`);
    await waitForElement(tab.page.getByRole("heading", { name: "Documents", level: 1 }), "the documents");
  };
  const admin = await logIn("root");
  await openDocuments(admin);
  await admin.page.getByLabel("Share new files with all users").check();
  await admin.page.locator("input[type=file]").setInputFiles([{ name: "rules.md", mimeType: "text/markdown", buffer: Buffer.from("# Rules\n\nThe library opens at eight.") }]);
  await waitForElement(admin.page.locator('.doc [data-status="COMPLETED"]'), "the shared document");
  await waitForElement(admin.page.getByRole("button", { name: "Delete rules.md" }), "the administrator's delete button");

  const tab = await logIn("emil");
  const { page } = tab;
  await openDocuments(tab);
  const shared = page.getByRole("region", { name: "Shared documents" });
  await waitForElement(shared.locator(".badge", { hasText: "shared" }), "the badge");
  assert.equal(await shared.getByRole("button").count(), 0, "users cannot delete shared documents");
  assert.equal(await page.getByLabel("Share new files with all users").count(), 0, "users cannot share");
  // The login cookie alone adds no file: the page sends the CSRF token.
  await page.locator("input[type=file]").setInputFiles([{ name: "own.md", mimeType: "text/markdown", buffer: Buffer.from("# Own\n\nEmil has a garden.") }]);
  await waitForElement(page.getByRole("region", { name: "Your documents" }).locator('[data-status="COMPLETED"]'), "the user's own document");
  await shared.getByRole("link", { name: "rules.md" }).click();
  await waitForElement(page.locator(".reading-text", { hasText: "The library opens at eight." }), "the shared text");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the file" }).click()]);
  assert.equal(download.suggestedFilename(), "rules.md");
  assert.equal(await download.failure(), null);
  assert.equal(await page.getByRole("button", { name: "Delete rules.md" }).count(), 0);
  assert.deepEqual(problems(tab), []);

  // The page forgets the lists with the login.
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(`${provider.issuer}/**`);
  await tab.context.close();
  await openDocuments(admin);
  assert.equal(await admin.page.locator(".doc", { hasText: "own.md" }).count(), 0, "administrators see no documents of users");
  await admin.context.close();
});

test("an access token works until the page closes", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  tab.outage = true;
  await page.getByText("With an access token").click();
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Use this token" }).click();
  await waitForElement(page.getByText("The server does not accept this token."), "the error message");
  await page.getByText("With an access token").click();
  await page.getByLabel("Access token").fill(TOKEN);
  await page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(tab, "live");
  await say(tab, "John likes Mary.");
  await waitForElement(fact(tab, "Mary"), "the fact");
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!kept.includes(TOKEN), kept);

  // A link cannot send the token, so the page downloads files itself.
  await page.getByRole("link", { name: "Documents" }).click();
  await page.locator("input[type=file]").setInputFiles([{ name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("# Notes\n\nText.") }]);
  await waitForElement(page.locator('.doc [data-status="COMPLETED"]'), "the document");
  await page.getByRole("link", { name: "notes.md" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the file" }).click()]);
  assert.equal(download.suggestedFilename(), "notes.md");
  assert.equal(await download.failure(), null);
  await page.getByRole("button", { name: "Log out" }).click();
  await waitForElement(page.getByRole("link", { name: "Log in" }), "the login page");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("a logged-in user creates an access token and revokes it", async () => {
  const tab = await logIn("gerda");
  const { page } = tab;
  await page.reload();
  await waitForPhase(tab, "live");
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Script");
  await page.getByRole("button", { name: "Create" }).click();
  const field = page.getByLabel(/^Copy the token now/);
  await waitForElement(field, "the new token");
  const headers = { "content-type": "application/json", authorization: `Bearer ${await field.inputValue()}`, connection: "close" };
  const statusOfRequest = async () => (await fetch(`${server.url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query: "{ viewer { id } }" }) })).status;
  assert.equal(await statusOfRequest(), 200);
  await page.getByRole("button", { name: "Revoke Script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await waitForElement(page.getByText("There are no access tokens."), "the empty list");
  assert.equal(await statusOfRequest(), 401);
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("a visitor continues without a login and later adopts the visit", async () => {
  const own = await logIn("dora");
  await say(own, "Dora lives in Bern.");
  await waitForElement(fact(own, "Bern"), "the account's fact");
  await own.context.close();

  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForPhase(tab, "live");
  assert.match(await page.locator(".person").innerText(), /Visiting until/);
  const cookies = (await tab.context.cookies(server.url)).filter(({ name }) => name.startsWith("__Host-"));
  assert.deepEqual(cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]), [["__Host-recall-visit", true, true, "Strict"]]);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts see no cookie");
  await say(tab, "Dora lives in Bonn.");
  await waitForElement(fact(tab, "Bonn"), "the fact");
  assert.equal(await fact(tab, "Bern").count(), 0, "the visit has no data of the account");
  const address = page.url();
  await page.reload();
  await waitForPhase(tab, "live");
  await waitForElement(fact(tab, "Bonn"), "the fact after a reload");
  // Keep the same visit open in another tab.
  const second = await browser.visit(address, { visitor: tab });
  await waitForPhase(second, "live");
  second.outage = true;

  await page.locator(".person").getByRole("link", { name: "Log in" }).click();
  await logInAtProvider(tab, "dora");
  await waitForElement(page.locator(".offer"), "the offer");
  assert.match(await page.locator(".offer").innerText(), /1 message/);
  await page.getByRole("button", { name: "Move it to my account" }).click();
  await until(async () => (await page.locator(".offer").count()) === 0, "the offer to disappear");
  await until(() => page.locator("nav li").count().then((n) => n === 2), "both conversations");
  await page.goto(address);
  await page.reload();
  await waitForPhase(tab, "live");
  await waitForElement(fact(tab, "Bonn"), "the visit's fact at its old URL");
  assert.ok(!(await tab.context.cookies(server.url)).some(({ name }) => name === "__Host-recall-visit"), "the visit has ended");
  // The other tab now belongs to the account.
  await until(async () => /dora of the provider/.test(await second.page.locator(".person").innerText().catch(() => "")), "the other tab to show the account");
  await waitForPhase(second, "live");
  await say(second, "Dora likes tea.");
  await waitForElement(fact(tab, "tea"), "the other tab's fact");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("leaving a visit deletes its data", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForPhase(tab, "live");
  await say(tab, "John likes Mary.");
  await waitForElement(fact(tab, "Mary"), "the fact");
  tab.outage = true;
  await page.getByRole("button", { name: "Leave" }).click();
  await waitForElement(page.locator(".login-page"), "the login page");
  assert.ok(!(await tab.context.cookies(server.url)).some(({ name }) => name.startsWith("__Host-")), "no cookie is left");
  await page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForPhase(tab, "live");
  assert.equal(await page.locator(".facts li.fact").count(), 0, "a new visit has no data");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});
