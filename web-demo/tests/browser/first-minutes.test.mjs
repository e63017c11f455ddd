// What a newcomer sees and does first, in a real Chromium against the real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fact, newSession, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const chip = ({ page }, title) => page.locator(".hints .chip", { hasText: title });
async function deleteSessions() {
  const { sessions } = await server.graphql("{ sessions(first: 100) { nodes { id } } }");
  for (const { id } of sessions.nodes) await server.graphql("mutation ($id: ID!) { deleteSession(input: { id: $id }) { deletedId } }", { id });
}
const openPage = async (options) => {
  const tab = await browser.visit(`${server.url}/`, options);
  await waitForPhase(tab, "live");
  await newSession(tab);
  return tab;
};

for (const [size, options] of Object.entries(SIZES)) {
  test(`two actions on a ${size} tell something, show the fact and why`, async () => {
    const own = await browser.visit(`${server.url}/`, options);
    const { page } = own;
    await waitForPhase(own, "live");
    await waitForElement(page.getByRole("heading", { name: /Tell me something/ }), "the empty page");
    assert.equal(await page.locator(".welcome li").count(), 3);
    // 1: tell. The message shows the fact.
    await page.getByRole("button", { name: /I work at Siemens/ }).click();
    await until(() => page.locator(".message .learned", { hasText: "you work for Siemens" }).isVisible(), "the fact");
    // 2: why.
    await chip(own, "Why do you believe that?").click();
    await until(() => page.locator(".facts .evidence q", { hasText: "I work at Siemens" }).isVisible(), "the sentence that the fact rests on");
    assert.deepEqual(own.problems, []);
    // The other size starts with an empty page, too.
    await deleteSessions();
    await own.context.close();
  });
}

test("the suggestions follow what was said, until each was tried", async () => {
  const tab = await openPage();
  const { page } = tab;
  await say(tab, "I live in Ghent.");
  await waitForElement(chip(tab, "You live in Ghent"), "the fact in a suggestion");
  await say(tab, "Leo works for Siemens.");
  await waitForElement(chip(tab, "What do you know about Leo?"), "the question about the other person");
  await chip(tab, "What do you know about Leo?").click();
  await waitForElement(page.locator(".message.assistant .sources li"), "the answer with its source");
  await until(async () => (await chip(tab, "What do you know about").count()) === 0, "the tried question to disappear");
  await chip(tab, "Leo no longer works for Siemens.").click();
  await waitForElement(fact(tab, "Leo", "Siemens").locator('.belief:text("ended")'), "the ended fact");
  await chip(tab, "Why do you believe that?").click();
  await waitForElement(page.locator(".facts .evidence q", { hasText: "I live in Ghent" }), "the sentence of the newest fact that holds");
  assert.equal(await page.locator(".hints .progress i.on").count(), 4);
  await chip(tab, "Forget it").click();
  await page.locator(".pane").getByRole("button", { name: "Forget…", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: /^Forget 1 fact/ }).click();
  await until(async () => (await page.getByRole("dialog").count()) === 0, "the fact to be forgotten");
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await waitForElement(page.locator(".message", { hasText: "Leo works" }).first(), "the conversation");
  assert.equal(await page.locator(".hints").count(), 0, "all steps are done");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a user of whom something is known gets no examples to store", async () => {
  const { id } = await server.newSession();
  await server.say(id, "I work at Bosch.");
  const tab = await openPage();
  await waitForElement(tab.page.getByRole("heading", { name: /A new session/ }), "the empty session");
  assert.equal(await tab.page.locator(".welcome li").count(), 0);
  await deleteSessions();
  await tab.context.close();
});

test("the keyboard alone tells something and sees why", async () => {
  const tab = await openPage({ reducedMotion: "reduce" });
  const { page } = tab;
  await page.locator(".welcome li button").first().focus();
  await page.keyboard.press("Enter");
  await waitForElement(chip(tab, "Why do you believe that?"), "the suggestion");
  await chip(tab, "Why do you believe that?").focus();
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".facts .evidence q"), "the evidence");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
