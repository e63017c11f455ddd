// People who log in to the demo by way of a real OpenID provider, as they do it: with a browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser, Server, until } from "./harness.mjs";

const TOKEN = "fixed-token-0123456789-0123456789-0123456789";
let provider;
let server;
let browser;

class Provider {
  static async start() {
    const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../tests/services/oidc");
    assert.ok(existsSync(path.join(folder, "node_modules")), "the provider is not installed: npm ci in tests/services/oidc");
    const made = new Provider();
    // So short that pages have to outlive some.
    made.process = spawn("node", ["server.mjs"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ACCESS_TOKEN_SECONDS: "4", NODE_NO_WARNINGS: "1" } });
    made.issuer = await new Promise((found) => {
      createInterface({ input: made.process.stdout }).on("line", (line) => {
        if (line.startsWith("{")) found(JSON.parse(line).issuer);
      });
    });
    return made;
  }

  /** Registers a server, and tells how it is configured. */
  async settings(url) {
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

before(async () => {
  provider = await Provider.start();
  server = await Server.start((url) => provider.settings(url));
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
  provider?.stop();
});

const phase = (tab, name) => until(() => tab.page.locator(`.pill[data-phase="${name}"]`).count(), `the line to be ${name}`, 60_000);
const shown = (locator, what) => until(() => locator.count(), what);
const say = async (tab, text) => {
  await tab.page.getByRole("textbox", { name: "Message" }).fill(text);
  await tab.page.keyboard.press("Enter");
};
/** Requests to the provider are what this is about, and its pages want a font from a place that is not there. */
const problems = (tab) => tab.problems.filter((p) => ![provider.issuer, "fonts.googleapis.com", "ERR_NAME_NOT_RESOLVED"].some((known) => p.includes(known)));

/** From the provider's pages back to the server's. */
async function throughProvider(tab, name) {
  const { page } = tab;
  // Its pages ask for fonts and icons that are not there.
  const { outage } = tab;
  tab.outage = true;
  await page.waitForURL(`${provider.issuer}/**`);
  // One page asks who it is, another whether this server may know.
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
  await throughProvider(tab, name);
  await phase(tab, "live");
  return tab;
}

test("somebody logs in, is remembered, and logs out; no token ever reaches the page", async () => {
  const first = await browser.visit(`${server.url}/`);
  await shown(first.page.getByRole("link", { name: "Log in" }), "the way in");
  assert.equal(await first.page.locator(".composer").count(), 0, "and nothing else");
  const answers = [];
  first.page.on("response", async (response) => {
    if (response.url().startsWith(server.url)) answers.push(`${JSON.stringify(response.headers())} ${await response.text().catch(() => "")}`);
  });
  await first.page.getByRole("link", { name: "Log in" }).click();
  await throughProvider(first, "anna");
  await phase(first, "live");
  assert.equal(await first.page.locator(".pill").getAttribute("data-transport"), "webrtc");
  assert.equal(await first.page.locator(".person b").innerText(), "anna of the provider");
  await say(first, "John likes Mary.");
  await shown(first.page.locator(".facts li.fact").filter({ hasText: "Mary" }), "the fact");
  const address = first.page.url();

  assert.equal(await first.page.evaluate(() => document.cookie), "", "scripts see no cookie");
  // The provider has the same host, and cookies know no ports.
  const cookies = (await first.context.cookies(server.url)).filter(({ name }) => name.startsWith("__Host-"));
  assert.deepEqual(cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]), [["__Host-recall", true, true, "Strict"]]);
  assert.ok(answers.length > 5 && !/refresh_token|id_token|access_token|eyJ/.test(answers.join()), "no token");

  await first.page.reload();
  await phase(first, "live");
  await shown(first.page.locator(".facts li.fact").filter({ hasText: "Mary" }), "the fact after a reload");
  // The access token of the provider has ended meanwhile, more than once.
  const before = (await provider.seen()).refreshed;
  await until(async () => (await provider.seen()).refreshed > before + 1, "the login to be renewed");
  await say(first, "John likes Anna.");
  await shown(first.page.locator(".facts li.fact").filter({ hasText: "Anna" }), "another fact over the same line");

  const other = await logIn("boris");
  assert.equal(await other.page.locator(".facts li.fact").count(), 0, "another person sees another memory");
  await other.page.goto(address);
  await other.page.reload();
  await shown(other.page.getByRole("heading", { name: "There is no such session" }), "that the first one's address leads nowhere");
  assert.equal(await other.page.locator(".facts li.fact, .message").count(), 0, "also at the first one's address");
  await other.context.close();

  first.outage = true;
  await first.page.getByRole("button", { name: "Log out" }).click();
  await first.page.waitForURL(`${provider.issuer}/session/end**`);
  await first.page.locator("button[type=submit]").first().click();
  await first.page.waitForURL(`${server.url}/**`);
  await shown(first.page.getByRole("link", { name: "Log in" }), "the way in again");
  assert.ok(!(await first.context.cookies(server.url)).some(({ name }) => name.startsWith("__Host-")), "no cookie is left");
  assert.deepEqual(problems(first), []);
  await first.context.close();
});

test("who logs out at the provider is logged out here, and comes back to where they were", async () => {
  const tab = await logIn("carla");
  const { page } = tab;
  await say(tab, "Carla likes Ghent.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "Ghent" }), "the fact");
  const address = page.url();
  tab.outage = true; // The browser writes refused requests to its console.
  const elsewhere = await tab.context.newPage();
  await elsewhere.goto(`${provider.issuer}/session/end`);
  await elsewhere.locator("button[type=submit]").first().click();
  const began = Date.now();
  await shown(page.getByRole("link", { name: "Log in" }), "the page to be locked");
  assert.ok(Date.now() - began < 10_000, "within ten seconds");
  assert.equal(await page.locator(".facts").count(), 0, "nothing stays to be read");
  assert.match(await page.locator(".door").innerText(), /Your login has ended/);

  await fetch(`${provider.issuer}/rotate`, { method: "POST" });
  await page.getByRole("link", { name: "Log in" }).click();
  await throughProvider(tab, "carla");
  await phase(tab, "live");
  assert.equal(page.url(), address);
  await shown(page.locator(".facts li.fact").filter({ hasText: "Ghent" }), "what was there, under a new key of the provider");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("GraphiQL works with the login, subscriptions included", async () => {
  const tab = await logIn("root");
  const { page } = tab;
  await say(tab, "John likes Mary.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "Mary" }), "the fact");
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
  // The examples have a session of their own.
  const own = await second.page.evaluate(() => localStorage.getItem("recall.graphiql.session"));
  await page.goto(`${server.url}/#/s/${own}`);
  await until(async () => (await page.locator("nav li.on a").getAttribute("href")) === `#/s/${own}`, "the session of the examples");
  await say(tab, "Mary likes John.");
  await until(async () => /"type": "message_processed"/.test((await result.innerText()).replaceAll("\u00a0", " ")), "the last live event");
  assert.deepEqual(problems(second), []);
  // A visitor without a login is sent to the provider.
  const stranger = await browser.visit(`${server.url}/graphql`);
  await stranger.page.waitForURL(`${provider.issuer}/**`);
  await stranger.context.close();
  await tab.context.close();
});

test("what an administrator shares is read by who has signed in, and written by nobody else", async () => {
  const { page: room, ...admin } = await logIn("root");
  await room.getByRole("button", { name: "New shared session" }).click();
  await shown(room.locator("nav li.on .badge"), "the mark of the shared session");
  await phase({ page: room }, "live");
  await say({ page: room }, "Ottilie likes Aachen.");
  await shown(room.locator(".facts li.fact").filter({ hasText: "Aachen" }), "the shared fact");
  const address = room.url();

  const tab = await logIn("emil");
  const { page } = tab;
  assert.equal(await page.getByRole("button", { name: "New shared session" }).count(), 0, "not offered");
  await say(tab, "Emil likes tea.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "tea" }), "a fact of one's own");
  const shared = page.locator("nav li").filter({ has: page.locator(".badge") });
  assert.equal(await shared.getByRole("button").count(), 0, "nor deleting it");
  await shared.getByRole("link").click();
  await until(() => page.url() === address, "the shared session to open");
  await phase(tab, "live");
  await shown(page.locator(".message", { hasText: "Ottilie likes Aachen." }), "what was said there");
  await shown(page.locator(".facts li.fact").filter({ hasText: "Aachen" }), "and what it means");
  assert.match(await page.locator(".composer").innerText(), /you read it, administrators write it/);
  assert.equal(await page.locator(".composer :is(textarea, input, button)").count(), 0, "nothing to write with");
  assert.equal(await page.getByRole("textbox", { name: "Message" }).count(), 0);
  await page.reload();
  await phase(tab, "live");
  assert.match(await page.locator(".composer").innerText(), /administrators write it/, "nor after a reload");
  // What is written meanwhile arrives, and in a session of one's own there is something to write with again.
  await say({ page: room }, "Ottilie likes Trier.");
  await shown(page.locator(".message", { hasText: "Ottilie likes Trier." }), "what is said there now");
  await page.locator("nav li").filter({ hasText: "tea" }).getByRole("link").click();
  await phase(tab, "live");
  await say(tab, "Emil likes cake.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "cake" }), "what is told in one's own");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();

  // A visitor does not even see that there is something.
  const visitor = await browser.visit(address);
  await visitor.page.getByRole("button", { name: "Go on without a login" }).click();
  await shown(visitor.page.getByRole("heading", { name: "There is no such session" }), "that there is none for a visitor");
  assert.equal(await visitor.page.getByText("Ottilie").count(), 0);
  await visitor.context.close();
  // The other tests have no part in it.
  const item = room.locator("nav li").filter({ has: room.locator(".badge") });
  await item.getByRole("button", { name: /Delete session/ }).click();
  await item.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await item.count()) === 0, "the shared session to go");
  await admin.context.close();
});

test("somebody without an account uses a token, which is gone with the page", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  tab.outage = true;
  await page.getByText("With an access token").click();
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Use this token" }).click();
  await shown(page.getByText("The server does not accept this token."), "the refusal");
  await page.getByText("With an access token").click();
  await page.getByLabel("Access token").fill(TOKEN);
  await page.getByRole("button", { name: "Use this token" }).click();
  await phase(tab, "live");
  await say(tab, "John likes Mary.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "Mary" }), "the fact");
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!kept.includes(TOKEN), kept);
  await page.getByRole("button", { name: "Log out" }).click();
  await shown(page.getByRole("link", { name: "Log in" }), "the way in");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("somebody goes on without a login, and takes what was told into the account at a later one", async () => {
  const fact = (tab, word) => tab.page.locator(".facts li.fact").filter({ hasText: word });
  const own = await logIn("dora");
  await say(own, "Dora lives in Bern.");
  await shown(fact(own, "Bern"), "what the account knows");
  await own.context.close();

  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await page.getByRole("button", { name: "Go on without a login" }).click();
  await phase(tab, "live");
  assert.match(await page.locator(".person").innerText(), /Visiting until/);
  const cookies = (await tab.context.cookies(server.url)).filter(({ name }) => name.startsWith("__Host-"));
  assert.deepEqual(cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]), [["__Host-recall-visit", true, true, "Strict"]]);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts see no cookie");
  await say(tab, "Dora lives in Bonn.");
  await shown(fact(tab, "Bonn"), "the fact");
  assert.equal(await fact(tab, "Bern").count(), 0, "nothing of the account");
  const address = page.url();
  await page.reload();
  await phase(tab, "live");
  await shown(fact(tab, "Bonn"), "the fact after a reload");
  // The same visit in another tab, which stays open.
  const second = await browser.visit(address, { visitor: tab });
  await phase(second, "live");
  second.outage = true;

  await page.locator(".person").getByRole("link", { name: "Log in" }).click();
  await throughProvider(tab, "dora");
  await shown(page.locator(".offer"), "the offer");
  assert.match(await page.locator(".offer").innerText(), /1 message/);
  await page.getByRole("button", { name: "Take it into my account" }).click();
  await until(async () => (await page.locator(".offer").count()) === 0, "the offer to be taken");
  await until(() => page.locator("nav li").count().then((n) => n === 2), "both conversations");
  await page.goto(address);
  await page.reload();
  await phase(tab, "live");
  await shown(fact(tab, "Bonn"), "what was told before the login, at its old address");
  assert.ok(!(await tab.context.cookies(server.url)).some(({ name }) => name === "__Host-recall-visit"), "the visit is over");
  // The other tab goes on as the account's.
  await until(async () => /dora of the provider/.test(await second.page.locator(".person").innerText().catch(() => "")), "the other tab to notice");
  await phase(second, "live");
  await say(second, "Dora likes tea.");
  await shown(fact(tab, "tea"), "what is told there");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});

test("who leaves a visit leaves nothing behind", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await page.getByRole("button", { name: "Go on without a login" }).click();
  await phase(tab, "live");
  await say(tab, "John likes Mary.");
  await shown(page.locator(".facts li.fact").filter({ hasText: "Mary" }), "the fact");
  tab.outage = true;
  await page.getByRole("button", { name: "Leave" }).click();
  await shown(page.locator(".door"), "the way in");
  assert.ok(!(await tab.context.cookies(server.url)).some(({ name }) => name.startsWith("__Host-")), "no cookie is left");
  await page.getByRole("button", { name: "Go on without a login" }).click();
  await phase(tab, "live");
  assert.equal(await page.locator(".facts li.fact").count(), 0, "another visit knows nothing");
  assert.deepEqual(problems(tab), []);
  await tab.context.close();
});
