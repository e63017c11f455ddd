// The layout of the session graph: it is drawn step by step, but not on a device that is too slow for it.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let createLayout;
/** Milliseconds. Only frames and drawings move it. */
let now = 1000;
before(async () => {
  performance.now = () => now;
  const nextFrame = (callback) => setImmediate(() => callback((now += 16)));
  Object.assign(globalThis, { requestAnimationFrame: nextFrame, cancelAnimationFrame: clearImmediate, matchMedia: () => ({ matches: false }) });
  globalThis.window = globalThis;
  const entry = path.join(root, "src/demo/session-graph/graph-layout.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  ({ createLayout } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
});

/** A person with facts about five things, the last of which was just learned. */
function news() {
  const nodes = Array.from({ length: 6 }, (_, i) => ({ id: `n${i}`, x: 30 * i, y: i, r: 14, entity: { name: `Thing ${i}`, isViewer: i === 0 } }));
  const edges = nodes.slice(1).map((target, i) => ({ id: `e${i}`, source: nodes[0], target, bend: 0, fact: { phrase: "likes", pulse: { count: 1, delay: 0, at: now, kind: "learned" } } }));
  return { nodes, edges };
}

/** Returns a function that draws news until `until`, and returns how many steps were drawn, and how often the graph settled unseen. `drawMs`: how long it takes to draw a step. */
function drawings(drawMs) {
  let steps;
  let settled;
  const layout = createLayout(() => { steps += 1; now += drawMs(steps); }, () => { settled += 1; });
  return async (until) => {
    [steps, settled] = [0, 0];
    const graph = news();
    layout.show(graph, true);
    for (let turn = 0; turn < 2000 && !until({ steps, settled }); turn += 1) await new Promise((resolve) => setImmediate(resolve));
    layout.stop();
    return { steps, settled, graph };
  };
}
const stepsDrawn = (drawMs, until) => drawings(() => drawMs)(until);

test("news moves into place step by step", async () => {
  const { steps, settled } = await stepsDrawn(4, ({ steps }) => steps >= 60);
  assert.ok(steps >= 60, `${steps} steps`);
  assert.equal(settled, 0);
});

test("on a slow device, the graph is drawn at its end instead of at each step", async () => {
  const { steps, settled, graph } = await stepsDrawn(60, ({ settled }) => settled > 0);
  assert.ok(steps <= 4, `${steps} steps`);
  assert.equal(settled, 1);
  const gap = Math.hypot(graph.nodes[0].x - graph.nodes[1].x, graph.nodes[0].y - graph.nodes[1].y);
  assert.ok(gap > 50, `the layout has ended: ${gap} between two things`);
});

test("one slow frame does not end the animation", async () => {
  for (const slow of [2, 10]) {
    const { steps, settled } = await drawings((step) => (step === slow ? 60 : 4))(({ steps, settled }) => steps >= 60 || settled > 0);
    assert.ok(steps >= 60, `${steps} steps with a slow one at ${slow}`);
  }
});

test("after a slow run and a pause, the next run is drawn step by step", async () => {
  let drawMs = 60;
  const draw = drawings(() => drawMs);
  assert.equal((await draw(({ settled }) => settled > 0)).settled, 1);
  now += 60_000;
  drawMs = 4;
  const { steps, settled } = await draw(({ steps, settled }) => steps >= 60 || settled > 0);
  assert.ok(steps >= 60, `${steps} steps`);
  assert.equal(settled, 0);
});
