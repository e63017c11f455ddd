// The settings in a real Chromium against the real server: access tokens, usage, theme, dates and the connection.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { findViolations } from "./axe.mjs";
import { newSession, say, sessionIn, waitForElement, waitForPhase } from "./demo-page.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const TOKEN = "settings-token-0123456789-0123456789-0123456789";
const LIGHT = "rgb(246, 244, 239)";
const DARK = "rgb(17, 19, 24)";

/** A model server that answers everything with one sentence, and reports 1,200 tokens read and 34 written. */
async function startModel() {
  const events = [
    { choices: [{ index: 0, delta: { content: "John likes Mary [1]." } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 } },
  ];
  const model = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  return model;
}

/** A server without login. */
let server;
/** A server that requires a login. */
let guarded;
let browser;
let model;
withServerAndBrowser((started) => { ({ server, browser } = started); }, async () => {
  model = await startModel();
  return { RECALL_MODEL_URL: `http://127.0.0.1:${model.address().port}/v1`, RECALL_MODEL_NAME: "short", RECALL_EXTRACTION: "local" };
});
before(async () => {
  guarded = await Server.start((url) => ({ RECALL_TOKEN: TOKEN, RECALL_PUBLIC_URL: url, RECALL_ANONYMOUS: "true" }));
});
after(async () => {
  await guarded?.stop();
  model?.close();
});

async function logIn(options, token = TOKEN) {
  const tab = await browser.visit(`${guarded.url}/`, options);
  await tab.page.getByLabel("Access token").fill(token);
  await tab.page.getByRole("button", { name: "Use this token" }).click();
  await waitForPhase(tab, "live");
  return tab;
}
const openSettings = async ({ page }) => {
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await waitForElement(page.getByRole("heading", { name: "Settings", level: 1 }), "the settings");
};
const openSection = async ({ page }, name) => {
  await page.getByRole("navigation", { name: "Parts of the settings" }).getByRole("link", { name }).click();
  await waitForElement(page.getByRole("heading", { name, level: 2 }), `the section ${name}`);
};
const createToken = async ({ page }, name, access = "Read and write") => {
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
  await page.getByRole("combobox", { name: "Access" }).selectOption(access);
  await page.getByRole("button", { name: "Create" }).click();
  const field = page.getByLabel(/^Copy the token now/);
  await waitForElement(field, "the new token");
  return field.inputValue();
};
const row = ({ page }, name) => page.getByRole("list", { name: "Access tokens" }).getByRole("listitem").filter({ hasText: name });
const request = (token, query) => fetch(`${guarded.url}/graphql`, {
  method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${token}`, connection: "close" }, body: JSON.stringify({ query }),
});
const background = ({ page }) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const focused = ({ page }, selector) => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);

for (const [size, options] of Object.entries(SIZES)) {
  test(`nothing moves while the settings open on a ${size}`, async () => {
    const tab = await browser.visit(`${server.url}/healthz`, { ...options, serviceWorkers: "block" });
    const { page } = tab;
    await page.addInitScript(() => {
      window.shift = 0;
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) window.shift += value; }).observe({ type: "layout-shift", buffered: true });
    });
    // The page is painted before the server says what the user may do.
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route("**/auth/session", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${server.url}/#/settings/tokens`);
    await waitForElement(page.getByRole("heading", { name: "Settings", level: 1 }), "the title");
    await until(() => page.evaluate(async () => {
      await document.fonts.ready;
      return performance.getEntriesByName("first-contentful-paint").length > 0;
    }), "the first paint");
    release();
    await waitForElement(page.getByText("An access token lets a script or an agent use your memory"), "the section");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const shift = await page.evaluate(() => window.shift);
    // The title moves by less than a line when its neighbours appear.
    assert.ok(shift < 0.0005, `the layout shift is ${shift}`);
    await tab.context.close();
  });
}

test("an access token is shown once, works, and is refused after its revocation", async () => {
  const tab = await logIn();
  const { page } = tab;
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: guarded.url });
  await openSettings(tab);
  await waitForElement(page.getByText("There are no access tokens."), "the empty list");
  const secret = await createToken(tab, "Backup script", "Read only");
  assert.match(secret, /^recall_pat_[0-9a-f]{64}$/);
  assert.ok(await focused(tab, ".secret input"), "the new token has the focus");
  await page.getByRole("button", { name: "Copy" }).click();
  await waitForElement(page.getByText("Copied."), "the confirmation");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  assert.match(await row(tab, "Backup script").innerText(), /read only, created .*, never used, expires /);

  const answer = await request(secret, "{ viewer { id } }");
  assert.equal(answer.status, 200);
  assert.ok((await answer.json()).data.viewer.id);
  const refused = await (await request(secret, "mutation { createSession(input: {}) { session { id } } }")).json();
  assert.equal(refused.errors[0].extensions.code, "INSUFFICIENT_SCOPE", "a token that only reads does not write");

  await page.getByRole("button", { name: "Done" }).click();
  await openSection(tab, "Usage");
  await openSection(tab, "Access tokens");
  await waitForElement(row(tab, "Backup script"), "the token");
  assert.match(await row(tab, "Backup script").innerText(), /last used /);
  const left = await page.evaluate(() => JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }]));
  assert.ok(!left.includes(secret), "the page keeps no copy");

  await page.getByRole("button", { name: "Revoke Backup script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal((await request(secret, "{ viewer { id } }")).status, 200, "cancelling revokes nothing");
  await page.getByRole("button", { name: "Revoke Backup script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await waitForElement(page.getByText("There are no access tokens."), "the empty list again");
  await until(() => focused(tab, ".settings .sheet"), "the section to have the focus");
  assert.equal((await request(secret, "{ viewer { id } }")).status, 401);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a front end with a token is listed with its use, and a hint leads to what disconnects it", async () => {
  const tab = await logIn();
  const { page } = tab;
  await openSettings(tab);
  const secret = await createToken(tab, "Kitchen tablet");
  assert.equal((await request(secret, "{ viewer { id } }")).status, 200);
  await openSection(tab, "Connected front ends");
  const frontEnd = page.getByRole("list", { name: "Connected front ends" }).getByRole("listitem").filter({ hasText: "Kitchen tablet" });
  await waitForElement(frontEnd, "the front end");
  assert.match(await frontEnd.innerText(), /access token, first used today .*, last used today /);
  await frontEnd.getByRole("link", { name: "Access tokens" }).click();
  await waitForElement(row(tab, "Kitchen tablet"), "the token to revoke");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a server without login says how a front end can be disconnected", async () => {
  // The server lists the front ends of users that it knows.
  await server.newSession();
  const tab = await browser.visit(`${server.url}/#/settings/front-ends`, { userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0" });
  const frontEnd = tab.page.getByRole("list", { name: "Connected front ends" }).getByRole("listitem").filter({ hasText: "Firefox" });
  await waitForElement(frontEnd, "this browser");
  assert.match(await frontEnd.innerText(), /program without a login, first used today .*To disconnect it: This server asks nobody who they are\./s);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("visitors read that their programs are not listed", async () => {
  const tab = await browser.visit(`${guarded.url}/#/settings/front-ends`);
  await tab.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(tab.page.getByText("The programs of visitors are not listed."), "why the list is empty");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});


test("the page says why a user has no access tokens", async () => {
  const local = await browser.visit(`${server.url}/#/settings`);
  await waitForElement(local.page.getByText("This server has no login"), "the explanation on a server without login");
  assert.equal(await local.page.getByRole("button", { name: "Create" }).count(), 0);
  assert.deepEqual(local.problems, []);
  await local.context.close();

  const visitor = await browser.visit(`${guarded.url}/#/settings/tokens`);
  await visitor.page.getByRole("button", { name: "Continue without a login" }).click();
  await waitForElement(visitor.page.getByText("Visitors have no access tokens."), "the explanation for a visitor");
  assert.equal(await visitor.page.getByRole("button", { name: "Create" }).count(), 0);
  assert.deepEqual(visitor.problems, []);
  await visitor.context.close();

  const owner = await logIn();
  await openSettings(owner);
  const secret = await createToken(owner, "For the page");
  const holder = await logIn({}, secret);
  holder.outage = true; // The browser logs the refused request to its console.
  await openSettings(holder);
  await waitForElement(holder.page.getByText("can be managed only after a login"), "the explanation for the holder of a token");
  assert.deepEqual(holder.problems, []);
  await holder.context.close();
  await owner.context.close();
});

test("the usage lists the tokens of model servers, or says that there are none", async () => {
  const tab = await browser.visit(`${server.url}/#/settings/usage`);
  const { page } = tab;
  await waitForElement(page.getByText("No model server was used for you in the last 30 days."), "the empty usage");
  await page.goto(`${server.url}/#/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, "John likes Mary.");
  await waitForElement(page.locator(".message.own .learned li"), "the fact");
  await say(tab, "Who does John like?");
  await waitForElement(page.locator(".message.assistant .sources li"), "the answer");
  await until(async () => (await server.graphql("{ viewer { usage { days { requests } } } }")).viewer.usage.days.length > 0, "the server to count the tokens");
  await openSettings(tab);
  await openSection(tab, "Usage");
  const day = page.getByRole("row").filter({ hasText: "Answers" });
  await waitForElement(day, "the day");
  assert.deepEqual((await day.getByRole("cell").allInnerTexts()).map((text) => text.trim()), ["Answers", "1", "1,200", "34"]);
  await waitForElement(page.getByText("Model servers used 1,234 tokens for you"), "the total");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the kinds that are never stored are listed with the marks that the server writes", async () => {
  const { id } = await server.newSession();
  const texts = [
    "My card is 4111 1111 1111 1111.", "My account is DE89 3704 0044 0532 0130 00.", "The repository is at https://me:hunter2@example.org/code.",
    "My password is Tr0ub4dor&3.", "My social security number is 536-22-8726.",
  ];
  for (const text of texts) await server.say(id, text);
  const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { messages(first: 10) { nodes { text } } } }", { id });
  const written = session.messages.nodes.map(({ text }) => /\[[a-z ]+\]/.exec(text)?.[0]);
  const tab = await browser.visit(`${server.url}/#/settings/never-stored`);
  const { page } = tab;
  const kinds = page.getByRole("list", { name: "Never stored" }).getByRole("listitem");
  await waitForElement(kinds, "the kinds");
  assert.deepEqual(await kinds.locator("code").allInnerTexts(), ["[card number]", "[bank account]", "[secret key]", "[password]", "[security number]"]);
  assert.deepEqual(written, ["[card number]", "[bank account]", "[secret key]", "[password]", "[security number]"]);
  await waitForElement(page.getByText("The operator of this server chooses the kinds."), "who chooses them");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a server that stores everything says so", async () => {
  const open = await Server.start({ RECALL_NEVER_STORE: "" });
  try {
    const tab = await browser.visit(`${open.url}/#/settings/never-stored`);
    await waitForElement(tab.page.getByText("none of the kinds of text"), "the sentence");
    assert.equal(await tab.page.getByRole("list", { name: "Never stored" }).count(), 0);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  } finally {
    await open.stop();
  }
});

test("a theme applies at once in all tabs, and before the first paint after a reload", async () => {
  const tab = await browser.visit(`${server.url}/#/settings/appearance`, { colorScheme: "light", serviceWorkers: "block" });
  const { page } = tab;
  const other = await browser.visit(`${server.url}/`, { visitor: tab });
  await waitForPhase(other, "live");
  await waitForElement(page.getByLabel("Dark"), "the choice");
  assert.ok(await page.getByLabel("Like the system").isChecked());
  assert.equal(await background(tab), LIGHT);
  await page.getByLabel("Dark").check();
  assert.equal(await background(tab), DARK);
  await until(async () => (await background(other)) === DARK, "the other tab to follow");

  // Hold the script of the page back. What is painted meanwhile must be dark already.
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/assets/index-*.js", async (route) => {
    await held;
    await route.fallback();
  });
  await page.reload({ waitUntil: "commit" });
  await page.waitForFunction(() => document.body && document.styleSheets.length > 0);
  assert.equal(await background(tab), DARK);
  await waitForElement(page.locator("#app > .early"), "the page that has not started");
  release();
  await waitForElement(page.getByLabel("Dark"), "the settings again");
  assert.ok(await page.getByLabel("Dark").isChecked());
  assert.equal(await background(tab), DARK);
  await page.getByLabel("Light").check();
  await until(async () => (await background(other)) === LIGHT, "the other tab to follow");
  assert.deepEqual([...tab.problems, ...other.problems], []);
  await tab.context.close();
});

test("a style of dates applies at once to chat, entities, memory and documents", async () => {
  const { id } = await server.newSession();
  const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", {
    i: { sessionId: id, messages: [{ text: "Wilhelmina lives in Ghent.", sentAt: "2021-03-05T15:04:00Z" }] },
  });
  assert.deepEqual(importMessages.errors, []);
  await server.settledHead(id);
  const { addDocument } = await server.graphql('mutation { addDocument(input: { path: "rowing.txt", text: "Rowing is a sport on water." }) { document { id } errors { message } } }');
  assert.deepEqual(addDocument.errors, []);

  const tab = await browser.visit(`${server.url}/#/s/${id}`, { locale: "en-US", timezoneId: "UTC" });
  const { page } = tab;
  const settings = await browser.visit(`${server.url}/#/settings/appearance`, { visitor: tab });
  const choose = (label) => settings.page.getByLabel(label).check();
  const time = page.locator(".message.own footer time");
  await waitForElement(time, "the message");
  assert.match(await time.innerText(), /^3:04\sPM$/);
  await choose(/^German/);
  await until(async () => (await time.innerText()) === "15:04", "the chat to follow without a reload");

  await page.locator(".message .mention", { hasText: "Wilhelmina" }).click();
  const mention = page.locator(".mentions time");
  await until(async () => (await mention.innerText().catch(() => "")).includes("5. März 2021"), "the German date of the mention");
  await choose(/^American/);
  await until(async () => (await mention.innerText()).includes("Mar 5, 2021"), "the American date");
  await choose(/^ISO/);
  await until(async () => (await mention.innerText()).includes("2021-03-05"), "the date of ISO 8601");

  await page.goto(`${server.url}/#/memory?text=Wilhelmina`);
  await page.locator(".memory-page .row").filter({ hasText: "Ghent" }).locator("[data-row]").click();
  await waitForElement(page.locator(".fact-detail time", { hasText: "2021-03-05" }), "the date of the statement in the Memory page");
  // In another year than that of the document, so that its date has the year.
  await page.clock.setFixedTime(new Date("2100-01-01T12:00:00Z"));
  await page.goto(`${server.url}/#/d/${addDocument.document.id}`);
  const added = page.locator(".doc-head");
  await waitForElement(added.filter({ hasText: /added \d{4}-\d\d-\d\d/ }), "the document's date of ISO 8601");
  await choose(/^American/);
  await waitForElement(added.filter({ hasText: /added [A-Z][a-z]+ \d+, \d{4}/ }), "the document's date to follow");
  await page.reload();
  await waitForElement(added.filter({ hasText: /added [A-Z][a-z]+ \d+, \d{4}/ }), "the American date after a reload");
  assert.deepEqual([...tab.problems, ...settings.problems], []);
  await tab.context.close();
});

test("the connection shows the stream of the open session", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  const id = await sessionIn(tab);
  await openSettings(tab);
  await openSection(tab, "Connection");
  const value = (name) => page.locator(".details dt", { hasText: name }).locator("+ dd").innerText();
  assert.deepEqual([await value("State"), await value("Transport"), await value("Session")], ["live", "data channel", id]);
  await server.say(id, "Ludmila likes rowing.");
  const head = await server.settledHead(id);
  await until(async () => (await value("Cursor")).endsWith(`:${head}`), "the cursor to follow the events");
  const frames = page.locator(".settings tbody tr");
  assert.match(await value("Delay of the last event"), /^(under 1|\d+) ms$|^\d+\.\d s$/);
  assert.equal(await frames.first().locator("th").innerText(), String(head), "the latest event comes first");
  const kinds = await frames.locator("td:nth-child(2)").allInnerTexts();
  for (const kind of ["message_stored", "fact_update"]) assert.ok(kinds.includes(kind), `${kind} is missing in ${kinds.join()}`);
  assert.ok((await frames.locator("td:nth-child(3)").allInnerTexts()).every((bytes) => Number(bytes.replace(/\D/g, "")) > 20));
  assert.ok(!(await page.locator(".settings").innerText()).includes("rowing"), "no text of an event is shown");
  await page.getByRole("button", { name: "Cut the line", exact: true }).click();
  await until(async () => (await value("State")) === "paused", "the cut");
  await server.say(id, "Ludmila likes chess.");
  await server.settledHead(id);
  await page.getByRole("button", { name: "Restore the line", exact: true }).click();
  await until(async () => Number(await value("Replayed events")) > 0, "the replay");
  await waitForElement(frames.filter({ hasText: "replayed" }), "a replayed event");
  assert.deepEqual(await findViolations(tab, "the connection"), []);
  const messages = Array.from({ length: 80 }, (_, i) => ({ text: `Good morning, this is number ${i}.` }));
  await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages } });
  const last = await server.settledHead(id);
  await until(async () => (await frames.first().locator("th").innerText()) === String(last), "the last event");
  assert.equal(await frames.count(), 100);
  await openSection(tab, "Your data");
  await page.getByRole("main").getByRole("link", { name: "Your data" }).last().click();
  await waitForElement(page.getByRole("button", { name: "Delete everything…" }), "the data of the Memory page");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the keyboard alone creates and revokes a token, and chooses a theme", async () => {
  const tab = await logIn({ reducedMotion: "reduce", colorScheme: "light" });
  const { page } = tab;
  const { keyboard } = page;
  const tabTo = async (selector) => {
    for (let presses = 0; presses < 60; presses += 1) {
      if (await focused(tab, selector)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`Tab never reached ${selector}`);
  };
  const press = async (selector, key = "Enter") => {
    await tabTo(selector);
    await keyboard.press(key);
  };
  await press('header a[href="#/settings"]');
  await tabTo('input[name="name"]');
  await keyboard.type("Keys");
  await keyboard.press("Enter");
  await until(() => focused(tab, ".secret input"), "the new token to have the focus");
  assert.match(await page.evaluate(() => getSelection().toString()), /^recall_pat_/, "it is selected");
  await press(".secret .plain");
  await until(() => focused(tab, ".settings .sheet"), "the section to have the focus");
  await press('[aria-label="Revoke Keys"]');
  await until(() => focused(tab, "dialog .plain"), "Cancel to have the focus");
  await keyboard.press("Escape");
  await until(() => focused(tab, '[aria-label="Revoke Keys"]'), "the focus to return");
  await keyboard.press("Enter");
  await press("dialog .danger");
  await until(async () => (await row(tab, "Keys").count()) === 0, "the token to be gone");
  await page.evaluate(() => document.querySelector("header .brand").focus());
  await press('a[href="#/settings/appearance"]');
  await tabTo('input[name="Theme"]');
  await keyboard.press("ArrowDown");
  await keyboard.press("ArrowDown");
  await until(async () => (await background(tab)) === DARK, "the dark theme");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in the settings on a ${size}, ${colorScheme}`, async () => {
      const violations = [];
      const check = async (tab, view) => {
        violations.push(...(await findViolations(tab, view)));
        assert.equal(await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${view}: nothing is wider than the screen`);
      };
      const tab = await logIn({ ...options, colorScheme, reducedMotion: "reduce" });
      await openSettings(tab);
      const name = `A token with a long name for a script that runs every night ${size} ${colorScheme}`;
      await createToken(tab, name);
      await check(tab, "a new access token");
      await tab.page.getByRole("button", { name: `Revoke ${name}` }).click();
      await check(tab, "a revocation to confirm");
      await tab.page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      for (const section of ["Connected front ends", "Usage", "Never stored", "Appearance", "Your data", "Connection"]) {
        await openSection(tab, section);
        await check(tab, section);
      }
      await tab.context.close();

      const local = await browser.visit(`${server.url}/#/settings`, { ...options, colorScheme, reducedMotion: "reduce" });
      await waitForElement(local.page.getByText("This server has no login"), "the explanation");
      await check(local, "access tokens without a login");
      await openSection(local, "Usage");
      await waitForElement(local.page.getByRole("table"), "the usage");
      await check(local, "usage with a model");
      await local.context.close();
      assert.deepEqual(violations, []);
    });
  }
}
