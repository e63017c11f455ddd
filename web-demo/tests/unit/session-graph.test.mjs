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

/** Returns the number of drawn steps until the graph rests. `drawMs`: how long each drawing takes. */
async function stepsDrawn(drawMs, until) {
  let steps = 0;
  let settled = 0;
  const layout = createLayout(() => { steps += 1; now += drawMs; }, () => { settled += 1; });
  const graph = news();
  layout.show(graph, true);
  for (let turn = 0; turn < 2000 && !until({ steps, settled }); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  layout.stop();
  return { steps, settled, graph, layout };
}

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
