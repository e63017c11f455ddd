// The graph: no name and no phrase is drawn over a thing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitForPhase } from "./demo-page.mjs";
import { button, importGraph, openGraph, summary } from "./graph-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_EXTRACTION_LEARNED: "false" });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const THINGS = 60;
const CITIES = ["Ghent", "Lyon", "Oslo", "Rome", "Turin", "Porto", "Paris", "Berlin"];

/** Records the labels and the discs of each frame. Initials are in their discs. */
const recordFrames = (tab) => tab.page.evaluate(() => {
  const { arc, fillRect, fillText } = CanvasRenderingContext2D.prototype;
  window.frame = { labels: [], discs: [] };
  // Each frame begins with the background.
  CanvasRenderingContext2D.prototype.fillRect = function (...box) { window.frame = { labels: [], discs: [] }; return fillRect.apply(this, box); };
  CanvasRenderingContext2D.prototype.arc = function (x, y, r, ...rest) { window.frame.discs.push({ x, y, r }); return arc.call(this, x, y, r, ...rest); };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (!this.font.includes("600")) window.frame.labels.push({ text, x, y, half: this.measureText(text).width / 2 });
    return fillText.call(this, text, x, y);
  };
});

for (const [size, options] of Object.entries(SIZES)) {
  test(`labels avoid things on a ${size}`, async () => {
    // The layout is the same each time, because nothing in it is random.
    if ((await server.graphql("{ entities(first: 1) { totalCount } }")).entities.totalCount < THINGS) await importGraph(server, THINGS);
    const tab = await openGraph(browser, server, "", { ...options, reducedMotion: "reduce" });
    const { page } = tab;
    await recordFrames(tab);
    await button(tab, "Show everything").click();
    await until(async () => new RegExp(`^${THINGS} things`).test(await summary(tab)), "all things");
    let last = null;
    const { labels, discs } = await until(async () => {
      const frame = await page.evaluate(() => window.frame);
      const isStill = frame.labels.length > 0 && JSON.stringify(frame) === last;
      last = JSON.stringify(frame);
      return isStill && frame;
    }, "the graph to stand still");
    assert.ok(labels.length >= (size === "phone" ? 10 : 20) && discs.length >= THINGS, `${labels.length} labels, ${discs.length} discs`);
    // The letters are 11 pixels high.
    const isOver = (label, disc) => Math.hypot(Math.max(0, Math.abs(disc.x - label.x) - label.half), Math.max(0, Math.abs(disc.y - label.y) - 5.5)) < disc.r - 0.5;
    const over = labels.flatMap((label) => discs.filter((disc) => isOver(label, disc)).map(() => label.text));
    assert.deepEqual(over, []);
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}

/** A session with 200 facts about a hundred people, their cities and tea. */
async function crowdedSession() {
  const { id } = await server.newSession();
  const syllables = ["Ba", "Ko", "Lu", "Mi", "Ra", "To", "Ne", "Vi", "Sa", "Du"];
  const nameOf = (i) => [syllables[Math.floor(i / 10) % 10], syllables[i % 10].toLowerCase(), syllables[(i * 7 + 3) % 10].toLowerCase()].join("");
  const texts = Array.from({ length: 100 }, (_, i) => [`${nameOf(i)} lives in ${CITIES[i % 8]}.`, i % 2 ? `${nameOf(i)} knows ${nameOf((i * 13 + 5) % 100)}.` : `${nameOf(i)} likes tea.`]).flat();
  const messages = texts.map((text, n) => ({ role: "USER", text, sentAt: new Date(1.7e12 + n * 1e5).toISOString(), externalId: `crowd ${n}` }));
  const { importMessages } = await server.graphql("mutation ($i: ImportMessagesInput!) { importMessages(input: $i) { errors { message } } }", { i: { sessionId: id, messages } });
  assert.deepEqual(importMessages.errors, []);
  await until(async () => (await server.graphql("query ($id: ID!) { session(id: $id) { facts(first: 1) { totalCount } } }", { id })).session.facts.totalCount >= 200, "200 facts", 120_000);
  return id;
}

for (const [size, options] of Object.entries(SIZES)) {
  test(`names in the graph of a session with 200 facts cover nothing, and the strongest are shown, on a ${size}`, { timeout: 240_000 }, async () => {
    const tab = await browser.visit(`${server.url}/#/s/${await crowdedSession()}`, { ...options, reducedMotion: "reduce" });
    const { page } = tab;
    await waitForPhase(tab, "live");
    if (size === "phone") await page.getByRole("button", { name: "Session graph" }).click();
    await page.locator(".graph svg").waitFor();
    await page.evaluate(() => document.fonts.ready);
    const isOver = (a, b) => a.x + 1 < b.right && b.x + 1 < a.right && a.y + 1 < b.bottom && b.y + 1 < a.bottom;
    const coverOther = (boxes, others) => boxes.filter((one) => others.some((other) => other.node !== one.node && isOver(one, other)));
    let [last, same] = [null, 0];
    const { names, discs, frame } = await until(async () => {
      const now = await page.evaluate(() => {
        const box = (node) => { const { x, y, right, bottom } = node.getBoundingClientRect(); return { node: node.closest(".node")?.id, text: node.textContent, x, y, right, bottom }; };
        const all = (selector) => [...document.querySelectorAll(`.graph ${selector}`)].map(box);
        return { names: all('.node .name:not([visibility="hidden"])'), discs: all(".node .disc"), frame: box(document.querySelector(".graph svg")) };
      });
      // The layout takes its time without drawing, also between two looks. Then no disc covers another.
      same = JSON.stringify(now) === last ? same + 1 : 0;
      last = JSON.stringify(now);
      return now.discs.length >= 100 && coverOther(now.discs, now.discs).length === 0 && same >= 20 && now;
    }, "the graph to stand still");
    assert.deepEqual(coverOther(names, names.concat(discs)).map(({ text }) => text), []);
    assert.ok(names.length >= 20, `${names.length} names`);
    // In the middle of the crowd, one of the nine things with most facts may have no room.
    const strongest = names.map(({ text }) => text).filter((text) => text === "tea" || CITIES.includes(text));
    assert.ok(strongest.length >= 5, `the names of what has most facts: ${strongest}`);
    assert.deepEqual(names.filter((name) => name.y < frame.y || name.bottom > frame.bottom), [], "no name is cut off");
    // A name without room comes with the focus.
    const id = await page.locator('.graph .node:has(.name[visibility="hidden"])').first().getAttribute("id");
    await page.locator(`.graph [id="${id}"]`).focus();
    await until(async () => (await page.locator(`.graph [id="${id}"] .name`).getAttribute("visibility")) === "visible", "the name of the node with the focus");
    assert.deepEqual(tab.problems, []);
    await tab.context.close();
  });
}
