// What opening a conversation costs: no animation of what is there already, and no wait for the list of sessions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { withServerAndBrowser } from "./harness.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

test("a conversation opens before the list of sessions is there, and only what is new is animated", async () => {
  const { id } = await server.newSession();
  for (const name of ["Anna", "Boris", "Clara"]) await server.say(id, `${name} lives in Ghent.`);
  await server.settledHead(id);
  const tab = await browser.visit(`${server.url}/`, PHONE);
  const { page } = tab;
  // The page is opened anew below.
  await page.goto("about:blank");
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("query Sessions")) await released;
    await route.continue();
  });
  await page.goto(`${server.url}/#/s/${id}`);
  await waitForElement(page.locator(".message.own", { hasText: "Clara lives in Ghent." }), "the conversation without the list");
  // Finished animations are not listed, so the styles are asked.
  const animated = () => page.locator(".message, .message .mention, .message .learned li").evaluateAll((nodes) => nodes.filter((node) => getComputedStyle(node).animationName !== "none").length);
  assert.equal(await animated(), 0);
  release();
  await waitForPhase(tab, "live");
  await say(tab, "Dora lives in Lyon.");
  await waitForElement(page.locator(".message.own", { hasText: "Dora" }), "the new message");
  assert.ok((await animated()) > 0, "what is new is animated");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
