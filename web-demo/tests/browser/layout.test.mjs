// The page itself never scrolls: its lists, conversations and panes do, on a desktop and on a phone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitForElement, waitForPhase } from "./demo-page.mjs";
import { handbook } from "./files.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

const SIZES = { desktop: { viewport: { width: 1280, height: 800 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const SECTIONS = ["tokens", "usage", "activity", "users", "remembering", "never-stored", "retention", "appearance", "data", "connection"];

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); });

/** A conversation that is longer than the window, and a document. */
async function fill() {
  const { id } = await server.newSession();
  for (let i = 0; i < 14; i += 1) await server.say(id, `Visitor${i} lives in Ghent. Visitor${i} likes tea and works at Oakwood.`);
  await server.say(id, "Who lives in Ghent?");
  const form = new FormData();
  form.append("file", new Blob([handbook(7)], { type: "application/pdf" }), "handbook.pdf");
  await fetch(`${server.url}/documents`, { method: "POST", body: form });
  await server.settledHead(id);
  return id;
}
let filled;
const session = () => (filled ??= fill());

/** How far the page itself can be scrolled, in pixels. */
const overflow = (page) => page.evaluate(() => document.scrollingElement.scrollHeight - innerHeight);

for (const [size, options] of Object.entries(SIZES)) {
  test(`no page of the demo scrolls as a whole on a ${size}`, async () => {
    const tab = await browser.visit(`${server.url}/#/s/${await session()}`, options);
    const { page } = tab;
    await waitForPhase(tab, "live");
    await waitForElement(page.locator(".message.assistant"), "the conversation");
    const scrolling = [];
    const check = async (view) => {
      const pixels = await overflow(page);
      if (pixels !== 0) scrolling.push(`${view}: ${pixels} px`);
    };
    const open = async (hash, shown) => {
      await page.evaluate((to) => { location.hash = to; }, hash);
      await waitForElement(page.locator(shown), hash);
    };
    await check("chat");
    if (size === "desktop") {
      await page.locator(".brand").focus();
      await page.keyboard.press("End");
      await page.mouse.move(400, 20);
      await page.mouse.wheel(0, 3000);
      await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
      assert.equal(await page.evaluate(() => scrollY), 0, "neither End nor the wheel moves the header away");
    }
    await page.locator(".session-about summary").click();
    await waitForElement(page.locator(".session-about p"), "the summary");
    await check("about the conversation");
    if (size === "phone") {
      for (const name of ["Facts", "graph"]) {
        await page.getByRole("navigation", { name: "View" }).getByRole("button", { name }).click();
        await check(`${name} of the session`);
      }
    }
    await open("#/memory", ".memory-page .row");
    await check("memory");
    for (const view of ["things", "sessions", "data"]) {
      await open(`#/memory/${view}`, view === "data" ? ".sheet" : `.memory-page[data-view="${view}"] .row`);
      await check(`memory, ${view}`);
    }
    await open("#/memory", ".memory-page[data-view=facts] .row");
    await page.locator(".memory-page [data-row]").first().click();
    await waitForElement(page.locator(".pane article"), "the fact");
    await check("a fact");
    await open("#/graph", ".graph-page canvas");
    await until(() => page.locator('.graph-page[aria-busy="false"]').count(), "the graph");
    await check("graph");
    await page.getByRole("button", { name: "List", exact: true }).click();
    await check("graph, list");
    await page.locator(".graph-page .listing [data-row]").first().click();
    await check("graph, details");
    await open("#/d", ".doc");
    await check("documents");
    await page.locator(".doc a").first().click();
    await waitForElement(page.locator(".doc-head"), "the document");
    await check("a document");
    for (const section of SECTIONS) {
      await open(`#/settings/${section}`, ".settings .sheet");
      await check(`settings, ${section}`);
    }
    assert.deepEqual(scrolling, []);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}
