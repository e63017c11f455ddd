// The Memory page: journeys of people who look up, correct, forget and restore what is known of them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

async function sessionWith(title, texts) {
  const { createSession } = await server.graphql("mutation ($t: String) { createSession(input: { title: $t }) { session { id } } }", { t: title });
  const { id } = createSession.session;
  for (const text of texts) await server.say(id, text);
  await server.settledHead(id);
  return id;
}

const openMemory = async (options = {}, place = "") => {
  const tab = await browser.visit(`${server.url}/#/memory${place}`, options);
  await waitForElement(tab.page.locator(".memory-page .row"), "the list");
  return tab;
};
/** The row that contains all `words`. */
const row = (tab, ...words) => words.reduce((found, word) => found.filter({ hasText: word }), tab.page.locator(".memory-page .row"));
const search = (tab, text) => tab.page.getByRole("searchbox").fill(text);
const button = (tab, name) => tab.page.getByRole("button", { name, exact: true });
const inDialog = (tab, name) => tab.page.getByRole("dialog").getByRole("button", { name, exact: true });
const undoBar = (tab) => tab.page.locator(".undo-bar");
const hasFocus = (locator) => locator.evaluate((node) => node === document.activeElement);
const status = (tab, ...words) => row(tab, ...words).first().getAttribute("data-status");
/** Opens a fact or a name, and waits for its details. */
const open = async (tab, ...words) => {
  await row(tab, ...words).first().locator("[data-row]").click();
  await waitForElement(tab.page.locator(".pane article"), "the details");
};

for (const [size, options, name] of [["desktop", {}, "Wilma"], ["phone", PHONE, "Wanda"]]) {
  test(`on a ${size}, a fact leads to its evidence, rivals and the message in another session`, async () => {
    const old = await sessionWith("Letters from Ghent", [`${name} lives in Ghent.`, `${name} likes tea.`]);
    await sessionWith("Later letters", [`${name} lives in Lyon.`]);
    const tab = await openMemory(options);
    const { page } = tab;
    await search(tab, name);
    await waitForElement(row(tab, name, "Ghent"), "the fact of the first session");
    await until(async () => (await page.locator(".memory-page .row").count()) < 6, "the search to leave other facts out");
    await open(tab, name, "Ghent");
    await waitForElement(page.locator(".rival-list a", { hasText: "Lyon" }), "the rival");
    assert.match(await page.locator(".verdict").innerText(), /belief \d+ %/);
    assert.match(await page.locator(".history").innerText(), /Letters from Ghent/);
    const item = page.locator(".history li", { hasText: "Letters from Ghent" }).last();
    await item.getByRole("button", { name: "Show the message" }).click();
    await until(() => page.evaluate((id) => location.hash === `#/s/${id}`, old), "the other session to open");
    await waitForElement(page.locator(".message", { hasText: "lives in Ghent" }), "the message");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

for (const delay of [60, 180]) {
  test(`a search typed with ${delay} ms between the keys keeps every letter`, async () => {
    await sessionWith("Work", ["Nadja works at Oakwood Bakery."]);
    const tab = await openMemory();
    const { page } = tab;
    const field = page.getByRole("searchbox", { name: "Search facts" });
    const text = "Oakwood Bakery in the old town of Ghent";
    await field.focus();
    await page.keyboard.type(text, { delay });
    assert.equal(await field.inputValue(), text);
    const inUrl = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("text"));
    await until(async () => (await inUrl()) === text, "the URL to follow");
    assert.equal(await field.inputValue(), text);
    // Another link still changes the field.
    await page.evaluate(() => { location.hash = "#/memory?text=Nadja"; });
    await until(async () => (await field.inputValue()) === "Nadja", "the field to follow the URL");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

test("a date that a message tells is shown as exactly as the message tells it", async () => {
  await sessionWith("Dates", ["I have lived in Ghent since March 2024.", "I like jazz."]);
  // Where the year of UTC has not begun yet.
  const tab = await openMemory({ locale: "en-GB", timezoneId: "America/Los_Angeles" });
  const times = tab.page.locator(".pane .details");
  for (const [words, shown, hidden] of [["you live in Ghent", /since\s+March 2024/i, /stated/i], ["you like jazz", /stated\s+today/i, /since/i]]) {
    await row(tab, words).first().locator("[data-row]").click();
    await waitForElement(tab.page.locator(".pane h2", { hasText: words }), "the details");
    assert.match(await times.innerText(), shown);
    assert.doesNotMatch(await times.innerText(), hidden);
  }
  // The focus stays in the list.
  await tab.page.keyboard.press("Escape");
  await until(async () => (await tab.page.locator(".pane h2").count()) === 0, "the details to close");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a wrong fact is corrected with a reason, and can be restored", async () => {
  const session = await sessionWith("Neighbours", ["Oskar lives in Bruges."]);
  const tab = await openMemory();
  const { page } = tab;
  await open(tab, "Oskar", "Bruges");
  await button(tab, "Correct…").click();
  const object = page.getByRole("combobox", { name: "Whom or what" });
  assert.ok(await object.evaluate((node) => node === document.activeElement), "the field that is wrong has the focus");
  await page.keyboard.type("Brugge");
  assert.equal(await object.inputValue(), "Brugge", "the first key replaces the old value");
  await object.fill("Bruges");
  await inDialog(tab, "Correct").click();
  await waitForElement(page.getByRole("dialog").getByText("This is what the memory says already."), "the refusal of the same statement");
  await object.fill("Leuven");
  await page.getByLabel("Reason").fill("He moved in May.");
  await waitForElement(page.getByRole("dialog").getByText("It will be retracted, and stays readable."), "what will happen to the wrong fact");
  await inDialog(tab, "Correct").click();
  await waitForElement(row(tab, "Oskar", "Leuven"), "the right fact");
  await until(async () => (await status(tab, "Oskar", "Bruges")) === "RETRACTED", "the wrong fact to be retracted");
  assert.equal(await status(tab, "Oskar", "Leuven"), "ACTIVE");
  const { session: stored } = await server.graphql("query ($id: ID!) { session(id: $id) { messages(last: 5) { nodes { text } } } }", { id: session });
  assert.ok(stored.messages.nodes.some((m) => m.text.includes("He moved in May.")), "the reason is stored with the session");

  await undoBar(tab).getByRole("link", { name: "Open it" }).press("Enter");
  await waitForElement(page.locator(".pane h2", { hasText: "Leuven" }), "the right fact");
  const statement = page.locator(".history li", { hasText: "stated by you" });
  await waitForElement(statement, "the statement by hand");
  assert.match(await statement.innerText(), /Oskar lives in Leuven\. He moved in May\./, "the history shows the reason");
  await statement.getByRole("button", { name: "Show the message" }).click();
  await page.locator(".facts li.fact", { hasText: "Leuven" }).locator(".fact-line").click();
  await waitForElement(page.locator(".facts .evidence q", { hasText: "He moved in May." }), "the reason in the chat");
  await page.goBack();

  await open(tab, "Oskar", "Bruges");
  await button(tab, "Restore").click();
  await until(async () => (await status(tab, "Oskar", "Bruges")) === "ACTIVE", "the fact to hold again");
  const contents = async () => (await server.graphql("query ($id: ID!) { session(id: $id) { facts(first: 9) { nodes { id belief relativeWeight status evidence(first: 9) { nodes { stance message { id } } } } } } }", { id: session })).session.facts.nodes.sort((a, b) => a.id.localeCompare(b.id));
  const before = await contents();
  await button(tab, "Retract").press("Enter");
  await until(async () => (await status(tab, "Oskar", "Bruges")) === "RETRACTED", "the fact to be retracted");
  await until(() => page.locator(".pane").getByRole("button", { name: "Restore", exact: true }).evaluate((node) => node === document.activeElement), "the focus on the button that takes it back");
  await undoBar(tab).getByRole("button", { name: "Restore" }).click();
  await until(async () => (await status(tab, "Oskar", "Bruges")) === "ACTIVE", "the retraction to be taken back");
  assert.deepEqual(await contents(), before, "nothing is left of the retraction, and nothing is stated again");
  await button(tab, "Retract").click();
  await waitForElement(button(tab, "Restore").first(), "the button that restores the fact");
  await page.locator(".pane").getByRole("button", { name: "Restore", exact: true }).click();
  await until(async () => (await status(tab, "Oskar", "Bruges")) === "ACTIVE", "the fact to be restored");
  assert.deepEqual(await contents(), before, "the button of the fact undoes the retraction, too");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a correction is undone: the wrong fact is what it was, and the right one is gone", async () => {
  const session = await sessionWith("Old neighbours", ["Oswald lives in Bruges."]);
  const contents = async () => (await server.graphql("query ($id: ID!) { session(id: $id) { messages(last: 9) { nodes { text } } facts(first: 9) { nodes { id belief status object { name } evidence(first: 9) { nodes { stance message { id } } } } } } }", { id: session })).session;
  const before = await contents();
  const tab = await openMemory();
  const { page } = tab;
  await open(tab, "Oswald", "Bruges");
  await button(tab, "Correct…").click();
  await page.getByRole("combobox", { name: "Whom or what" }).fill("Leuven");
  await page.getByLabel("Reason").fill("He moved in May.");
  await inDialog(tab, "Correct").click();
  await until(async () => (await status(tab, "Oswald", "Bruges")) === "RETRACTED", "the wrong fact to be retracted");
  await undoBar(tab).getByRole("button", { name: "Undo" }).press("Enter");
  await waitForElement(undoBar(tab).getByText("The correction is taken back."), "the notice");
  await until(async () => (await status(tab, "Oswald", "Bruges")) === "ACTIVE", "the fact to hold again");
  await until(async () => (await row(tab, "Oswald", "Leuven").count()) === 0, "the other fact to be gone");
  assert.deepEqual(await contents(), before, "nothing is left of the correction");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a fact is added with completion, and confirming it raises its belief", async () => {
  await sessionWith("Work", ["Petra works at Oakwood.", "Petra likes chess."]);
  const tab = await openMemory();
  const { page } = tab;
  await button(tab, "Add a fact").click();
  await page.getByRole("combobox", { name: "Who or what" }).fill("Pet");
  await waitForElement(page.getByRole("dialog").getByRole("option", { name: /Petra/ }), "the suggestion");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("combobox", { name: "Relation" }).fill("lives");
  await waitForElement(page.getByRole("dialog").getByRole("option", { name: /lives in/ }), "the relation");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Whom or what" }).fill("Antwerp");
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("dialog").count(), 1, "Escape closes the suggestions, not the dialog");
  await inDialog(tab, "Add").click();
  await open(tab, "Petra", "Antwerp");
  assert.match(await page.locator(".history").innerText(), /stated by you/);
  const belief = async () => Number(/belief (\d+)/.exec(await page.locator(".verdict").innerText())[1]);
  const before = await belief();
  await button(tab, "Confirm").click();
  await until(async () => (await belief()) > before, "the belief to rise");
  await tab.context.close();
});

test("on a phone, a finger scrolls the suggestions without choosing one, and a tap chooses", async () => {
  const tab = await openMemory(PHONE);
  const { page } = tab;
  await button(tab, "Add a fact").tap();
  const relation = page.getByRole("combobox", { name: "Relation" });
  assert.equal(await relation.getAttribute("autocapitalize"), "none");
  await relation.fill("i");
  const options = page.getByRole("dialog").getByRole("option");
  await until(async () => (await options.count()) > 5 && options.nth(5).isVisible(), "the suggestions");
  const { x, y } = await options.nth(1).boundingBox();
  const touch = await tab.context.newCDPSession(page);
  const at = (dy) => [{ x: x + 40, y: y + 10 + dy }];
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
  for (const dy of [-15, -30, -45]) await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(dy) });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  assert.equal(await relation.inputValue(), "i", "a finger that scrolls chooses nothing");
  assert.ok(await options.first().isVisible(), "the list stays open");
  const name = await options.nth(3).locator("span").innerText();
  await options.nth(3).tap();
  assert.equal(await relation.inputValue(), name);
  assert.equal(await options.first().isVisible(), false);
  assert.ok(await hasFocus(relation), "the field keeps the focus");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("another relation keeps what was typed, and says when a name does not fit", async () => {
  await sessionWith("Fitting", ["Rupert lives in Ghent.", "Rupert works at Oakwood."]);
  const tab = await openMemory();
  const { page } = tab;
  await button(tab, "Add a fact").click();
  const relation = page.getByRole("dialog").getByRole("combobox", { name: "Relation" });
  const object = page.getByRole("combobox", { name: "Whom or what" });
  const value = page.getByRole("dialog").getByLabel("Value");
  const misfit = page.getByRole("dialog").getByText("Ghent is a place. The relation takes an organization.");
  await page.getByRole("combobox", { name: "Who or what" }).fill("Rupert");
  await relation.fill("Lives In");
  await page.keyboard.press("Escape");
  await object.fill("Ghen");
  await waitForElement(page.getByRole("dialog").getByRole("option", { name: /^Ghent/ }), "the suggestion");
  await page.getByRole("dialog").getByRole("option", { name: /^Ghent/ }).first().click();
  assert.ok(await inDialog(tab, "Add").isEnabled(), "a relation with capital letters is known");
  await relation.fill("works for");
  await waitForElement(misfit, "why it does not fit");
  await object.fill("Oakwood");
  await until(async () => (await misfit.count()) === 0, "the words to go");
  await relation.fill("has the birthday");
  await until(async () => (await value.inputValue()) === "Oakwood", "what was typed as the value");
  assert.match(await value.getAttribute("placeholder"), /4 March 1990/);
  // The list of before must not be chosen from.
  await relation.fill("li");
  await waitForElement(page.getByRole("dialog").getByRole("option", { name: /^likes/ }), "the suggestions");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.type("k");
  assert.equal(await relation.getAttribute("aria-activedescendant"), null);
  await relation.fill("has the birthday");
  await value.fill("soon");
  await inDialog(tab, "Add").click();
  await waitForElement(page.getByRole("alert").filter({ hasText: "The value does not fit" }), "the refusal of the server");
  await value.fill("4 March 1990");
  await inDialog(tab, "Add").click();
  await waitForElement(undoBar(tab).getByText("Recorded: Rupert has the birthday 4 March 1990."), "the notice");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("everything about a person is forgotten after a preview, and undone after a reload", async () => {
  await sessionWith("Friends", ["Hedwig lives in Namur.", "Hedwig likes jazz.", "Konrad knows Hedwig.", "Konrad likes tea."]);
  const tab = await openMemory();
  const { page } = tab;
  await button(tab, "Forget…").click();
  await page.getByLabel("What to forget").fill("everything about Hedwig");
  await inDialog(tab, "Show what this would forget").click();
  await waitForElement(page.locator(".preview li", { hasText: "Hedwig likes jazz" }), "the preview");
  assert.match(await page.getByRole("dialog").innerText(), /This forgets 3 facts and 3 messages/);
  assert.ok((await row(tab, "Hedwig").count()) > 0, "nothing is forgotten before the button");
  await inDialog(tab, "Forget 3 facts and 3 messages").click();
  await until(async () => (await row(tab, "Hedwig").count()) === 0, "the facts to disappear");
  await waitForElement(row(tab, "Konrad", "tea"), "the other facts");
  await page.reload();
  await waitForElement(row(tab, "Konrad", "tea"), "the list after the reload");
  assert.equal(await row(tab, "Hedwig").count(), 0);
  await undoBar(tab).getByRole("button", { name: "Undo" }).press("Enter");
  await waitForElement(row(tab, "Hedwig", "Namur"), "the facts again");
  assert.match(await undoBar(tab).innerText(), /Restored: 3 facts and 3 messages/);
  const dismiss = undoBar(tab).getByRole("button", { name: "Dismiss" });
  await until(() => hasFocus(dismiss), "the focus on what is left in the bar");
  await dismiss.press("Enter");
  await until(() => page.evaluate(() => document.activeElement.matches(".memory-page [data-row]")), "the focus in the list");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a person is forgotten from their own details", async () => {
  await sessionWith("Team", ["Ludmila lives in Mons.", "Ludmila likes skiing."]);
  const tab = await openMemory({}, "/things");
  const { page } = tab;
  await search(tab, "Ludmila");
  await open(tab, "Ludmila");
  await page.locator(".pane").getByRole("button", { name: "Forget…" }).click();
  await waitForElement(page.locator(".preview li", { hasText: "Ludmila likes skiing" }), "the preview");
  // One message may state a fact and a note.
  await page.getByRole("dialog").getByRole("button", { name: /^Forget \d facts and 2 messages$/ }).click();
  await waitForElement(page.locator(".none", { hasText: "Nothing matches" }), "the name to disappear");
  await waitForElement(page.getByRole("heading", { name: "Nothing is known about it" }), "the details to say so");
  await tab.context.close();
});

test("selected facts are retracted and forgotten together", async () => {
  await sessionWith("Games", ["Ottokar likes chess.", "Ottokar likes darts.", "Ottokar likes bridge."]);
  const tab = await openMemory();
  const { page } = tab;
  await search(tab, "Ottokar");
  await until(async () => (await page.locator(".memory-page .row").count()) === 3, "the three facts");
  await page.locator(".memory-page [data-row]").first().focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await waitForElement(page.getByText("2 selected"), "the selection");
  await page.getByRole("group", { name: "Selected facts" }).getByRole("button", { name: "Retract" }).click();
  await until(async () => (await page.locator(".row[data-status='RETRACTED']").count()) === 2, "two retracted facts");
  await page.getByLabel(/^Select Ottokar/).first().check();
  await button(tab, "Select all 3").click();
  await page.getByRole("group", { name: "Selected facts" }).getByRole("button", { name: "Forget…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: /^Forget 3 facts/ }).click();
  await waitForElement(page.getByText("Nothing matches."), "the empty list");
  await tab.context.close();
});

test("two names are renamed, merged after a preview, and split again", async () => {
  await sessionWith("Names", ["Bartholomew lives in Ghent.", "Bartholomew likes tea.", "Barty lives in Lyon.", "Barty likes tea."]);
  const tab = await openMemory({}, "/things");
  const { page } = tab;
  await search(tab, "Bart");
  await open(tab, "Bartholomew");
  await button(tab, "Merge…").click();
  await page.getByRole("combobox", { name: "The other one" }).fill("Barty");
  await page.getByRole("option", { name: /Barty/ }).click();
  const preview = page.getByRole("list", { name: "What changes" });
  await until(async () => /2 mentions and 1 fact move, 1 fact becomes one with a fact that is there\./.test(await preview.innerText()), "the preview");
  assert.match(await preview.innerText(), /Bartholomew stays, and is also called Barty/);
  assert.match(await preview.innerText(), /Then disputed, because only one can hold: Barty lives in Lyon/);
  await inDialog(tab, "Merge").click();
  await until(async () => (await page.locator(".memory-page .row").count()) === 1, "one name");
  await waitForElement(page.locator(".merged li", { hasText: "Barty" }), "what was merged into it");
  await waitForElement(page.locator(".short-facts li", { hasText: "Lyon" }), "the facts of both");
  assert.ok(await hasFocus(button(tab, "Merge…")), "the focus is back where it was");

  await button(tab, "Split…").click();
  await inDialog(tab, "Split").click();
  await until(async () => (await page.locator(".memory-page .row").count()) === 2, "two names again");
  await until(async () => (await page.locator(".short-facts li", { hasText: "Lyon" }).count()) === 0, "the facts to part");

  await button(tab, "Rename…").click();
  await page.getByLabel("New name").fill("Bartolomeo");
  await inDialog(tab, "Rename").click();
  await waitForElement(page.getByRole("heading", { name: /Bartolomeo/ }), "the new name");
  await undoBar(tab).getByRole("button", { name: "Rename back" }).click();
  await waitForElement(page.getByRole("heading", { name: /Bartholomew/ }), "the old name");

  // The other one stays: its details open, and the button is gone.
  await button(tab, "Merge…").click();
  await page.getByRole("combobox", { name: "The other one" }).fill("Barty");
  await page.getByRole("option", { name: /Barty/ }).click();
  await page.getByRole("radio", { name: /Barty/ }).check();
  await until(async () => inDialog(tab, "Merge").isEnabled(), "the preview");
  await inDialog(tab, "Merge").press("Enter");
  await waitForElement(page.getByRole("heading", { name: /^Barty/ }), "the other name");
  await until(() => hasFocus(page.locator(".pane")), "the focus on its details");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("by keyboard, a fact is denied, which lowers its belief, then ends, and the ways are explained", async () => {
  await sessionWith("Opinions", ["Theodora likes tea.", "Theodora likes tea.", "Theodora likes chess."]);
  const tab = await openMemory();
  const { page } = tab;
  await search(tab, "Theodora");
  await open(tab, "Theodora", "tea");
  const belief = async () => Number(/belief (\d+) %/.exec(await page.locator(".verdict").innerText())?.[1]);
  const before = await belief();
  await page.getByText("What these do").press("Enter");
  await until(() => page.getByText("It counts as a statement against it").isVisible(), "what denying does");
  await button(tab, "Deny").press("Enter");
  await waitForElement(undoBar(tab).getByText("Noted as not so: Theodora likes tea."), "the notice");
  await until(async () => (await belief()) < before, "a lower belief");
  assert.equal(await status(tab, "Theodora", "tea"), "ACTIVE", "the fact stays");
  await waitForElement(page.locator(".history", { hasText: "contradicted by you" }), "the statement against it");
  await until(() => hasFocus(button(tab, "Deny")), "the focus on the button");

  await button(tab, "No longer true").press("Enter");
  await waitForElement(undoBar(tab).getByText("Ended: Theodora likes tea."), "the notice");
  await until(async () => (await status(tab, "Theodora", "tea")) === "ENDED", "the end");
  await waitForElement(page.locator(".history", { hasText: "ended by you" }), "the statement that ended it");
  await until(() => hasFocus(button(tab, "Restore")), "the focus on what is left to do");
  assert.equal(await status(tab, "Theodora", "chess"), "ACTIVE");
  // Unlike Restore, Undo leaves the fact as old as it was.
  await undoBar(tab).getByRole("listitem").filter({ hasText: "Ended: Theodora likes tea." }).getByRole("button", { name: "Undo" }).press("Enter");
  await until(async () => (await status(tab, "Theodora", "tea")) === "ACTIVE", "the fact again");
  await until(async () => !(await page.locator(".history").innerText()).includes("ended by you"), "the statement to be gone");
  await button(tab, "No longer true").press("Enter");
  await until(async () => (await status(tab, "Theodora", "tea")) === "ENDED", "the end");
  await button(tab, "Restore").press("Enter");
  await until(async () => (await status(tab, "Theodora", "tea")) === "ACTIVE", "the fact stated again");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("names that the server joined by itself are split by keyboard after a preview, and merged again", async () => {
  await sessionWith("Two people", ["Mechthild Miller works for Siemens.", "Mechthild likes tea.", "Mechthild lives in Ghent."]);
  const tab = await openMemory({}, "/things");
  const { page } = tab;
  await search(tab, "Mechthild");
  await until(async () => (await page.locator(".memory-page .row").count()) === 1, "the one name alone");
  await open(tab, "Mechthild Miller", "also Mechthild");
  await button(tab, "Split…").press("Enter");
  const preview = page.getByRole("list", { name: "What changes" });
  await until(async () => /2 mentions and 2 facts move to Mechthild\./.test(await preview.innerText()), "the preview");
  assert.equal(await page.locator(".memory-page .row").count(), 1, "nothing has changed yet");
  await page.keyboard.press("Escape");
  await until(() => hasFocus(button(tab, "Split…")), "the focus to come back");
  await button(tab, "Split…").press("Enter");
  await until(async () => inDialog(tab, "Split").isEnabled(), "the preview");
  await inDialog(tab, "Split").press("Enter");
  await until(async () => (await page.locator(".memory-page .row").count()) === 2, "two people");
  await until(async () => (await page.locator(".short-facts li").count()) === 1, "the facts to part");
  await undoBar(tab).getByRole("button", { name: "Merge again" }).click();
  await until(async () => (await page.locator(".short-facts li").count()) === 3, "one person again");

  // The merge is recorded now.
  await button(tab, "Split…").click();
  await waitForElement(page.getByRole("radio", { name: /^Mechthild merged / }), "the recorded merge");
  assert.equal(await page.getByRole("radio").count(), 1, "its name is not listed twice");
  await inDialog(tab, "Cancel").click();
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("renaming and another type say first how much shows them", async () => {
  await sessionWith("Previews", ["Kunigunde likes tea.", "Kunigunde likes chess."]);
  const tab = await openMemory({}, "/things");
  const { page } = tab;
  await search(tab, "Kunigunde");
  await open(tab, "Kunigunde");
  const preview = page.getByRole("list", { name: "What changes" });
  await button(tab, "Rename…").click();
  await page.getByLabel("New name").fill("Gunda");
  await until(async () => /Kunigunde is then called Gunda: 2 facts and 2 mentions show it\./.test(await preview.innerText()), "what the new name changes");
  await inDialog(tab, "Cancel").click();
  await button(tab, "Change type…").click();
  await page.getByRole("dialog").getByRole("combobox").selectOption("ORGANIZATION");
  await until(async () => /The type changes from person to organization: 2 facts and 2 mentions show it\./.test(await preview.innerText()), "what the type changes");
  await inDialog(tab, "Cancel").click();
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("notices go: with their time, when another one takes their place, and when the reader goes elsewhere", async () => {
  await sessionWith("Notices", ["Gisela lives in Namur.", "Gisela likes jazz.", "Walburga likes tea."]);
  const tab = await openMemory();
  const { page } = tab;
  const notices = undoBar(tab).getByRole("listitem");
  await page.clock.install();
  await page.clock.resume();
  // The server says for how long, whatever its usual time is.
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("mutation Forget")) return route.fallback();
    const response = await route.fetch();
    const json = await response.json();
    const { forget } = json.data;
    if (forget.token) forget.undoUntil = new Date(Date.parse(forget.undoUntil) - 5 * 60_000).toISOString();
    return route.fulfill({ response, json });
  });
  await search(tab, "Gisela");
  await open(tab, "Gisela", "jazz");
  await button(tab, "Forget…").last().click();
  await inDialog(tab, "Forget 1 fact and 1 message").click();
  await waitForElement(notices.filter({ hasText: "Forgotten" }).getByRole("button", { name: "Undo" }), "the offer");
  await page.unrouteAll({ behavior: "wait" });
  await page.clock.fastForward("04:00");
  assert.equal(await notices.count(), 1, "the server still keeps it");
  await page.clock.fastForward("02:00");
  await until(async () => (await notices.count()) === 0, "the offer to go with its time");
  await page.reload();
  await waitForElement(row(tab, "Gisela", "Namur"), "the list");
  assert.equal(await notices.count(), 0, "an old offer after a reload");

  await page.goto(`${server.url}/#/memory/things?text=Walburga`);
  await open(tab, "Walburga");
  for (const name of ["Waltraud", "Waltrud"]) {
    await button(tab, "Rename…").click();
    await page.getByLabel("New name").fill(name);
    await inDialog(tab, "Rename").click();
    await waitForElement(notices.filter({ hasText: `is now called ${name}` }), "the notice");
  }
  assert.equal(await notices.count(), 1, "a newer name takes the place of the first");
  await button(tab, "Add a fact…").click();
  await page.getByRole("combobox", { name: "Relation" }).fill("likes");
  await page.getByRole("combobox", { name: "Whom or what" }).fill("chess");
  await inDialog(tab, "Add").click();
  await waitForElement(notices.filter({ hasText: "Recorded: Waltrud likes chess." }), "the notice");
  assert.equal(await notices.count(), 2);
  await page.getByRole("link", { name: "Sessions", exact: true }).click();
  await until(async () => (await notices.filter({ hasText: "Recorded" }).count()) === 0, "the notice to stay where it belongs");
  await waitForElement(notices.getByRole("button", { name: "Rename back" }), "what can be taken back");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a new name that another one has is announced, and leads to a merge of the two", async () => {
  await sessionWith("Namesakes", ["Leonie likes tea.", "Leonore lives in Ghent.", "Leonore likes chess.", "Leonore works at Oakwood Bakery."]);
  const tab = await openMemory({}, "/things");
  const { page } = tab;
  await search(tab, "Leon");
  await open(tab, "Leonie");
  const warning = page.getByRole("dialog").getByText("There is already a person called");
  await button(tab, "Rename…").click();
  await page.getByLabel("New name").fill("Leon");
  await until(async () => /then called Leon:/.test(await page.getByRole("list", { name: "What changes" }).innerText()), "what the new name changes");
  assert.equal(await warning.count(), 0, "a name that only begins so");
  // Enter comes before the warning.
  await page.getByLabel("New name").fill("leonore");
  await page.keyboard.press("Enter");
  await waitForElement(warning, "the warning");
  assert.match(await warning.innerText(), /There is already a person called leonore: Leonore\./);
  assert.deepEqual(await findViolations(tab, "the warning"), []);
  await page.getByLabel("New name").fill("Leonora");
  await until(async () => (await warning.count()) === 0, "the warning to go");
  await page.getByLabel("New name").fill("Leonore");
  await waitForElement(warning, "the warning again");
  await inDialog(tab, "Merge the two…").click();
  assert.equal(await page.getByRole("combobox", { name: "The other one" }).inputValue(), "Leonore");
  await until(async () => page.getByRole("radio", { name: /Leonore/ }).isChecked(), "the wanted name to be chosen");
  await until(async () => inDialog(tab, "Merge").isEnabled(), "the preview");
  await inDialog(tab, "Merge").click();
  await waitForElement(page.getByRole("heading", { name: /^Leonore/ }), "the name that both have now");
  await until(async () => (await row(tab, "Leon").count()) === 1, "one of the two");

  // It can have the name nevertheless.
  await sessionWith("Namesakes", ["Rosalind likes tea.", "Rosamund likes tea."]);
  await search(tab, "Rosa");
  await open(tab, "Rosamund");
  await button(tab, "Rename…").click();
  await page.getByLabel("New name").fill("Rosalind");
  await waitForElement(warning, "the warning");
  await inDialog(tab, "Rename").click();
  await waitForElement(undoBar(tab).getByText("Rosamund is now called Rosalind."), "the notice");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a dialog that loads slowly says so, and one that does not load can be tried again", async () => {
  await sessionWith("Slow", ["Leopold likes tea."]);
  const tab = await browser.visit(`${server.url}/healthz`, { serviceWorkers: "block", outage: true });
  const { page } = tab;
  let answer = "abort";
  await page.route("**/memory-dialogs-*.js", async (route) => {
    if (answer === "abort") return route.abort();
    await new Promise((resolve) => setTimeout(resolve, 800));
    await route.fallback();
  });
  await page.goto(`${server.url}/#/memory`);
  await waitForElement(row(tab, "Leopold"), "the list");
  await button(tab, "Add a fact").click();
  await waitForElement(page.getByRole("dialog", { name: "It could not be loaded" }), "the failure");
  answer = "late";
  await inDialog(tab, "Try again").click();
  await waitForElement(page.getByRole("dialog", { name: "Add a fact" }), "the dialog");
  await page.keyboard.press("Escape");
  await until(() => hasFocus(button(tab, "Add a fact")), "the focus to come back");
  await tab.context.close();
});

test("one message is removed from the evidence, with undo or for good", async () => {
  await sessionWith("Slips", ["Rosalind lives in Dinant.", "Rosalind likes rowing."]);
  const tab = await openMemory();
  const { page } = tab;
  await search(tab, "Rosalind");
  await open(tab, "Rosalind", "rowing");
  await button(tab, "Remove the message…").click();
  await page.getByRole("dialog").getByRole("button", { name: /^Forget 1 fact and 1 message/ }).click();
  await waitForElement(page.getByRole("heading", { name: "This fact is gone" }), "the fact to be gone");
  await undoBar(tab).getByRole("button", { name: "Undo" }).click();
  await waitForElement(page.locator(".fact-detail"), "the fact again");
  await button(tab, "Remove the message…").click();
  await inDialog(tab, "Delete for good").click();
  await inDialog(tab, "Delete without undo?").click();
  await waitForElement(page.getByRole("heading", { name: "This fact is gone" }), "the fact to be gone for good");
  assert.match(await undoBar(tab).innerText(), /The message is deleted/);
  await tab.context.close();
});

test("evidence that is forgotten says so, and cannot be removed again", async () => {
  const session = await sessionWith("Tools", ["Quirin uses React.", "Quirin no longer uses React, he switched to Vue.", "Forget that Quirin uses Vue."]);
  const tab = await openMemory();
  const { page } = tab;
  await search(tab, "Quirin");
  await open(tab, "Quirin", "React");
  const item = page.locator(".history li", { hasText: "ended" });
  await waitForElement(item.getByText("Forgotten", { exact: true }), "the word in the history");
  assert.equal(await item.locator("q").count(), 0, "nothing is quoted");
  assert.equal(await item.getByRole("button", { name: "Remove the message…" }).count(), 0);
  await page.goto(`${server.url}/#/s/${session}`);
  await page.locator(".facts li.fact", { hasText: "React" }).locator(".fact-line").click();
  await waitForElement(page.locator(".facts .evidence").getByText("Forgotten", { exact: true }), "the word in the chat");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("on a phone, the percentage next to a long fact of a person stays on one line", async () => {
  await sessionWith("Loans", ["Wolfgang borrowed a ladder from Konstantin."]);
  const tab = await openMemory(PHONE, "/things");
  await search(tab, "Wolfgang");
  await open(tab, "Wolfgang");
  const percent = tab.page.locator(".short-facts .soft").first();
  await waitForElement(percent, "the percentage");
  const lines = await percent.evaluate((node) => { const range = document.createRange(); range.selectNodeContents(node); return range.getClientRects().length; });
  assert.equal(lines, 1);
  await tab.context.close();
});

test("a session is renamed, and what was said in it is forgotten", async () => {
  const id = await sessionWith("Old title", ["Siegfried likes opera."]);
  const tab = await openMemory({}, `/sessions/${id}`);
  const { page } = tab;
  await page.getByLabel("Title", { exact: true }).fill("Evenings at the opera");
  await button(tab, "Rename").click();
  await waitForElement(row(tab, "Evenings at the opera"), "the new title in the list");
  await button(tab, "Forget its messages…").click();
  await page.getByRole("dialog").getByRole("button", { name: /^Forget 1 fact and 1 message/ }).click();
  await until(async () => (await row(tab, "Evenings at the opera").innerText()).includes("0 facts"), "the session to be empty");
  await tab.context.close();
});

test("a pinned session comes first, and the filter offers an archived one", async () => {
  const [pinned, archived] = [await sessionWith("Old and pinned", ["Piet likes tea."]), await sessionWith("Old and archived", ["Piet likes rye."])];
  await sessionWith("Latest of all", ["Piet likes jam."]);
  for (const input of [{ sessionId: pinned, pinned: true }, { sessionId: archived, archived: true }]) {
    await server.graphql("mutation ($input: UpdateSessionInput!) { updateSession(input: $input) { errors { message } } }", { input });
  }
  const tab = await openMemory({}, "/sessions");
  await until(async () => (await row(tab).first().innerText()).startsWith("Old and pinned"), "the pinned session");
  await tab.page.goto(`${server.url}/#/memory`);
  await waitForElement(tab.page.getByLabel("Session", { exact: true }).locator("option", { hasText: "Old and archived" }), "the archived session");
  await tab.page.getByLabel("Session", { exact: true }).selectOption(archived);
  await until(async () => (await row(tab).count()) === 1, "its facts");
  await tab.context.close();
});

test("a retraction that was taken back offers no second restoring", async () => {
  await sessionWith("Harbour", ["Okko likes barges."]);
  const tab = await openMemory();
  await search(tab, "Okko");
  await open(tab, "Okko", "barges");
  await tab.page.locator(".pane").getByRole("button", { name: "Retract", exact: true }).click();
  await waitForElement(undoBar(tab).getByRole("button", { name: "Restore" }), "the offer");
  await tab.page.locator(".pane").getByRole("button", { name: "Restore", exact: true }).click();
  await waitForElement(undoBar(tab).getByText("Restored: Okko likes barges."), "the notice");
  assert.equal(await undoBar(tab).getByRole("button", { name: "Restore" }).count(), 0);
  await tab.context.close();
});

test("two browsers side by side show the same memory", async () => {
  // Not the newest session, so neither browser has it open.
  await sessionWith("Shared evening", ["Thorsten likes opera.", "Thorsten lives in Ghent."]);
  await sessionWith("Newest", ["Good evening."]);
  const [one, two] = [await openMemory(), await openMemory()];
  await waitForElement(row(two, "Thorsten", "opera"), "the fact in the second browser");
  await open(one, "Thorsten", "opera");
  await button(one, "Retract").click();
  await until(async () => (await status(two, "Thorsten", "opera")) === "RETRACTED", "the second browser to show the retraction");
  await open(one, "Thorsten", "Ghent");
  await one.page.locator(".pane").getByRole("button", { name: "Forget…" }).click();
  await one.page.getByRole("dialog").getByRole("button", { name: /^Forget 1 fact/ }).click();
  await until(async () => (await row(two, "Thorsten", "Ghent").count()) === 0, "the second browser to forget the fact");
  await undoBar(one).getByRole("button", { name: "Undo" }).click();
  await waitForElement(row(two, "Thorsten", "Ghent"), "the fact in the second browser again");
  await one.context.close();
  await two.context.close();
});

test("filters and the open fact are part of the URL", async () => {
  await sessionWith("Addresses", ["Ulrich lives in Ghent.", "Ulrich likes tea.", "Ulrich uses Emacs.", "Ulrich no longer uses Emacs."]);
  const tab = await openMemory();
  const { page } = tab;
  await search(tab, "Ulrich");
  await until(async () => (await page.locator(".memory-page .row").count()) === 3, "the facts about one person");
  await page.getByLabel("Status").selectOption("ENDED");
  await until(async () => (await page.locator(".memory-page .row").count()) === 1, "the ended fact");
  await page.reload();
  await waitForElement(row(tab, "Emacs"), "the same list after the reload");
  assert.equal(await page.locator(".memory-page .row").count(), 1);
  assert.equal(await page.getByRole("searchbox").inputValue(), "Ulrich");
  await page.getByRole("link", { name: "Clear" }).click();
  await until(async () => (await page.getByRole("searchbox").inputValue()) === "", "the filters to be cleared");
  await page.getByRole("combobox", { name: "About" }).fill("Ulr");
  await page.getByRole("option", { name: /Ulrich/ }).click();
  await until(async () => (await page.locator(".memory-page .row").count()) === 3, "the facts about one entity");
  await tab.context.close();
});

test("shared memory is marked, and values and notes are listed", async () => {
  const { createSession } = await server.graphql('mutation { createSession(input: { title: "House rules", shared: true }) { session { id } } }');
  await server.say(createSession.session.id, "Viktor lives in Ostend.");
  await server.settledHead(createSession.session.id);
  await sessionWith("Health", ["Viktoria is allergic to peanuts.", "Viktoria is 34 years old."]);
  const tab = await openMemory();
  await search(tab, "Viktor");
  await waitForElement(row(tab, "Viktor", "Ostend").locator(".badge", { hasText: "shared" }), "the mark of shared memory");
  await waitForElement(row(tab, "Viktoria", "34"), "the fact with a value");
  await tab.page.getByLabel("Whose memory").selectOption("own");
  await until(async () => (await row(tab, "Ostend").count()) === 0, "shared memory to be left out");
  await tab.context.close();
});

// The last test: it deletes everything.
test("people export their data and leave", async () => {
  await sessionWith("Last words", ["Xenia likes harps."]);
  const other = await browser.visit(`${server.url}/`);
  await waitForElement(other.page.getByText("Xenia likes harps.").first(), "the conversation in another window");
  const tab = await browser.visit(`${server.url}/#/memory/data`);
  const { page } = tab;
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export", exact: true }).click();
  const archive = await readFile(await (await download).path(), "utf8");
  assert.match(archive, /Xenia likes harps/);
  assert.match(await page.locator(".sheet").innerText(), /One file with all your sessions, messages, facts and documents\./);
  await until(async () => (await page.locator('.pill[data-phase="live"]').count()) > 0, "the open session");
  await button(tab, "Delete everything…").click();
  assert.match(await page.getByRole("dialog").innerText(), /all your sessions, messages, facts, documents and access tokens/);
  assert.ok(await inDialog(tab, "Delete everything").isDisabled(), "nothing is deleted without the word");
  await page.getByLabel("Type DELETE to confirm").fill("DELETE");
  await inDialog(tab, "Delete everything").click();
  await waitForElement(page.getByText(/^Deleted: \d+ sessions?, \d+ messages?, \d+ facts?, \d+ documents?\./), "the receipt");
  const { facts, sessions } = await server.graphql("{ facts { totalCount } sessions { totalCount } }");
  assert.deepEqual([facts.totalCount, sessions.totalCount], [0, 0]);
  // The streams close a moment later.
  await page.waitForTimeout(1500);
  assert.deepEqual(await page.locator(".toast, .pill[data-phase='closed']").allInnerTexts(), [], "nothing is reported behind the receipt");
  await until(async () => (await other.page.getByText("Xenia likes harps.").count()) === 0, "the conversation to vanish from the other window");
  await other.context.close();
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".welcome"), "the empty page");
  await tab.context.close();
});

test("a note on two people says in each of its rows whom it is on", async () => {
  await sessionWith("Neighbours", ["Tilda borrowed a ladder from Egon."]);
  const tab = await openMemory();
  await search(tab, "ladder");
  await waitForElement(row(tab, "note on", "ladder"), "the note");
  const texts = () => row(tab, "ladder").locator(".triple").allInnerTexts();
  await until(async () => new Set(await texts()).size === 2, "two rows that differ");
  assert.equal((await texts()).length, 2);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
