// What opening a conversation costs: no animation of what is there already, and no wait for the list of sessions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { say, waitForElement, waitForPhase } from "./demo-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

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

/** Opens a conversation. Returns its tab, and a function that waits until the graph rests with `count` nodes and returns how often the node that moved most was moved. */
async function openCounting(id) {
  const tab = await browser.visit(`${server.url}/`);
  const { page } = tab;
  await page.goto("about:blank");
  await page.addInitScript(() => {
    window.moves = {};
    const set = Element.prototype.setAttribute;
    Element.prototype.setAttribute = function (name, value) {
      if (name === "transform" && this.id.startsWith("n-")) window.moves[this.id] = (window.moves[this.id] ?? 0) + 1;
      return set.call(this, name, value);
    };
  });
  await page.goto(`${server.url}/#/s/${id}`);
  await waitForPhase(tab, "live");
  const movesUntilRest = async (count) => {
    let last;
    return until(async () => {
      const moves = await page.evaluate(() => new Promise((resolve) => {
        let frames = 30;
        const wait = () => (frames-- > 0 ? requestAnimationFrame(wait) : resolve(window.moves));
        wait();
      }));
      const [before, now] = [last, JSON.stringify(moves)];
      last = now;
      return Object.keys(moves).length === count && before === now && Math.max(...Object.values(moves));
    }, `${count} things to rest`, 300_000);
  };
  return { tab, movesUntilRest };
}

test("the graph of an opened conversation appears in its place, and news moves there", async () => {
  const { id } = await server.newSession();
  for (const name of ["Emil", "Fritz", "Greta"]) await server.say(id, `${name} lives in Ghent.`);
  await server.settledHead(id);
  const { tab, movesUntilRest } = await openCounting(id);
  const opened = await movesUntilRest(4);
  assert.ok(opened < 30, `moved ${opened} times`);
  await say(tab, "Dora lives in Lyon.");
  assert.ok((await movesUntilRest(6)) > opened + 50, "news moves");
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});

test("news in a large graph is laid out without drawing each step", async () => {
  const { id } = await server.newSession();
  await Promise.all(Array.from({ length: 51 }, (_, i) => server.say(id, `Person${i} likes Thing${i}.`)));
  await server.settledHead(id);
  const { tab, movesUntilRest } = await openCounting(id);
  const opened = await movesUntilRest(102);
  await say(tab, "Dora lives in Lyon.");
  const moved = (await movesUntilRest(104)) - opened;
  assert.ok(moved < 50, `moved ${moved} times`);
  assert.equal(await tab.page.locator(".comet:visible, .halo:visible").count(), 0);
  assert.deepEqual(tab.problems, []);
  await tab.context.close();
});
