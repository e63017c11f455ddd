// What the graph shows, where its labels go, and how the keyboard moves in it.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const state = {};
before(async () => {
  for (const name of ["network", "labels", "steps", "outline", "layout", "viewport"]) {
    const entry = path.join(root, `src/demo/graph/state/${name}.ts`);
    const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
    Object.assign(state, await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`));
  }
});

const thing = (id, mentionCount = 1) => ({ id, name: id, type: "PERSON", isViewer: false, shared: false, mentionCount });
/** "anna-boris": Anna knows Boris. */
const fact = (ends, { id = ends, weight = 1, status = "ACTIVE" } = {}) => {
  const [subject, object] = ends.split("-").map((name) => thing(name));
  return { id, relation: "KNOWS", phrase: "knows", belief: 0.7, uncertainty: 0.3, weight, status, shared: false, updatedAt: "", subject, object: object ?? null, value: object ? null : { text: "40", label: null } };
};
const around = (centre, facts, { expanded = [centre], limit = 60 } = {}) => state.mergeNeighbourhoods({
  centre: thing(centre), expanded: new Set(expanded), limitOf: () => limit, factsOf: (id) => facts.filter((f) => f.subject.id === id || f.object?.id === id),
});
const names = (network) => network.things.map(({ id }) => id);
const linkNames = (network) => network.links.map(({ source, target }) => `${network.things[source].id}-${network.things[target].id}`).sort();

test("the neighbourhood of the centre comes first, without neighbours of neighbours", () => {
  const network = around("anna", [fact("anna-boris"), fact("boris-clara"), fact("clara-david")]);
  assert.deepEqual(names(network), ["anna", "boris"]);
  assert.deepEqual(linkNames(network), ["anna-boris"]);
});

test("an expanded neighbour adds its own neighbours, next to it", () => {
  const network = around("anna", [fact("anna-boris"), fact("boris-clara"), fact("clara-david")], { expanded: ["anna", "boris"] });
  assert.deepEqual(names(network), ["anna", "boris", "clara"]);
  assert.deepEqual(network.origins, [-1, 0, 1]);
});

test("an expanded thing that no path reaches is not shown", () => {
  const network = around("anna", [fact("anna-boris"), fact("boris-clara"), fact("clara-david")], { expanded: ["anna", "clara"] });
  assert.deepEqual(names(network), ["anna", "boris"]);
});

test("facts between the same two things are one link, heaviest first", () => {
  const network = around("anna", [fact("anna-boris", { id: "1", weight: 1 }), fact("boris-anna", { id: "2", weight: 3 }), fact("anna-boris", { id: "3", status: "ENDED", weight: 9 })]);
  assert.equal(network.links.length, 1);
  assert.deepEqual(network.links[0].facts.map(({ id }) => id), ["2", "1", "3"]);
  assert.equal(network.links[0].weight, 4);
  assert.equal(network.links[0].holds, true);
});

test("a link of ended facts does not hold", () => {
  assert.equal(around("anna", [fact("anna-boris", { status: "ENDED" })]).links[0].holds, false);
});

test("beyond the limit, the heaviest neighbours stay and the others are counted", () => {
  const facts = [fact("anna-boris", { weight: 1 }), fact("anna-clara", { weight: 3 }), fact("anna-david", { weight: 2 })];
  const network = around("anna", facts, { limit: 2 });
  assert.deepEqual(names(network), ["anna", "clara", "david"]);
  assert.deepEqual([...network.hidden], [["anna", 1]]);
});

test("facts with values and facts about oneself add no neighbour", () => {
  assert.deepEqual(names(around("anna", [fact("anna"), fact("anna-anna")])), ["anna"]);
});

test("everything contains each thing once, up to the limit", () => {
  const facts = [fact("boris-clara"), fact("anna-boris"), fact("david-emil"), fact("felix")];
  assert.deepEqual(names(state.mergeEverything(thing("anna"), facts, 10)), ["anna", "boris", "clara", "david", "emil", "felix"]);
  const limited = state.mergeEverything(thing("anna"), facts, 3);
  assert.deepEqual(names(limited), ["anna", "boris", "clara"]);
  assert.deepEqual(linkNames(limited), ["anna-boris", "boris-clara"]);
  assert.equal(state.countThings(facts), 6);
});

const ROOM = { width: 1000, height: 600, budget: 500, circles: [] };
const label = (key, points, { width = 60, required = false } = {}) => ({ key, text: key, width, points, required });

test("no label covers another, and earlier labels win", () => {
  const random = ((seed) => () => (seed = (seed * 16807) % 2147483647) / 2147483647)(7);
  const candidates = Array.from({ length: 2000 }, (_, i) => {
    const [x, y] = [random() * 1000, random() * 600];
    return label(String(i), [[x, y + 20], [x, y - 20]], { width: 30 + random() * 90 });
  });
  const placed = state.placeLabels(candidates, ROOM);
  assert.ok(placed.length > 100, `${placed.length} labels`);
  const boxes = placed.map(({ key, x, y }) => ({ key, x, y, half: candidates[Number(key)].width / 2 }));
  const hits = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => Math.abs(a.x - b.x) < a.half + b.half && Math.abs(a.y - b.y) < state.LABEL_HEIGHT));
  assert.deepEqual(hits, []);
  assert.equal(placed[0].key, "0");
});

test("a label moves to a free point, is left out without one, and stays if it is required", () => {
  const first = label("first", [[100, 100]]);
  const keysAt = (...candidates) => state.placeLabels([first, ...candidates], ROOM).map(({ key, y }) => `${key} ${y}`);
  assert.deepEqual(keysAt(label("second", [[110, 100], [110, 140]])), ["first 100", "second 140"]);
  assert.deepEqual(keysAt(label("second", [[110, 100]])), ["first 100"]);
  assert.deepEqual(keysAt(label("second", [[110, 100]], { required: true })), ["first 100", "second 100"]);
});

test("a label covers no disc unless it is required, and is never off the screen", () => {
  const circles = [{ x: 100, y: 100, r: 20 }];
  assert.equal(state.placeLabels([label("a", [[100, 100], [100, 200]])], { ...ROOM, circles })[0].y, 200);
  assert.deepEqual(state.placeLabels([label("a", [[100, 100]])], { ...ROOM, circles }), []);
  assert.equal(state.placeLabels([label("a", [[100, 100]], { required: true })], { ...ROOM, circles })[0].y, 100);
  // A required label rather covers a thing than a label.
  const both = [label("a", [[300, 100]]), label("b", [[310, 100], [100, 100]], { required: true })];
  assert.deepEqual(state.placeLabels(both, { ...ROOM, circles }).map(({ x }) => x), [300, 100]);
  // The corners of the square around a disc are free: the label ends 18 pixels to the left of the centre and 18 above.
  assert.equal(state.placeLabels([label("a", [[100 - 18 - 33, 100 - 18 - state.LABEL_HEIGHT / 2]])], { ...ROOM, circles }).length, 1);
  assert.deepEqual(state.placeLabels([label("a", [[-100, 100]])], ROOM), []);
});

test("a label at the edge is moved inside, and none is below the zoom buttons", () => {
  const [left, right] = state.placeLabels([label("left", [[10, 100]], { width: 80 }), label("right", [[ROOM.width - 5, 100]], { width: 80 })], ROOM);
  assert.ok(left.x - 40 >= 0 && right.x + 40 <= ROOM.width, `${left.x} and ${right.x}`);
  const corner = { width: 48, height: 116 };
  const points = [[ROOM.width - 30, ROOM.height - 40], [ROOM.width - 30, ROOM.height - 200]];
  assert.equal(state.placeLabels([label("a", points)], { ...ROOM, corner })[0].y, ROOM.height - 200);
});

test("the budget ends optional labels", () => {
  const candidates = Array.from({ length: 20 }, (_, i) => label(String(i), [[500, 20 + 25 * i]]));
  assert.equal(state.placeLabels(candidates, { ...ROOM, budget: 5 }).length, 5);
});

test("arrows go to the nearest thing ahead", () => {
  const at = [[1, { x: 100, y: 10 }], [2, { x: 50, y: 30 }], [3, { x: -80, y: 0 }], [4, { x: 0, y: 90 }]];
  const go = (x, y) => state.nextInDirection({ x: 0, y: 0 }, at, { x, y });
  assert.deepEqual([go(1, 0), go(-1, 0), go(0, 1), go(0, -1)], [2, 3, 4, null]);
});

test("arrows reach neighbours and their other neighbours", () => {
  const network = around("anna", [fact("anna-boris"), fact("anna-clara"), fact("clara-david")], { expanded: ["anna", "clara"] });
  const reached = (id) => [...state.reachable(network, network.indexes.get(id))].map((index) => network.things[index].id).sort();
  assert.deepEqual(reached("boris"), ["anna", "clara"]);
  assert.deepEqual(reached("david"), ["anna", "clara"]);
});

const rows = (network, expanded, all = false) => state.outline(network, new Set(expanded), all).map(({ thing: { id }, level, expanded: open, repeated }) => `${"  ".repeat(level - 1)}${id}${open ? " open" : ""}${repeated ? " repeated" : ""}`);

test("the list contains every link below one of its ends", () => {
  const expanded = ["anna", "boris", "clara"];
  const network = around("anna", [fact("anna-boris", { weight: 3 }), fact("anna-clara", { weight: 2 }), fact("boris-clara"), fact("clara-david")], { expanded });
  assert.deepEqual(rows(network, expanded), ["anna open", "  boris open", "    clara open", "      anna repeated", "      david", "  clara repeated"]);
});

test("the list of everything begins with what is mentioned most", () => {
  const facts = [fact("anna-boris")];
  facts[0].object.mentionCount = 5;
  const network = state.mergeEverything(null, facts, 10);
  assert.deepEqual(rows(network, [], true), ["boris", "anna"]);
  assert.deepEqual(rows(network, ["anna", "boris"], true), ["boris open", "  anna", "anna open", "  boris"]);
});

test("the layout settles, keeps things apart, and holds what is dragged", () => {
  const count = 40;
  const layout = new state.ForceLayout({
    positions: Float32Array.from({ length: 2 * count }, (_, i) => i), radii: new Float32Array(count).fill(10), heat: 1,
    ends: Uint32Array.from(Array.from({ length: count - 1 }, (_, i) => [Math.floor(i / 3), i + 1]).flat()),
  });
  const read = () => { const positions = new Float32Array(2 * count); layout.write(positions); return positions; };
  let ticks = 0;
  for (; !layout.settled; ticks += 1) layout.tick();
  assert.ok(ticks < 400, `${ticks} ticks`);
  const positions = read();
  for (let a = 0; a < count; a += 1) for (let b = a + 1; b < count; b += 1) assert.ok(Math.hypot(positions[2 * a] - positions[2 * b], positions[2 * a + 1] - positions[2 * b + 1]) > 20, `${a} and ${b}`);
  layout.hold(0, { x: 500, y: 300 });
  for (let i = 0; i < 20; i += 1) layout.tick();
  assert.deepEqual([...read().slice(0, 2)], [500, 300]);
  layout.hold(0, null);
  for (ticks = 0; !layout.settled; ticks += 1) layout.tick();
  assert.ok(ticks < 400);
});

test("the fitted viewport shows every thing, and zoom keeps the point under the pointer", () => {
  const size = { width: 800, height: 600 };
  const positions = Float32Array.from([-900, -100, 700, 400, 0, 0]);
  const { k, x, y } = state.fit(positions, size);
  for (let i = 0; i < positions.length; i += 2) {
    const [px, py] = [positions[i] * k + x, positions[i + 1] * k + y];
    assert.ok(px > 0 && px < size.width && py > 0 && py < size.height, `${px}, ${py}`);
  }
  const before = state.toWorld({ k, x, y }, 120, 80);
  const after = state.toWorld(state.zoomAt({ k, x, y }, 2, 120, 80), 120, 80);
  assert.ok(Math.hypot(before.x - after.x, before.y - after.y) < 1e-6);
});
