// What the demo shows of documents and conversations besides their texts, in a real Chromium against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newSession, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { addFiles, expectFit, file, openDocuments, recordShifts, waitForStatus } from "./documents-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const DOGS = ["The dog of Ada Byron sleeps in a basket near the leash.", "A puppy needs a leash and a collar on each walk.", "The dog eats twice a day, and the puppy three times.", "Brush the fur of the dog after each walk.", "A dog without a leash runs after the puppy."];
const TAXES = ["The tax return is due in May at the tax office.", "Income tax is paid each quarter by bank transfer.", "The tax office sends a tax bill after the return.", "A late tax return costs a fee of the tax office.", "Keep each tax bill and each receipt for ten years."];
/** Sections about two subjects. */
const guide = (name) => `# ${name}\n\n${[...DOGS, ...TAXES].map((text, i) => `## Part ${i + 1}\n\n${text} ${text}`).join("\n\n")}`;

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const openPlace = (options) => openDocuments(server, browser, options);

async function addGuide(tab, name) {
  await addFiles(tab, file(name, guide(name)));
  await waitForStatus(tab, name, "Ready");
}
const openDocument = async ({ page }, name) => {
  await page.locator(".doc a", { hasText: name }).click();
  await waitForElement(page.locator(".reading-text"), "the text");
};
const group = ({ page }, title) => page.locator(".about details", { has: page.locator("summary", { hasText: title }) });

test("a document shows what it is about, whom it names, and when it was last viewed", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addGuide(tab, "house.md");
  await openDocument(tab, "house.md");
  assert.ok(!(await page.locator(".doc-head").innerText()).includes("last viewed"), "this is the first view");
  const about = page.getByRole("region", { name: "About this document", exact: true });
  await waitForElement(about.getByRole("heading", { name: "Summary" }), "the summary");
  const summary = await about.locator("p").first().innerText();
  assert.ok([...DOGS, ...TAXES].some((sentence) => summary.includes(sentence)), summary);
  assert.ok((await group(tab, "Topics").locator("li").count()) > 0);
  await waitForElement(group(tab, "Names").getByRole("link", { name: "Ada Byron" }), "the name");
  assert.equal(await group(tab, "Questions").count(), 0, "nothing was asked");
  await page.goBack();
  await openDocument(tab, "house.md");
  assert.match(await page.locator(".doc-head").innerText(), /last viewed just now/);
  await group(tab, "Names").getByRole("link", { name: "Ada Byron" }).click();
  await waitForElement(page.getByRole("heading", { name: "Ada Byron", level: 1 }), "the entity");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a topic leads to its documents, conversations and related topics", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addGuide(tab, "first.md");
  await addGuide(tab, "second.md");
  await page.goto(`${server.url}/#/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  for (const text of [...DOGS, ...DOGS.map((text) => `Remember: ${text}`)]) await say(tab, text);
  await until(async () => !(await page.locator(".message footer", { hasText: "reading" }).count()), "the messages to be read");
  await page.goto(`${server.url}/#/d`);
  const topics = page.getByRole("list", { name: "Topics of documents and conversations" });
  await waitForElement(topics.getByRole("link", { name: /dog|puppy|leash/ }), "the topic");
  await topics.getByRole("link", { name: /dog|puppy|leash/ }).first().click();
  await waitForElement(page.getByRole("heading", { level: 1, name: /dog|puppy|leash/ }), "the page of the topic");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the focus is in the new view");
  const documents = page.getByRole("region", { name: "Documents" });
  assert.deepEqual((await documents.getByRole("link").allInnerTexts()).map((name) => name.split("\n")[0]).sort(), ["first.md", "second.md"]);
  const conversations = page.getByRole("region", { name: "Conversations" });
  await waitForElement(conversations.getByRole("link"), "the messages");
  const related = page.getByRole("region", { name: "Related topics" }).getByRole("link").first();
  const name = await related.innerText();
  await related.click();
  await waitForElement(page.getByRole("heading", { level: 1, name }), "the related topic");
  await page.goBack();
  await conversations.getByRole("link").first().click();
  await waitForElement(page.locator(".message.own", { hasText: "dog" }), "the conversation");
  await page.goBack();
  await documents.getByRole("link", { name: "second.md" }).click();
  await waitForElement(page.locator(".reading-text"), "the document");
  await page.goto(`${server.url}/#/t/00000000-0000-7000-8000-000000000000`);
  await waitForElement(page.getByRole("heading", { name: "There is no such topic" }), "the error for an unknown topic");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

/** Two documents that answer the same question in another way. */
async function addBudgets(tab) {
  const budget = (name, euros) => file(`${name}.md`, `# ${name}\n\nThe travel budget of the office is ${euros} euros a year.`);
  await addFiles(tab, budget("north", 4200), budget("south", 900));
  await waitForStatus(tab, "north.md", "Ready");
  await waitForStatus(tab, "south.md", "Ready");
}
const QUESTION = "How high is the travel budget of the office?";
const askInChat = async ({ page }) => {
  await page.getByRole("textbox", { name: "Ask about this document" }).fill(QUESTION);
  await page.getByRole("button", { name: "ask in the chat" }).click();
};
const lastAnswer = ({ page }) => page.locator(".message.assistant").last();

async function expectAnswerFrom(tab, name, euros) {
  const answer = lastAnswer(tab);
  await until(async () => (await answer.count()) > 0 && (await answer.locator(".sources cite").count()) > 0, "the answer");
  assert.match(await answer.locator(".text").innerText(), new RegExp(euros));
  assert.deepEqual([...new Set(await answer.locator(".sources cite").allInnerTexts())], [name]);
}

test("a question about a document is answered from this document only, and is listed there", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await addBudgets(tab);
  for (const [name, euros] of [["south.md", "900"], ["north.md", "4200"]]) {
    await page.goto(`${server.url}/#/d`);
    await openDocument(tab, name);
    await waitForElement(page.getByText("which answers from this document only"), "what the answer uses");
    await askInChat(tab);
    await until(async () => (await page.locator(".message.own", { hasText: QUESTION }).count()) > 0 && new RegExp(euros).test(await lastAnswer(tab).innerText()), "the answer");
    await expectAnswerFrom(tab, name, euros);
  }
  await page.goto(`${server.url}/#/d`);
  await openDocument(tab, "south.md");
  await waitForElement(group(tab, "Questions it answered (1)").getByText(QUESTION), "the question");
  const references = group(tab, "Messages that refer to it (1)").getByRole("link");
  assert.match(await references.innerText(), /900/);
  await references.click();
  await waitForElement(page.locator(".message.assistant", { hasText: "900" }), "the message");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a limited question that could not be sent keeps its limit after a reload", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await page.goto(`${server.url}/#/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  await page.goto(`${server.url}/#/d`);
  await addBudgets(tab);
  await openDocument(tab, "north.md");
  await page.route("**/graphql", (route) => (route.request().postData()?.includes("sendMessage") ? route.abort() : route.continue()));
  await askInChat(tab);
  await waitForElement(page.locator(".message.own[data-stage=unsent]"), "the unsent question");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.reload();
  await expectAnswerFrom(tab, "north.md", "4200");
  await tab.context.close();
});

test("a conversation shows its summary and topics", async () => {
  const tab = await openPlace();
  const { page } = tab;
  await page.goto(`${server.url}/#/`);
  await waitForPhase(tab, "live");
  await newSession(tab);
  await say(tab, DOGS[0]);
  assert.equal(await page.locator(".session-about").count(), 0, "one message needs no summary");
  for (const text of [...DOGS.slice(1), ...TAXES]) await say(tab, text);
  await until(async () => !(await page.locator(".message footer", { hasText: "reading" }).count()), "the messages to be read");
  const about = page.locator(".session-about");
  await about.locator("summary").focus();
  await page.keyboard.press("Enter");
  await waitForElement(about.locator("div > p"), "the summary");
  const summary = await about.locator("div > p").innerText();
  assert.ok([...DOGS, ...TAXES].some((sentence) => summary.includes(sentence)), summary);
  await waitForElement(about.getByRole("link"), "the topics");
  await about.getByRole("link").first().click();
  await waitForElement(page.getByRole("region", { name: "Conversations" }), "the page of the topic");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("on a phone everything fits, and targets are large", async () => {
  const tab = await openPlace(PHONE);
  const { page } = tab;
  await addGuide(tab, `${"a-long-name-".repeat(5)}.md`);
  await openDocument(tab, "a-long-name");
  await waitForElement(page.locator(".about summary"), "the groups");
  assert.equal(await page.locator(".about details[open]").count(), 0, "open groups push the text down");
  for (const summary of await page.locator(".about summary").all()) {
    assert.ok((await summary.boundingBox()).height >= 44);
    await summary.click();
  }
  await expectFit(tab, "the document");
  for (const link of await page.locator(".about :is(.topics, .names) a").all()) assert.ok((await link.boundingBox()).height >= 36);
  await page.locator(".about .topics a").first().click();
  await waitForElement(page.getByRole("region", { name: "Documents" }), "the topic");
  await expectFit(tab, "the topic");
  await page.goto(`${server.url}/#/`);
  await waitForPhase(tab, "live");
  await page.getByRole("button", { name: "Sessions", exact: true }).click();
  await newSession(tab);
  for (const text of DOGS) await say(tab, text);
  await page.locator(".session-about summary").click();
  await waitForElement(page.locator(".session-about div > p"), "the summary");
  // The hints below it scroll sideways.
  const right = (nodes) => Math.max(...nodes.map((node) => node.getBoundingClientRect().right));
  assert.ok((await page.locator(".session-about, .session-about *").evaluateAll(right)) <= 390);
  const composer = await page.locator(".composer").boundingBox();
  assert.ok(composer.y + composer.height <= 844, "the message field is in view");
  await tab.context.close();
});

test("nothing moves when a document opens", async () => {
  const tab = await openPlace();
  await addGuide(tab, "still.md");
  const href = await tab.page.locator(".doc a", { hasText: "still.md" }).getAttribute("href");
  for (const address of [href, "#/d"]) {
    const page = await tab.context.newPage();
    await page.addInitScript(recordShifts);
    await page.goto(`${server.url}/${address}`);
    await waitForElement(page.locator(address === href ? ".reading-text h2" : ".topics a").first(), "the content");
    await page.evaluate(() => new Promise((done) => setTimeout(done, 800)));
    assert.deepEqual(await page.evaluate(() => window.shifts), [], address);
    await page.close();
  }
  await tab.context.close();
});
