// The list of sessions: pinning, archiving, renaming and searching, and pausing what is remembered.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findViolations } from "./axe.mjs";
import { chooseAction, fact, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";
import { zipOf } from "../zip.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };

async function create(title, ...texts) {
  const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
  for (const text of texts) await server.say(createSession.session.id, text);
  if (texts.length > 0) await server.settledHead(createSession.session.id);
  return createSession.session.id;
}
const update = (sessionId, change) => server.graphql("mutation ($i: UpdateSessionInput!) { updateSession(input: $i) { errors { code } } }", { i: { sessionId, ...change } });
const pauseAll = (paused) => server.graphql("mutation ($p: Boolean!) { updateViewer(input: { paused: $p }) { errors { code } } }", { p: paused });
const stateOf = async (id) => (await server.graphql("query ($id: ID!) { session(id: $id) { title pinned archived paused } }", { id })).session;
const factsOf = async (id) => (await server.graphql("query ($id: ID!) { session(id: $id) { facts(first: 1) { totalCount } } }", { id })).session.facts.totalCount;

const nav = (page) => page.getByRole("navigation", { name: "Sessions" });
const item = (page, id) => nav(page).locator(`[data-session="${id}"]`);
const pinnedItem = (page, id) => nav(page).getByRole("list", { name: "Pinned" }).locator(`[data-session="${id}"]`);
const search = (page) => nav(page).getByRole("searchbox", { name: "Search sessions" });
const notice = (page) => page.locator(".session-notice");
const messageWith = (page, text) => page.locator(".message.own", { hasText: text });
const row = (page, title) => page.locator(".memory-page .row", { hasText: title });

async function visitSession(id, options) {
  const tab = await browser.visit(`${server.url}/#/s/${id}`, options);
  await waitForPhase(tab, "live");
  await waitForElement(item(tab.page, id), "the session in the list");
  return tab;
}

test("the reply to a command is no title, and an imported session has the date of its last message", async () => {
  await create(null, "I own a submarine.");
  // Nothing is kept of a command that forgets something.
  const commanded = await create(null, "Forget that I own a submarine.");
  const { createSession } = await server.graphql("mutation { createSession(input: { title: \"Old chat\" }) { session { id } } }");
  const imported = createSession.session.id;
  const messages = [{ text: "I moved to Ghent.", sentAt: "2019-03-04T10:00:00Z" }, { text: "Ghent is lovely.", sentAt: "2019-03-05T10:00:00Z" }];
  await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: imported, messages } });
  const tab = await visitSession(imported);
  const { page } = tab;
  await until(async () => /2019/.test(await item(page, imported).locator("small").innerText()), "the date of the last message");
  await until(async () => (await item(page, commanded).locator("a span").innerText()) === "New session", "the title without the command");
  await tab.context.close();
});

test("menu of a session renames, pins, archives and deletes it", async () => {
  const id = await create("Trip to Bruges", "Ada likes canals.");
  const tab = await visitSession(id);
  const { page } = tab;
  await chooseAction(item(page, id), "Pin");
  await waitForElement(pinnedItem(page, id), "the session among the pinned ones");
  await chooseAction(item(page, id), "Rename");
  await page.getByRole("textbox", { name: "Title" }).fill("Trip to Ypres");
  await page.keyboard.press("Enter");
  await waitForElement(pinnedItem(page, id).getByText("Trip to Ypres"), "the new title");
  await chooseAction(item(page, id), "Rename");
  await page.getByRole("textbox", { name: "Title" }).fill("Never");
  await page.keyboard.press("Escape");
  await waitForElement(pinnedItem(page, id).getByText("Trip to Ypres"), "the title as it was");
  await chooseAction(item(page, id), "Unpin");
  await until(async () => (await pinnedItem(page, id).count()) === 0, "the session to leave the pinned ones");

  await chooseAction(item(page, id), "Archive");
  await waitForElement(notice(page).getByText("This session is archived."), "the notice in the open session");
  assert.equal(await item(page, id).count(), 0, "the list does not show it");
  assert.deepEqual(await stateOf(id), { title: "Trip to Ypres", pinned: false, archived: true, paused: false });
  await nav(page).getByRole("link", { name: "Archived (1)" }).click();
  await waitForElement(row(page, "Trip to Ypres"), "the session on the Memory page");
  assert.equal(await row(page, "").count(), 1, "only archived sessions are listed");
  await page.goBack();
  await notice(page).getByRole("button", { name: "Unarchive" }).click();
  await waitForElement(item(page, id), "the session in the list again");
  assert.equal(await notice(page).count(), 0);

  await chooseAction(item(page, id), "Delete…");
  await page.keyboard.press("Escape");
  await until(async () => (await page.getByRole("button", { name: "Delete?" }).count()) === 0, "the question to be gone");
  await chooseAction(item(page, id), "Delete…");
  await page.getByRole("button", { name: "Delete?" }).click();
  await until(async () => (await item(page, id).count()) === 0, "the session to be gone");
  assert.equal(await stateOf(id), null);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("search finds sessions by title and by what was said", async () => {
  const titled = await create("Cinnamon rolls");
  const said = await create("Sunday", "My mother bakes cinnamon cake on Sundays.");
  const archived = await create("Old cinnamon prices");
  await update(archived, { archived: true });
  const open = await create("Something else", "Bela likes tea.");
  const tab = await visitSession(open);
  const { page } = tab;
  await page.keyboard.press("Control+k");
  await until(() => search(page).evaluate((field) => field === document.activeElement), "the focus in the search field");
  await page.keyboard.type("cinnamon");
  const byTitle = nav(page).getByRole("list", { name: "Found by title" });
  await waitForElement(byTitle.getByText("Cinnamon rolls"), "the session by its title");
  await waitForElement(byTitle.locator(`[data-session="${archived}"] .badge`, { hasText: "archived" }), "the archived session with its mark");
  assert.equal(await byTitle.getByRole("listitem").count(), 2);
  const result = nav(page).getByRole("list", { name: "Said in" }).getByRole("listitem");
  assert.equal(await result.count(), 1);
  assert.match(await result.innerText(), /Sunday\s+My mother bakes cinnamon cake/);
  await result.getByRole("link").click();
  await waitForElement(page.locator(".message", { hasText: "cinnamon cake" }), "the message");
  assert.match(page.url(), new RegExp(said));
  await search(page).focus();
  await page.keyboard.press("Escape");
  await waitForElement(item(page, titled), "the whole list");
  assert.equal(await item(page, archived).count(), 0);
  await search(page).fill("zzyzx");
  await waitForElement(nav(page).getByText("Nothing found."), "the empty result");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("nothing is learned while a session is paused, and again after it resumes", async () => {
  const id = await create("Private matters");
  const tab = await visitSession(id);
  const { page } = tab;
  await chooseAction(item(page, id), "Pause remembering");
  await waitForElement(notice(page).getByText("Remembering is paused in this session. What you write is stored, but nothing is learned from it."), "the notice");
  await waitForElement(item(page, id).locator(".badge", { hasText: "paused" }), "the mark in the list");
  await say(tab, "Cleo lives in Namur.");
  await waitForElement(messageWith(page, "Namur").getByText("not remembered"), "the mark of the message");
  await server.settledHead(id);
  assert.equal(await factsOf(id), 0);
  await notice(page).getByRole("button", { name: "Resume" }).click();
  await until(async () => (await notice(page).count()) === 0, "the notice to be gone");
  await say(tab, "Cleo likes waffles.");
  await waitForElement(fact(tab, "Cleo", "waffles"), "the fact of the next message");
  assert.equal(await messageWith(page, "waffles").getByText("not remembered").count(), 0);
  assert.equal(await fact(tab, "Namur").count(), 0);
  await page.reload();
  await waitForElement(messageWith(page, "Namur").getByText("not remembered"), "the mark after a reload");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("switch in the settings pauses all sessions", async () => {
  const id = await create("Everyday", "Dora likes rain.");
  const tab = await browser.visit(`${server.url}/#/settings/remembering`);
  const { page } = tab;
  const pause = page.getByRole("switch", { name: "Pause remembering in all sessions" });
  await pause.check();
  await waitForElement(page.getByText("Remembering is paused."), "the state in words");
  await page.goto(`${server.url}/#/s/${id}`);
  await waitForElement(notice(page).getByText("Remembering is paused in all sessions."), "the notice");
  await waitForPhase(tab, "live");
  await say(tab, "Dora lives in Mons.");
  await waitForElement(messageWith(page, "Mons").getByText("not remembered"), "the mark of the message");
  await server.settledHead(id);
  assert.equal(await fact(tab, "Mons").count(), 0);
  await notice(page).getByRole("button", { name: "Resume" }).click();
  await until(async () => (await notice(page).count()) === 0, "the notice to be gone");
  await page.goto(`${server.url}/#/settings/remembering`);
  await waitForElement(page.getByText("Recall remembers what you write."), "the state in words");
  assert.equal(await pause.isChecked(), false);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("changes elsewhere appear in another page at once", async () => {
  const id = await create("Shared screen", "Egon likes jazz.");
  const one = await visitSession(id);
  const two = await visitSession(id);
  const three = await browser.visit(`${server.url}/#/memory/sessions/${id}`);
  await waitForElement(row(three.page, "Shared screen"), "the session on the Memory page");
  await chooseAction(item(one.page, id), "Pin");
  await waitForElement(pinnedItem(two.page, id), "the session among the pinned ones");
  await waitForElement(row(three.page, "Shared screen").locator(".badge", { hasText: "pinned" }), "the mark on the Memory page");
  await waitForElement(three.page.getByRole("button", { name: "Unpin" }), "the action on the Memory page");
  await chooseAction(item(one.page, id), "Pause remembering");
  await waitForElement(notice(two.page), "the notice");
  await say(one, "Egon lives in Arlon.");
  await waitForElement(messageWith(two.page, "Arlon").getByText("not remembered"), "the mark of the message");
  await chooseAction(item(two.page, id), "Rename");
  await two.page.getByRole("textbox", { name: "Title" }).fill("Jazz");
  await two.page.keyboard.press("Enter");
  await waitForElement(pinnedItem(one.page, id).getByText("Jazz"), "the new title");
  await chooseAction(item(two.page, id), "Archive");
  await until(async () => (await item(one.page, id).count()) === 0, "the archived session to leave the list");
  // The server sends no event of the pause of all sessions, so the other pages see it with the next event.
  await update(id, { paused: false });
  await pauseAll(true);
  await update(id, { archived: false });
  await waitForElement(notice(one.page).getByText("in all sessions"), "the notice");
  await pauseAll(false);
  for (const { context, problems } of [one, two, three]) {
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test("the Memory page filters sessions and changes them", async () => {
  const id = await create("Filtered garden", "Fritz likes roses.");
  await create("Filtered kitchen");
  const tab = await browser.visit(`${server.url}/#/memory/sessions`);
  const { page } = tab;
  await page.getByRole("searchbox", { name: "Search titles" }).fill("filtered");
  await until(async () => (await row(page, "").count()) === 2, "the two sessions");
  await row(page, "Filtered garden").locator("[data-row]").click();
  const pane = page.locator(".session-detail");
  await waitForElement(pane.getByText("Fritz likes roses."), "what the session is about");
  for (const action of ["Pin", "Archive", "Pause remembering"]) await pane.getByRole("button", { name: action, exact: true }).click();
  for (const mark of ["pinned", "archived", "paused"]) await waitForElement(row(page, "Filtered garden").locator(".badge", { hasText: mark }), `the mark ${mark}`);
  await until(async () => JSON.stringify(await stateOf(id)) === JSON.stringify({ title: "Filtered garden", pinned: true, archived: true, paused: true }), "the server to store all changes");
  await page.getByRole("combobox", { name: "Archived" }).selectOption("no");
  await until(async () => (await row(page, "").count()) === 1, "the session that is not archived");
  assert.match(page.url(), /text=filtered/);
  assert.match(page.url(), /archived=no/);
  await waitForElement(pane.getByRole("button", { name: "Unarchive" }), "the open session, although the filter excludes it");
  await page.reload();
  await until(async () => (await row(page, "").count()) === 1, "the same list after a reload");
  await waitForElement(pane.getByRole("button", { name: "Unarchive" }), "the same session after a reload");
  await page.getByRole("combobox", { name: "Pinned" }).selectOption("yes");
  await waitForElement(page.getByText("Nothing matches."), "the empty list");
  await pane.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await until(async () => (await stateOf(id)) === null, "the session to be deleted");
  await until(async () => (await pane.count()) === 0, "the pane to be empty");
  assert.match(page.url(), /#\/memory\/sessions\?/, "the Memory page stays open");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the keyboard alone opens the menu, pins, renames and searches", async () => {
  const id = await create("Keys", "Gerda likes chess.");
  const tab = await visitSession(id);
  const { page } = tab;
  const { keyboard } = page;
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent);
  const isFocused = (name) => until(async () => (await focused()) === name, `the focus on ${name}`);
  await item(page, id).getByRole("link").focus();
  await keyboard.press("Tab");
  await isFocused("Actions for Keys");
  await keyboard.press("Enter");
  await isFocused("Rename");
  await keyboard.press("ArrowDown");
  await isFocused("Pin");
  await keyboard.press("ArrowUp");
  await keyboard.press("ArrowUp");
  await isFocused("Delete…");
  await keyboard.press("ArrowDown");
  await isFocused("Rename");
  await keyboard.press("Escape");
  await isFocused("Actions for Keys");
  await keyboard.press("Space");
  await isFocused("Rename");
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await waitForElement(pinnedItem(page, id), "the pinned session");
  await isFocused("Actions for Keys");
  await keyboard.press("Enter");
  await isFocused("Rename");
  await keyboard.press("Enter");
  await isFocused("Title");
  await keyboard.type("Locks");
  await keyboard.press("Enter");
  await isFocused("Actions for Locks");
  await keyboard.press("Enter");
  await isFocused("Rename");
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await isFocused("Delete?");
  await keyboard.press("Escape");
  await isFocused("Actions for Locks");
  await keyboard.press("Control+k");
  await isFocused("Search sessions");
  await keyboard.type("chess");
  await waitForElement(nav(page).getByRole("list", { name: "Said in" }).getByText("Locks"), "the result");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("list shows more sessions than the first page", async () => {
  const first = await create("The oldest of many");
  for (let n = 0; n < 55; n += 1) await create(`Many ${n}`);
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForElement(search(page), "the search field");
  assert.equal(await item(page, first).count(), 0);
  await nav(page).getByRole("button", { name: "Show more" }).click();
  await waitForElement(item(page, first), "the oldest session");
  // A change reloads the list, but not only its first page.
  await update(first, { paused: true });
  await waitForElement(item(page, first).locator(".badge"), "the mark of the oldest session");
  await update(first, { pinned: true });
  await page.reload();
  await waitForElement(pinnedItem(page, first), "the oldest session among the pinned ones");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

const chatsFile = fileURLToPath(new URL("../../../tests/data/imports/chatgpt.json", import.meta.url));
const memoriesFile = fileURLToPath(new URL("../../../tests/data/imports/mem0.json", import.meta.url));
const importFile = async (page, file) => {
  await page.getByLabel("File with chats").setInputFiles(file);
  await waitForElement(page.getByRole("dialog"), "the preview");
};

test("chats of another program are imported once", async () => {
  const tab = await browser.visit(`${server.url}/#/memory/data`);
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await waitForElement(page.getByRole("button", { name: "Import…" }), "the button");
  const runImport = async (result) => {
    await importFile(page, chatsFile);
    await waitForElement(dialog.getByText("2 chats with 6 messages."), "what the file contains");
    await dialog.getByRole("button", { name: "Import", exact: true }).press("Enter");
    await waitForElement(dialog.getByText(result), "the result");
    const close = dialog.getByRole("button", { name: "Close" }).last();
    await until(() => close.evaluate((node) => node === document.activeElement), "the focus on the button that closes");
    await close.press("Enter");
  };
  const imported = async () => {
    const { sessions } = await server.graphql('{ sessions(first: 20, filter: { text: "Family" }) { nodes { id title messages(first: 20) { nodes { role text sentAt } } } } }');
    return sessions.nodes;
  };
  await runImport("Done. 2 of 2 chats.");
  const [session, ...others] = await imported();
  assert.deepEqual(others, []);
  assert.equal(session.messages.nodes.length, 4);
  assert.deepEqual({ ...session.messages.nodes[0], sentAt: Date.parse(session.messages.nodes[0].sentAt) }, { role: "USER", text: "My sister Maren lives in Lyon.", sentAt: Date.parse("2025-03-01T10:00:01.500Z") });
  await runImport("Done. 2 of 2 chats, 2 of them known before.");
  const again = await imported();
  assert.equal(again.length, 1, "no second session");
  assert.equal(again[0].messages.nodes.length, 4, "no message twice");
  await until(async () => (await factsOf(session.id)) > 0, "the facts");
  await page.getByLabel("File with chats").setInputFiles({ name: "notes.json", mimeType: "application/json", buffer: Buffer.from('{"notes": []}') });
  await waitForElement(page.getByText("This is no export of ChatGPT, Claude, Open WebUI, mem0 or Recall."), "the refusal");
  await page.getByLabel("File with chats").setInputFiles({ name: "export.zip", mimeType: "application/zip", buffer: Buffer.from("PK") });
  await waitForElement(page.getByText("Unpack a ZIP archive"), "the hint about archives");
  const archive = await (await fetch(`${server.url}/export`)).text();
  const exported = (text) => ({ name: "recall-memory.jsonl", mimeType: "application/octet-stream", buffer: Buffer.from(text) });
  await page.getByLabel("File with chats").setInputFiles(exported(archive.slice(0, -40)));
  await waitForElement(page.getByText("This export of Recall is incomplete"), "what to do with half an export");
  await importFile(page, exported(archive));
  await waitForElement(dialog.getByText("The facts are read from the messages again"), "what an export does not bring");
  await dialog.getByRole("button", { name: "Import", exact: true }).press("Enter");
  await waitForElement(dialog.getByText(/Done\. (\d+) of \1 chats, \1 of them known before\./), "the result of an import into the same memory");
  assert.equal((await imported())[0].messages.nodes.length, 4, "no message twice");
  await dialog.getByRole("button", { name: "Close" }).last().press("Enter");
  // The same export, after its chats were deleted.
  await server.graphql("mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }", { id: session.id });
  await importFile(page, exported(archive));
  await dialog.getByRole("button", { name: "Import", exact: true }).press("Enter");
  await waitForElement(dialog.getByText(/^Done\./), "the end of the import");
  const [back, ...more] = await imported();
  assert.deepEqual(more, []);
  assert.deepEqual(back.messages.nodes, session.messages.nodes, "the messages with their dates");
  await until(async () => (await factsOf(back.id)) > 0, "the facts again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("memories of mem0 become statements of the user, once, and a ZIP archive is unpacked", async () => {
  const tab = await browser.visit(`${server.url}/#/memory/data`);
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  await waitForElement(page.getByRole("button", { name: "Import…" }), "the button");
  for (const result of ["Done. 1 of 1 chat.", "Done. 1 of 1 chat, 1 of them known before."]) {
    await importFile(page, memoriesFile);
    await waitForElement(dialog.getByText("3 memories. They become messages of one session"), "what the file contains");
    await dialog.getByRole("button", { name: "Import", exact: true }).press("Enter");
    await waitForElement(dialog.getByText(result), "the result");
    await dialog.getByRole("button", { name: "Close" }).last().press("Enter");
  }
  const { sessions } = await server.graphql('{ sessions(first: 20, filter: { text: "Memories from mem0" }) { nodes { id messages(first: 20) { nodes { text } } } } }');
  assert.equal(sessions.nodes.length, 1);
  assert.deepEqual(sessions.nodes[0].messages.nodes.map(({ text }) => text), ["I live in Ghent", "My name is Anna", "Maren works at Airbus"]);
  await until(async () => (await factsOf(sessions.nodes[0].id)) > 1, "the facts");

  await page.getByLabel("File with chats").setInputFiles({ name: "export.zip", mimeType: "application/zip", buffer: zipOf({ "user.json": "{}", "conversations.json": await readFile(chatsFile) }) });
  await waitForElement(dialog.getByText("2 chats with 6 messages."), "what the archive contains");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("File with chats").setInputFiles({ name: "export.zip", mimeType: "application/zip", buffer: zipOf({ "user.json": "{}" }) });
  await waitForElement(page.getByText("The ZIP archive contains no conversations.json."), "the refusal");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("import stops between two chats", async () => {
  const chats = Array.from({ length: 3 }, (_, n) => ({ uuid: `chat-${n}`, name: `Stopped ${n}`, chat_messages: [{ uuid: `message-${n}`, sender: "human", text: "Ines likes dates.", created_at: "2025-01-01T10:00:00Z" }] }));
  const tab = await browser.visit(`${server.url}/#/memory/data`);
  const { page } = tab;
  const dialog = page.getByRole("dialog");
  let release;
  let isHeld = false;
  const released = new Promise((resolve) => { release = resolve; });
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("mutation ImportChat")) {
      isHeld = true;
      await released;
    }
    await route.continue();
  });
  await waitForElement(page.getByRole("button", { name: "Import…" }), "the button");
  await importFile(page, { name: "conversations.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(chats)) });
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await until(() => isHeld, "the request with the first chat");
  await dialog.getByRole("button", { name: "Stop" }).click();
  release();
  await waitForElement(dialog.getByText("Stopped. 1 of 3 chats."), "the state after the first chat");
  const { sessions } = await server.graphql('{ sessions(first: 20, filter: { text: "Stopped" }) { totalCount } }');
  assert.equal(sessions.totalCount, 1);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation in sessions on a ${size}, ${colorScheme}`, async () => {
      const id = await create(`A rather long title of ${size} and ${colorScheme}`, "Hilde likes opera.");
      await update(id, { pinned: true, paused: true });
      await server.say(id, "Hilde lives in Tournai.");
      const tab = await browser.visit(`${server.url}/#/s/${id}`, { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => {
        violations.push(...(await findViolations(tab, view)));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${view}: nothing is wider than the screen`);
      };
      await waitForPhase(tab, "live");
      await waitForElement(messageWith(page, "Tournai").getByText("not remembered"), "the mark of the message");
      await check("a paused session");
      if (size === "phone") {
        await page.getByRole("button", { name: "Sessions", exact: true }).click();
        await until(() => item(page, id).isVisible(), "the list to open");
      }
      await item(page, id).getByRole("button", { name: /^Actions for/ }).click();
      const menu = await page.getByRole("menu").boundingBox();
      assert.ok(menu.x >= 0 && menu.x + menu.width <= options.viewport.width && menu.y + menu.height <= options.viewport.height, "the menu is within the screen");
      await check("the menu");
      await page.getByRole("menuitem", { name: "Rename" }).click();
      await check("renaming");
      await page.keyboard.press("Escape");
      if (size === "phone") assert.equal(await item(page, id).isVisible(), true, "the list stays open");
      await page.keyboard.press("Control+k");
      await search(page).fill("opera");
      await waitForElement(nav(page).locator("q"), "the result");
      await check("the search");
      if (size === "phone") {
        await nav(page).locator("q").first().click();
        await until(async () => !(await search(page).isVisible()), "the list to close");
      }
      await page.goto(`${server.url}/#/memory/sessions/${id}?pinned=yes`);
      await waitForElement(page.locator(".session-detail"), "the session");
      await check("a session on the Memory page");
      await page.getByRole("button", { name: "Delete…" }).click();
      await check("deleting a session");
      await page.keyboard.press("Escape");
      await page.goto(`${server.url}/#/memory/data`);
      await waitForElement(page.getByRole("button", { name: "Import…" }), "the data");
      await importFile(page, chatsFile);
      await check("an import");
      await page.keyboard.press("Escape");
      await page.goto(`${server.url}/#/settings/remembering`);
      await waitForElement(page.getByRole("switch"), "the switch");
      await check("the settings");
      assert.deepEqual(violations, []);
      assert.deepEqual(tab.problems, []);
      await tab.context.close();
    });
  }
}

/** Answers requests of an operation later, as on a slow line. */
const slowDown = (page, operation, ms) => page.route("**/graphql", async (route) => {
  if (route.request().postData()?.includes(operation)) await new Promise((resolve) => setTimeout(resolve, ms));
  await route.fallback();
});
const textsOf = async (id) => (await server.graphql("query ($id: ID!) { session(id: $id) { messages(last: 50) { nodes { role text } } } }", { id })).session.messages.nodes.filter(({ role }) => role === "USER").map(({ text }) => text);

/** Names all unused sessions, so that "New session" creates one. */
async function nameUnused() {
  const { sessions } = await server.graphql("{ sessions(first: 100) { nodes { id title messages(first: 1) { nodes { id } } } } }");
  for (const { id, title, messages } of sessions.nodes) if (!title && messages.nodes.length === 0) await update(id, { title: "Unused" });
}

test("what is written after \"New session\" goes to the new session on a slow line", async () => {
  await nameUnused();
  const old = await create("The old session", "Boris likes canals.");
  const tab = await visitSession(old);
  const { page } = tab;
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("A draft of the old session");
  // Each step of the opening takes its time: the creation, the list and the messages.
  for (const operation of ["mutation CreateSession", "query Sessions", "query Head"]) await slowDown(page, operation, 900);
  await page.getByRole("button", { name: "New session", exact: true }).click();
  // Nobody looks for the field first.
  await page.keyboard.type("Carla likes tea.");
  await page.keyboard.press("Enter");
  // The second is written when the session has been created, and is not yet open.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  await field.fill("Carla likes chess.");
  await page.keyboard.press("Enter");
  await new Promise((resolve) => setTimeout(resolve, 1200));
  await field.fill("A draft of the new session");
  const id = await until(() => page.evaluate((before) => { const now = /#\/s\/(.+)/.exec(location.hash)?.[1]; return now !== before && now; }, old), "the new session");
  await waitForElement(messageWith(page, "Carla likes chess."), "the messages in the new session");
  await until(async () => (await page.locator(".message.own[data-stage='processed']").count()) === 2, "both to be read");
  assert.equal(await field.inputValue(), "A draft of the new session");
  assert.deepEqual(await textsOf(id), ["Carla likes tea.", "Carla likes chess."]);
  assert.deepEqual(await textsOf(old), ["Boris likes canals."]);
  await item(page, old).getByRole("link").click();
  await waitForElement(messageWith(page, "Boris likes canals."), "the old session");
  await until(async () => (await field.inputValue()) === "A draft of the old session", "its draft");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("\"New session\" opens an unused session, but none that the user has marked", async () => {
  const talk = await create(null, "Ludwig likes tea.");
  const marked = [await create("Ideas"), await create(null), await create(null), await create(null)];
  await update(marked[1], { archived: true });
  await update(marked[2], { pinned: true });
  await update(marked[3], { paused: true });
  const unused = await create(null);
  const tab = await visitSession(talk);
  const { page } = tab;
  await waitForElement(item(page, unused), "the unused session in the list");
  const inUrl = () => page.evaluate(() => /#\/s\/(.+)/.exec(location.hash)?.[1]);
  const count = async () => (await server.graphql("{ sessions(first: 1) { totalCount } }")).sessions.totalCount;
  const before = await count();
  const press = async () => {
    await page.getByRole("button", { name: "New session", exact: true }).click();
    return until(async () => { const id = await inUrl(); return id !== talk && (await page.locator(".welcome").count()) === 1 && id; }, "an empty session");
  };
  const backToTalk = async () => {
    await item(page, talk).getByRole("link").click();
    await waitForElement(messageWith(page, "Ludwig likes tea."), "the conversation");
  };
  for (let time = 1; time <= 3; time += 1) {
    assert.equal(await press(), unused);
    assert.equal(await press(), unused, "the open one is unused");
    await backToTalk();
  }
  assert.equal(await count(), before);
  // The user names it: now it is no new session any more.
  await update(unused, { title: "Plans" });
  await waitForElement(item(page, unused).filter({ hasText: "Plans" }), "the title");
  const next = await press();
  assert.ok(![unused, ...marked].includes(next), "a marked session");
  await say(tab, "Ludwig likes chess.");
  await waitForElement(messageWith(page, "Ludwig likes chess."), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a new session opens from the page of an unknown one, also before the list of sessions is read", async () => {
  const tab = await browser.visit(`${server.url}/healthz`);
  const { page } = tab;
  for (const operation of ["query Sessions", "mutation CreateSession"]) await slowDown(page, operation, 1500);
  await page.goto(`${server.url}/#/s/00000000-0000-7000-8000-000000000000`);
  await page.getByRole("button", { name: "Start a new session" }).click();
  await waitForPhase(tab, "live");
  await waitForElement(page.locator(".welcome"), "the empty session");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("what was written for a session that cannot be created is not sent, and comes back into the field", async () => {
  await nameUnused();
  const old = await create("The only session", "Doris likes canals.");
  const tab = await visitSession(old);
  const { page } = tab;
  const field = page.getByRole("textbox", { name: "Message" });
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("mutation CreateSession")) return route.fallback();
    await new Promise((resolve) => setTimeout(resolve, 900));
    await route.fulfill({ json: { errors: [{ message: "Too many sessions.", extensions: { code: "LIMIT_REACHED" } }] } });
  });
  await page.getByRole("button", { name: "New session", exact: true }).click();
  await until(() => page.locator("main[data-awaiting]").count(), "the page to wait");
  await field.fill("Emil likes tea.");
  await page.keyboard.press("Enter");
  await waitForElement(page.getByText("It is sent when the new session is open."), "where the message is");
  await waitForElement(page.getByRole("alert").filter({ hasText: "Too many sessions." }), "the reason");
  assert.equal(await field.inputValue(), "Emil likes tea.");
  assert.deepEqual(await textsOf(old), ["Doris likes canals."]);
  await tab.context.close();
});

test("what was sent to a session that is being created comes back into the field after a reload", async () => {
  await nameUnused();
  const old = await create("Before the reload", "Irma likes canals.");
  const tab = await visitSession(old);
  const { page } = tab;
  const field = page.getByRole("textbox", { name: "Message" });
  // Not by a route: a reload would cancel the request, which not every browser tells the page before it goes.
  await page.evaluate(() => {
    const { fetch } = window;
    window.fetch = (url, init) => (init?.body?.includes("mutation CreateSession") ? new Promise(() => {}) : fetch(url, init));
  });
  await page.getByRole("button", { name: "New session", exact: true }).click();
  await until(() => page.locator("main[data-awaiting]").count(), "the page to wait");
  for (const text of ["Jonas likes tea.", "Jonas likes chess."]) {
    await field.fill(text);
    await page.keyboard.press("Enter");
  }
  await waitForElement(page.getByText("It is sent when the new session is open."), "where the messages are");
  await field.fill("Jonas is");
  await page.reload();
  await waitForPhase(tab, "live");
  await until(async () => (await field.inputValue()) === "Jonas likes tea.\nJonas likes chess.\nJonas is", "what was written");
  assert.deepEqual(await textsOf(old), ["Irma likes canals."]);
  await page.keyboard.press("Enter");
  await waitForElement(messageWith(page, "Jonas is"), "the message");
  await page.reload();
  await waitForPhase(tab, "live");
  assert.equal(await field.inputValue(), "", "it does not come back twice");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("what is written after a click on another session goes to that session", async () => {
  const [first, second] = [await create("First", "Franz likes canals."), await create("Second", "Gerda likes canals.")];
  const tab = await visitSession(first);
  const { page } = tab;
  await slowDown(page, "query Head", 1200);
  await item(page, second).getByRole("link").click();
  await until(() => page.locator("main[data-awaiting]").count(), "the page to wait");
  await page.getByRole("textbox", { name: "Message" }).fill("Gerda likes tea.");
  await page.keyboard.press("Enter");
  await waitForElement(messageWith(page, "Gerda likes tea."), "the message in the other session");
  await until(async () => (await textsOf(second)).length === 2, "the message to be stored");
  assert.deepEqual(await textsOf(first), ["Franz likes canals."]);
  assert.equal(await messageWith(page, "Gerda likes tea.").count(), 1, "it is shown once");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
