// Every place of the demo, light and dark, on a desktop and on a phone, looked at by axe-core: nothing may be found.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { fact, newSession, phase, say, sessionIn, shown } from "./demo-page.mjs";
import { Browser, Server, until } from "./harness.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } };

let server;
let guarded;
let browser;
before(async () => {
  server = await Server.start();
  guarded = await Server.start({ RECALL_TOKEN: "a-token-that-is-long-enough-for-this" });
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await guarded?.stop();
  await server?.stop();
});

/** What axe finds in the page as it stands, once nothing moves any more. */
async function found(tab, place) {
  await tab.page.evaluate(axe);
  const violations = await tab.page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map((a) => (a.effect?.getComputedTiming().iterations === Infinity ? null : a.finished.catch(() => {}))));
    const { violations } = await window.axe.run(document, { rules: { "label-content-name-mismatch": { enabled: true } } });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target.join(" ")} (${n.any.concat(n.all, n.none).map((c) => c.message).join("; ").slice(0, 160)})`).slice(0, 4).join(" | ")}`);
  });
  return violations.map((v) => `${place}: ${v}`);
}

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing on a ${size}, ${colorScheme}`, async () => {
      const tab = await browser.visit(`${server.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      const { page } = tab;
      const wrong = [];
      const look = async (place) => wrong.push(...(await found(tab, place)));
      const view = async (name) => { if (size === "phone") await page.getByRole("navigation", { name: "View" }).getByRole("button", { name }).click(); };
      await phase(tab, "live");
      if (size === "phone") await page.getByRole("button", { name: "Sessions", exact: true }).click();
      await newSession(tab);
      await look("an empty session");

      for (const text of ["John likes Mary.", "John likes Mary.", "I live in Lyon.", "I live in Ghent.", "I use React.", "I no longer use React.", "Hello there."]) await say(tab, text);
      await say(tab, "Who does John like?");
      await shown(page.locator(".message.assistant .sources li"), "the answer");
      await until(async () => (await page.locator(".message.own").last().innerText()).includes("question"), "the last message to be read");
      await look("a conversation");

      await view("Facts");
      await fact(tab, "John", "Mary").locator(".fact-line").click();
      await shown(page.locator(".facts .evidence q"), "the evidence");
      await look("evidence");
      await fact(tab, "Ghent").first().locator(".fact-line").click();
      await shown(page.locator(".facts .evidence .rivals"), "the rivals");
      await look("rivals");
      await view("Graph");
      await look("the graph");
      if (size === "phone") {
        await page.getByRole("button", { name: "Sessions", exact: true }).click();
        await page.getByRole("button", { name: "New session", exact: true }).waitFor();
        await look("the list of sessions");
        await page.keyboard.press("Escape");
      }
      await view("Chat");
      await page.locator(".message .mention", { hasText: "Mary" }).first().click();
      await shown(page.getByRole("heading", { name: "Mary", level: 1 }), "the entity");
      await look("an entity");
      const id = await page.evaluate(() => document.querySelector(".back").getAttribute("href"));
      await page.goto(`${server.url}/${id}`);
      await phase(tab, "live");
      await page.getByRole("button", { name: "Cut the line", exact: true }).click();
      await phase(tab, "paused");
      await look("a cut line");
      await page.goto(`${server.url}/#/s/00000000-0000-7000-8000-000000000000`);
      await shown(page.getByRole("heading", { name: "There is no such session" }), "that there is no such session");
      await look("an unknown session");
      assert.deepEqual(wrong, []);
      await tab.context.close();

      const stranger = await browser.visit(`${guarded.url}/`, { ...options, colorScheme, reducedMotion: "reduce" });
      await shown(stranger.page.getByLabel("Access token"), "the way in");
      assert.deepEqual(await found(stranger, "the way in"), []);
      await stranger.page.route("**/auth/session", (route) => route.abort());
      await stranger.page.reload();
      await shown(stranger.page.getByRole("heading", { name: "Recall cannot be reached" }), "that the server is away");
      assert.deepEqual(await found(stranger, "a server that is away"), []);
      await stranger.context.close();
    });
  }
}

test("the first key press leads past the list of sessions", async () => {
  const tab = await browser.visit(`${server.url}/`);
  await phase(tab, "live");
  const before = await sessionIn(tab);
  await tab.page.keyboard.press("Tab");
  await tab.page.keyboard.press("Enter");
  assert.equal(await tab.page.evaluate(() => document.activeElement.id), "main");
  assert.equal(await sessionIn(tab), before, "the address still names the session");
  await tab.context.close();
});
