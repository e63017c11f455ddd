// The conversation: what people write, what they see of it, and where the focus is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { chooseAction, fact, newSession, say, sessionIn, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const US = { locale: "en-US", timezoneId: "UTC" };

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const field = (page) => page.getByRole("textbox", { name: "Message" });
const hasFocus = (locator) => locator.evaluate((node) => node === document.activeElement);
const focusOn = (locator, what) => until(() => hasFocus(locator), `the focus on ${what}`);
/** Pixels between the end of the log and its visible part. */
const belowLog = (page) => page.locator(".log").evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
const own = (page, text) => page.locator(".message.own", { hasText: text });

async function open(id, options) {
  const tab = await browser.visit(`${server.url}/#/s/${id}`, options);
  await waitForPhase(tab, "live");
  return tab;
}

async function importMessages(sessionId, messages) {
  const { importMessages: { errors } } = await server.graphql(
    "mutation ($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code message } } }",
    { input: { sessionId, messages: messages.map(([sentAt, text], n) => ({ role: "USER", text, sentAt, externalId: `${sessionId} ${n}` })) } },
  );
  assert.deepEqual(errors, []);
}

test("a long conversation shows its days, and follows what is written", async () => {
  const { id } = await server.newSession();
  const today = new Date();
  const yesterday = new Date(today.getTime() - 86_400_000).toISOString();
  await importMessages(id, [
    ["2024-11-03T13:01:00Z", "Alma lives in Ghent."], ["2024-11-03T18:30:00Z", "Alma likes tea."], ["2024-11-05T09:05:00Z", "Bruno lives in Lyon."],
    [yesterday, "Bruno likes chess."], ...Array.from({ length: 20 }, (_, n) => [today.toISOString(), `Carla${n} works at ${n < 8 ? "Oakwood" : "Lakeside"}.\n\nThat is the second line of it.`]),
  ]);
  await server.settledHead(id);
  const tab = await open(id, US);
  const { page } = tab;
  assert.deepEqual(await page.locator(".day").allInnerTexts(), ["Nov 3, 2024", "Nov 5, 2024", "Yesterday", "Today"]);
  assert.equal(await own(page, "Alma lives in Ghent").locator("footer time").innerText(), "1:01 PM");
  assert.deepEqual(await findViolations(tab, "a conversation of several days"), []);
  await until(async () => (await belowLog(page)) < 2, "the end of the log");

  await page.locator(".log").hover();
  await page.mouse.wheel(0, -2500);
  await until(async () => (await belowLog(page)) > 800, "the log to scroll up");
  await say(tab, "Dora likes jazz.");
  await waitForElement(own(page, "Dora likes jazz."), "the message");
  await until(async () => (await belowLog(page)) < 2, "the own message to be in view");

  // Messages above vanish when the reply comes below.
  await say(tab, "Forget everything about Oakwood.");
  const reply = page.locator(".message.assistant");
  await waitForElement(reply.filter({ hasText: /I forgot \d+ facts/ }), "the reply");
  assert.equal(await own(page, "works at Oakwood").count(), 0, "the messages are gone");
  await until(async () => (await belowLog(page)) < 2, "the log to follow its end");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a forgotten message says so, and a restored one comes back", async () => {
  const { id } = await server.newSession();
  // The fact about Liv keeps the message, without its text.
  await server.say(id, "Klara lives in Ghent and Liv works at Oakwood.");
  await server.settledHead(id);
  const tab = await open(id);
  const { page } = tab;
  await waitForElement(own(page, "Klara lives in Ghent"), "the message");
  const change = async (query, input) => (await server.graphql(query, { input })).changed;
  const { facts } = await server.graphql('{ facts(filter: { text: "Klara" }) { nodes { id } } }');
  const { token } = await change("mutation ($input: ForgetInput!) { changed: forget(input: $input) { token errors { code } } }", { factIds: facts.nodes.map((known) => known.id), dryRun: false });
  await until(async () => (await own(page, "Klara lives in Ghent").count()) === 0, "the message to go");
  await page.reload();
  await waitForPhase(tab, "live");
  await waitForElement(own(page, "Forgotten"), "the message without its text");
  assert.deepEqual(await findViolations(tab, "a forgotten message"), []);
  await change("mutation ($input: UndoForgetInput!) { changed: undoForget(input: $input) { errors { code } } }", { token });
  await waitForElement(own(page, "Klara lives in Ghent and Liv works at Oakwood."), "the message again");
  assert.equal(await own(page, "Forgotten").count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a draft stays with its session, and a message that is too long is not cut", async () => {
  const { id } = await server.newSession();
  await server.say(id, "Frida likes figs.");
  await server.settledHead(id);
  const tab = await open(id);
  const { page } = tab;
  await focusOn(field(page), "the message field on arrival");
  await page.keyboard.type("A half-written");
  await page.getByRole("link", { name: "Memory", exact: true }).click();
  await waitForElement(page.locator(".memory-page .row"), "the Memory page");
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await until(async () => (await field(page).inputValue()) === "A half-written", "the draft after another place");
  await page.reload();
  await waitForPhase(tab, "live");
  assert.equal(await field(page).inputValue(), "A half-written", "the draft after a reload");
  await newSession(tab);
  assert.equal(await field(page).inputValue(), "", "a new session has no draft");
  await focusOn(field(page), "the message field of the new session");
  await field(page).fill("Another one");
  await page.goBack();
  await until(async () => (await field(page).inputValue()) === "A half-written", "the draft of the first session");
  await page.goForward();
  await until(async () => (await field(page).inputValue()) === "Another one", "the draft of the second session");

  const long = `${"word ".repeat(3200)}and the end 😀`;
  await field(page).fill(long);
  assert.equal(await field(page).inputValue(), long, "nothing is cut");
  const alert = page.getByRole("alert");
  assert.match(await alert.innerText(), /too long to be sent\. A message has at most 16,000 characters/);
  assert.match(await page.locator("#too-long").innerText(), /Now it has 16,013 characters, 13 too many\./);
  assert.equal(await field(page).getAttribute("aria-describedby"), "too-long");
  await field(page).press("Enter");
  assert.ok(await page.getByRole("button", { name: "Send" }).isDisabled());
  assert.deepEqual(await findViolations(tab, "a message that is too long"), []);
  assert.equal(await field(page).inputValue(), long, "it is not sent");
  await field(page).fill("Frida lives in Ghent.");
  assert.equal(await alert.count(), 0);
  await field(page).press("Enter");
  await waitForElement(own(page, "Frida lives in Ghent."), "the short message");
  assert.equal(await field(page).inputValue(), "");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("numbers of facts are the same open and closed, and a new session says what is known elsewhere", async () => {
  const { id } = await server.newSession();
  await server.say(id, "Greta lives in Bruges. Greta was happy that the exhibition of her paintings opened last week.");
  await server.settledHead(id);
  const tab = await open(id);
  const { page } = tab;
  const entry = page.locator(`[data-session="${id}"] small`);
  const numberIn = (text) => Number(/(\d+) fact/.exec(text)?.[1] ?? 0);
  const { session } = await server.graphql("query ($id: ID!) { session(id: $id) { facts(first: 1, status: ACTIVE) { totalCount } withNotes: facts(first: 1, status: ACTIVE, notes: true) { totalCount } } }", { id });
  assert.ok(session.withNotes.totalCount > session.facts.totalCount, "the message left a note");
  assert.equal(numberIn(await entry.innerText()), session.withNotes.totalCount);
  await newSession(tab);
  await until(async () => numberIn(await entry.innerText()) === session.withNotes.totalCount, "the same number in the list");

  const facts = page.locator(".facts");
  await waitForElement(facts.getByText("Nothing from this conversation yet."), "the truth about this conversation");
  const link = facts.getByRole("link", { name: /^see (it|them) in Memory$/ });
  await waitForElement(link, "the way to the others");
  const total = numberIn(await facts.innerText());
  await link.click();
  await waitForElement(page.locator(".memory-page .row"), "the Memory page");
  await until(async () => numberIn(await page.locator(".memory-page .total").innerText()) === total, "the same total on the Memory page");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("the focus stays where people go on", async () => {
  const { id: old } = await server.newSession();
  await server.say(old, "Hugo lives in Antwerp.");
  const { id } = await server.newSession();
  await server.say(id, "Inga likes opera.");
  await server.settledHead(old);
  await server.settledHead(id);
  const tab = await open(id);
  const { page } = tab;
  const item = page.locator(`[data-session="${id}"]`);
  await chooseAction(item, "Pause remembering");
  await page.getByRole("button", { name: "Resume", exact: true }).press("Enter");
  await focusOn(field(page), "the message field after Resume");
  await chooseAction(item, "Archive");
  await page.getByRole("button", { name: "Unarchive", exact: true }).press("Enter");
  await focusOn(field(page), "the message field after Unarchive");

  await say(tab, "Where does Hugo live?");
  const source = page.locator(".message.assistant .sources button", { hasText: "Antwerp" }).first();
  await waitForElement(source, "the source");
  await source.press("Enter");
  await until(async () => (await sessionIn(tab)) === old, "the other session to open");
  await focusOn(own(page, "Hugo lives in Antwerp."), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("an answer that is not known links to what comes nearest", async () => {
  const { id: old } = await server.newSession();
  await server.say(old, "Leo is in Japan until 5 May");
  await server.settledHead(old);
  const tab = await open((await server.newSession()).id, US);
  const { page } = tab;
  await say(tab, "When is Leo back?");
  const nearest = page.getByRole("list", { name: "Nearest" }).getByRole("button");
  await waitForElement(nearest, "what comes nearest");
  assert.match(await page.locator(".message.assistant .text").innerText(), /^I don't know.*Nearest to it:.*Leo is in Japan until 5 May/s);
  assert.match(await nearest.innerText(), /Leo is in Japan until 5 May/);
  assert.equal(await page.getByRole("list", { name: "Sources" }).count(), 0);
  assert.deepEqual(await findViolations(tab, "an answer that is not known"), []);
  await page.reload();
  await waitForElement(nearest, "what comes nearest, after a reload");
  await nearest.press("Enter");
  await until(async () => (await sessionIn(tab)) === old, "the other session to open");
  await focusOn(own(page, "Leo is in Japan"), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("shared sessions explain themselves to everybody", async () => {
  const tab = await open((await server.newSession()).id);
  const { page } = tab;
  const button = page.getByRole("button", { name: "New shared session" });
  const about = page.locator(`#${await button.getAttribute("aria-describedby")}`);
  assert.equal(await about.innerText(), "All users except visitors can read it. Only administrators can write it.");
  await button.click();
  await waitForElement(page.locator(".session-notice", { hasText: "all users except visitors can read it. Answers here do not use your own memory." }), "the notice above the message field");
  await focusOn(field(page), "the message field");
  assert.deepEqual(await findViolations(tab, "a shared session"), []);
  await server.graphql("mutation ($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }", { id: await sessionIn(tab) });
  await tab.context.close();
});

test("on a phone, the hints can be hidden, and every control has a name of its own", async () => {
  const { id } = await server.newSession();
  await server.say(id, "Jonas lives in Mechelen and works at Oakwood.");
  await server.settledHead(id);
  const tab = await open(id, PHONE);
  const { page } = tab;
  assert.ok(!(await hasFocus(field(page))), "no keyboard opens on arrival");
  await waitForElement(fact(tab, "Jonas"), "the facts").catch(() => {});
  const names = await page.locator(".shell a:visible, .shell button:visible").evaluateAll((controls) => controls.map((control) => control.getAttribute("aria-label") ?? control.textContent.trim()));
  assert.equal(names.filter((name) => name === "Graph").length, 1, names.join(", "));
  const hide = page.getByRole("button", { name: "Hide the hints" });
  const { x, width } = await hide.boundingBox();
  assert.ok(x >= 0 && x + width <= 390, `the button is at ${x} to ${x + width}`);
  await hide.click();
  await until(async () => (await hide.count()) === 0, "the hints to go");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

for (const [size, options] of [["desktop", {}], ["phone", PHONE]]) {
  test(`a message without a fact is removed from the chat on a ${size}, and comes back`, async () => {
    const { id } = await server.newSession();
    for (const text of ["My, what a day.", "Emil likes tea."]) await server.say(id, text);
    await server.settledHead(id);
    const tab = await open(id, options);
    const { page } = tab;
    const dialog = page.getByRole("dialog", { name: "Remove this message" });
    const remove = page.getByRole("button", { name: "Remove: My, what a day." });
    if (size === "phone") await remove.tap();
    else {
      await remove.focus();
      await until(async () => (await remove.evaluate((node) => getComputedStyle(node).opacity)) === "1", "the focus to show the button");
      await page.keyboard.press("Enter");
    }
    await waitForElement(dialog.getByText("1 message", { exact: true }), "the count");
    assert.deepEqual(await findViolations(tab, "the dialog in the chat"), []);
    await dialog.getByRole("button", { name: "Forget 1 message" }).click();
    await until(async () => (await own(page, "what a day").count()) === 0, "the message to go");
    await focusOn(page.locator(".log"), "the conversation");
    const bar = page.locator(".undo-bar li").first();
    const [box, below] = [await bar.boundingBox(), await field(page).boundingBox()];
    assert.ok(box.y + box.height <= below.y, "the message field stays free");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing is wider than the screen");
    await bar.getByRole("button", { name: "Undo" }).click();
    await waitForElement(own(page, "what a day"), "the message again");
    await waitForElement(page.locator(".undo-bar", { hasText: "Restored: 1 message." }), "the notice");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("by keyboard, a fact is denied and ended from its evidence, and the focus stays with it", async () => {
  const { id } = await server.newSession();
  for (const text of ["Uschi likes tea.", "Uschi likes tea.", "Uschi likes chess."]) await server.say(id, text);
  await server.settledHead(id);
  const tab = await open(id, {});
  const { page } = tab;
  const item = fact(tab, "Uschi", "tea");
  const line = item.locator(".fact-line");
  await line.press("Enter");
  await waitForElement(item.locator(".evidence q"), "the evidence");
  assert.match(await item.locator(".evidence").innerText(), /Weight \d+\.\d\d: what was said for it, added up\./);
  const belief = async () => Number(/(\d+) %/.exec(await item.locator(".belief").innerText())?.[1]);
  const before = await belief();
  assert.match(await line.evaluate((node) => node.textContent), new RegExp(`belief ${before} %`), "the button names the belief");
  await page.getByRole("button", { name: "This is wrong" }).press("Enter");
  await focusOn(page.getByRole("button", { name: /^Deny This is not so/ }), "the first choice");
  assert.deepEqual(await findViolations(tab, "the objections"), []);
  await page.keyboard.press("Enter");
  await until(async () => (await belief()) < before, "a lower belief");
  await focusOn(page.getByRole("button", { name: "This is wrong" }), "the button that opened the choices");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^No longer true It was true/ }).press("Enter");
  await waitForElement(item.locator('.belief:text("ended")'), "the end");
  await focusOn(line, "the fact");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
