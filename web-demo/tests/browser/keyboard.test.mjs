// How far it is by keyboard: from a question to what its answer quotes, and from a search to its results.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./axe.mjs";
import { fact, newSession, say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

/** Keys that lead from one place to another, at most. */
const FEW = 5;

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

const focusIs = (page, selector) => page.evaluate((wanted) => document.activeElement.matches(wanted), selector);
/** Presses Tab until an element has the focus. Uses skip links on the way. Returns the number of keys. */
async function keysTo(page, selector) {
  for (let keys = 1; keys <= 40; keys += 1) {
    await page.keyboard.press((await focusIs(page, ".skip")) ? "Enter" : "Tab");
    if (await focusIs(page, selector)) return keys;
  }
  throw new Error(`no key leads to ${selector}`);
}

test("a few keys lead from the question to the quoted message", async () => {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await waitForPhase(tab, "live");
  await newSession(tab);
  for (const [name, place] of [["Wilma", "Ghent"], ["Olga", "Lyon"], ["Mara", "Porto"]]) {
    await say(tab, `${name} lives in ${place}.`);
    await waitForElement(fact(tab, name, place), "the fact");
  }
  await say(tab, "Where does Wilma live?");
  await waitForElement(page.locator(".message.assistant .sources button"), "the sources");
  assert.ok(await focusIs(page, ".composer textarea"), "the message field has the focus");
  const keys = await keysTo(page, ".message.assistant button");
  assert.ok(keys <= FEW, `${keys} keys`);
  assert.deepEqual(await findViolations(tab, "the chat with an answer"), []);
  await page.keyboard.press("Enter");
  await until(() => page.locator(".message.own", { hasText: "Wilma lives in Ghent." }).evaluate((node) => node.getBoundingClientRect().top >= 0), "the quoted message in view");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("a few keys lead from the search of the Memory page to its results", async () => {
  const { id } = await server.newSession();
  await server.say(id, "Zora lives in Bruges.");
  await server.settledHead(id);
  const tab = await browser.visit(`${server.url}/#/memory`);
  const { page } = tab;
  const found = page.locator(".memory-page .row", { hasText: "Zora" });
  await waitForElement(found, "the list");
  await page.getByRole("searchbox").fill("Zora");
  await until(async () => (await page.locator(".memory-page .row").count()) === (await found.count()), "the results");
  const keys = await keysTo(page, "[data-row]");
  assert.ok(keys <= FEW, `${keys} keys`);
  await page.keyboard.press("Enter");
  await waitForElement(page.locator(".pane article"), "the details");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
