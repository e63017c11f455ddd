// Measures the frames of the graph with 2,000 things: while the layout runs, and while the reader zooms in and out.
// Usage: RECALL_BIN=../target/release/recall [RECALL_PAGES=dist] node tests/graph-frames.mjs
// Work: time on the page's thread until the pixels exist, because one of them is read back. Pause: time between two frames.
import { setTimeout as sleep } from "node:timers/promises";
import { Browser, Server, until } from "./browser/harness.mjs";
import { button, canvas, importGraph, openGraph, summary } from "./browser/graph-page.mjs";

const THINGS = 2000;
const FRAMES = 240;
const SIZES = { "desktop, 1360 x 850": {}, "phone, 390 x 844, 2 pixels per point": { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 } };

/** Runs in the page. Measures each callback of `requestAnimationFrame`. */
function measureFrames() {
  const request = window.requestAnimationFrame.bind(window);
  window.measured = { script: [], work: [], pauses: [], readsBack: true };
  window.nextFrame = () => new Promise(request);
  let last = null;
  window.requestAnimationFrame = (callback) => request((now) => {
    const { script, work, pauses, readsBack } = window.measured;
    const began = performance.now();
    callback(now);
    script.push(performance.now() - began);
    if (readsBack) document.querySelector(".graph-page canvas")?.getContext("2d")?.getImageData(0, 0, 1, 1);
    work.push(performance.now() - began);
    if (last !== null) pauses.push(now - last);
    last = now;
  });
}

/** Runs in the page. Turns the wheel a little before each of `frames` frames, so that all things stay in view. */
async function turnWheel({ frames, readsBack }) {
  window.measured = { script: [], work: [], pauses: [], readsBack };
  const target = document.querySelector(".graph-page canvas");
  const { left, top, width, height } = target.getBoundingClientRect();
  for (let frame = 0; frame < frames; frame += 1) {
    target.dispatchEvent(new WheelEvent("wheel", { deltaY: frame % 60 < 30 ? -2 : 2, clientX: left + width / 2, clientY: top + height / 2, cancelable: true }));
    await window.nextFrame();
  }
}

const percentile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? NaN;
const describe = (values) => `p50 ${percentile(values, 0.5).toFixed(1)} ms, p95 ${percentile(values, 0.95).toFixed(1)} ms`;

/** Waits until no frame follows for a second. */
async function untilStill(page) {
  let frames = -1;
  await until(async () => {
    const before = frames;
    frames = await page.evaluate(() => window.measured.work.length);
    await sleep(1000);
    return frames > 0 && frames === before;
  }, "the graph to stand still", 180_000);
}

const server = await Server.start();
const browser = await Browser.start();
try {
  await importGraph(server, THINGS);
  for (const [size, options] of Object.entries(SIZES)) {
    const tab = await openGraph(browser, server, "", options);
    const { page } = tab;
    const report = async (what) => {
      const { script, work, pauses, readsBack } = await page.evaluate(() => window.measured);
      console.log(`  ${what}: ${work.length} frames${readsBack ? `; work ${describe(work)}; of it script ${describe(script)}` : `; script ${describe(script)}`}; pause ${describe(pauses)}`);
    };
    await page.evaluate(measureFrames);
    const began = performance.now();
    const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
    await button(tab, "Show everything").click();
    await until(async () => (await summary(tab)).startsWith(`${THINGS.toLocaleString("en")} things`), "all things", 120_000);
    console.log(`${size}: ${await summary(tab)}; read after ${seconds()} s`);
    await untilStill(page);
    await report(`layout, settled after ${seconds()} s`);
    const box = await canvas(tab).boundingBox();
    console.log(`  canvas of ${Math.round(box.width)} x ${Math.round(box.height)}`);
    await page.evaluate(turnWheel, { frames: FRAMES, readsBack: true });
    await report("zoom");
    await page.evaluate(turnWheel, { frames: FRAMES, readsBack: false });
    await report("zoom, nothing read back");
    await tab.context.close();
  }
} finally {
  await browser.stop();
  await server.stop();
}
