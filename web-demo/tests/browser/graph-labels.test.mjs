// The graph: no name and no phrase is drawn over a thing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { button, importGraph, openGraph, summary } from "./graph-page.mjs";
import { until, withServerAndBrowser } from "./harness.mjs";

let server;
let browser;
withServerAndBrowser((started) => { ({ server, browser } = started); }, { RECALL_EXTRACTION_LEARNED: "false" });

const SIZES = { desktop: { viewport: { width: 1360, height: 850 } }, phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } };
const THINGS = 60;

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
