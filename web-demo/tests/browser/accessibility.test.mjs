// Checks every view of the demo with axe-core: light and dark, on a desktop and on a phone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { fact, newSession, waitForPhase, say, sessionIn, waitForElement } from "./demo-page.mjs";
import { Server, until, withServerAndBrowser } from "./harness.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } };

let server;
let browser;
let protectedServer;
withServerAndBrowser((started) => { ({ server, browser } = started); });
before(async () => {
  protectedServer = await Server.start({ RECALL_TOKEN: "a-token-that-is-long-enough-for-this" });
});
after(() => protectedServer?.stop());

/** Runs axe after all animations have ended, and returns its violations. */
async function findViolations(tab, view) {
  await tab.page.evaluate(axe);
  const violations = await tab.page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map((a) => (a.effect?.getComputedTiming().iterations === Infinity ? null : a.finished.catch(() => {}))));
    const { violations } = await window.axe.run(document, { rules: { "label-content-name-mismatch": { enabled: true } } });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} (${n.any.concat(n.all, n.none).map((c) => c.message).join("; ").slice(0, 160)})`).slice(0, 4).join(" | ")}`);
  });
  return violations.map((v) => `${view}: ${v}`);
}

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation on a ${size}, ${colorScheme}`, async () => {
      const tab = await browser.visit(`${server.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const violations = [];
      const check = async (view) => violations.push(...(await findViolations(tab, view)));
      const openTab = async (name) => { if (size === "phone") await page.getByRole("navigation", { name: "View" }).getByRole("button", { name }).click(); };
      await waitForPhase(tab, "live");
      if (size === "phone") await page.getByRole("button", { name: "Sessions", exact: true }).click();
      await newSession(tab);
      await check("an empty session");

      for (const text of ["John likes Mary.", "John likes Mary.", "I live in Lyon.", "I live in Ghent.", "I use React.", "I no longer use React.", "Hello there."]) await say(tab, text);
      await say(tab, "Who does John like?");
      await waitForElement(page.locator(".message.assistant .sources li"), "the answer");
      await until(async () => (await page.locator(".message.own").last().innerText()).includes("question"), "the last message to be read");
      await check("a conversation");

      await openTab("Facts");
      await fact(tab, "John", "Mary").locator(".fact-line").click();
      await waitForElement(page.locator(".facts .evidence q"), "the evidence");
      await check("evidence");
      await fact(tab, "Ghent").first().locator(".fact-line").click();
      await waitForElement(page.locator(".facts .evidence .rivals"), "the rivals");
      await check("rivals");
      await openTab("Graph");
      await check("the graph");
      if (size === "phone") {
        await page.getByRole("button", { name: "Sessions", exact: true }).click();
        await page.getByRole("button", { name: "New session", exact: true }).waitFor();
        await check("the list of sessions");
        await page.keyboard.press("Escape");
      }
      await openTab("Chat");
      await page.locator(".message .mention", { hasText: "Mary" }).first().click();
      await waitForElement(page.getByRole("heading", { name: "Mary", level: 1 }), "the entity");
      await check("an entity");
      const id = await page.evaluate(() => document.querySelector(".back").getAttribute("href"));
      await page.goto(`${server.url}/${id}`);
      await waitForPhase(tab, "live");
      await page.getByRole("button", { name: "Cut the line", exact: true }).click();
      await waitForPhase(tab, "paused");
      await check("a cut line");
      await page.goto(`${server.url}/#/s/00000000-0000-7000-8000-000000000000`);
      await waitForElement(page.getByRole("heading", { name: "There is no such session" }), "the error for an unknown session");
      await check("an unknown session");
      assert.deepEqual(violations, []);
      await tab.context.close();

      const anonymous = await browser.visit(`${protectedServer.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      await waitForElement(anonymous.page.getByLabel("Access token"), "the login page");
      assert.deepEqual(await findViolations(anonymous, "the login page"), []);
      await anonymous.page.route("**/auth/session", (route) => route.abort());
      await anonymous.page.reload();
      await waitForElement(anonymous.page.getByRole("heading", { name: "Recall cannot be reached" }), "the error for an unreachable server");
      assert.deepEqual(await findViolations(anonymous, "an unreachable server"), []);
      await anonymous.context.close();
    });
  }
}

test("the skip link moves the focus past the list of sessions", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await waitForPhase(tab, "live");
  const before = await sessionIn(tab);
  await tab.page.keyboard.press("Tab");
  await tab.page.keyboard.press("Enter");
  assert.equal(await tab.page.evaluate(() => document.activeElement.id), "main");
  assert.equal(await sessionIn(tab), before, "the URL still names the session");
  await tab.context.close();
});
