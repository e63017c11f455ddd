// Layout of the graph: a force simulation that keeps existing nodes in place and makes room for new ones.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationLinkDatum, type SimulationNodeDatum } from "d3-force";
import type { Memory } from "../state/memory.ts";
import { isPulsing, type Entity, type Fact, type Pulse } from "../state/model.ts";
import { prefersReducedMotion } from "../motion.ts";

export interface GraphNode extends SimulationNodeDatum {
  id: string;
  entity: Entity;
  /** Number of its facts. */
  degree: number;
  /** Radius in pixels; grows with the number of facts, up to a limit. */
  r: number;
  /** All facts about the entity have ended. */
  faded: boolean;
  pulse: Pulse | null;
}

export interface GraphEdge extends SimulationLinkDatum<GraphNode> {
  id: string;
  fact: Fact;
  source: GraphNode;
  target: GraphNode;
  /** Curvature in pixels. It separates several facts between the same two nodes. */
  bend: number;
}

export interface GraphData {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

const radius = (degree: number, viewer: boolean) => (viewer ? 23 : 12 + Math.min(10, 3.4 * Math.sqrt(degree)));
const BEND_STEP_PX = 34;
/** Average letter width of names and edge labels, in pixels at scale 1. The forces use it, so that the same graph looks alike in every font. */
const NAME_LETTER_PX = 6.8;
const LABEL_LETTER_PX = 6;
const MAX_NAME_LETTERS = 22;

/** Truncates a name for display under its node. */
export const shortName = (name: string): string => (name.length > MAX_NAME_LETTERS ? `${name.slice(0, MAX_NAME_LETTERS - 1)}…` : name);

/** Half the estimated width of a node and its name, in pixels. */
export const halfWidth = ({ entity, r }: GraphNode): number => (entity.isViewer ? r : Math.max(r, (shortName(entity.name).length * NAME_LETTER_PX) / 2));

/** Builds the graph of `memory`. Nodes keep their positions from `previous`. */
export function buildGraph(memory: Memory, previous: GraphData): GraphData {
  const oldNodes = new Map(previous.nodes.map((n) => [n.id, n]));
  const nodes = new Map<string, GraphNode>();
  const facts = [...memory.facts.values()].filter((f) => f.status !== "retracted");
  const degree = new Map<string, number>();
  for (const f of facts) for (const id of [f.subject, f.object]) degree.set(id, (degree.get(id) ?? 0) + 1);

  const addNode = (id: string, neighbourId: string): GraphNode | null => {
    const known = nodes.get(id);
    if (known) return known;
    const entity = memory.entities.get(id);
    if (!entity) return null;
    const neighbour = nodes.get(neighbourId) ?? oldNodes.get(neighbourId);
    // A new node starts near its neighbour. The golden angle separates nodes that start together.
    const angle = nodes.size * 2.4;
    const node: GraphNode = {
      ...(oldNodes.get(id) ?? { x: (neighbour?.x ?? 0) + 30 * Math.cos(angle), y: (neighbour?.y ?? 0) + 30 * Math.sin(angle) }),
      id, entity, degree: degree.get(id) ?? 0, r: radius(degree.get(id) ?? 0, entity.isViewer), faded: true, pulse: null,
    };
    nodes.set(id, node);
    return node;
  };

  const edges: GraphEdge[] = [];
  const pairs = new Map<string, number>();
  for (const fact of facts) {
    const source = addNode(fact.subject, fact.object);
    const target = addNode(fact.object, fact.subject);
    // A value is no node.
    if (!source || !target || fact.value !== null) continue;
    const pair = [fact.subject, fact.object].sort().join();
    const nth = pairs.get(pair) ?? 0;
    pairs.set(pair, nth + 1);
    const side = fact.subject < fact.object ? 1 : -1;
    edges.push({ id: fact.id, fact, source, target, bend: side * (nth % 2 === 0 ? 1 : -1) * Math.ceil(nth / 2) * BEND_STEP_PX });
    for (const end of [source, target]) {
      if (fact.status === "active") end.faded = false;
      if (fact.pulse.at > (end.pulse?.at ?? 0)) end.pulse = fact.pulse;
    }
  }
  return { nodes: [...nodes.values()], edges };
}

/** Whether the page opens with this graph: nothing of it is news, so it appears in its places. News moves there. */
const isOpening = ({ edges }: GraphData): boolean => !edges.some(({ fact }) => isPulsing(fact.pulse));

export interface Layout {
  /** Sets the aspect ratio (width / height) that the graph should fill. */
  setAspect(aspect: number): void;
  show(next: GraphData, changed: boolean): void;
  /** Holds a node at a position. null releases it. */
  drag(node: GraphNode, to: { x: number; y: number } | null): void;
  stop(): void;
}

/** Milliseconds of a frame that the layout may take without drawing. */
const SLICE_MS = 8;
/** A device that needs longer for a frame draws no further steps: typing would stall, and nobody could follow the nodes. */
const SLOW_FRAME_MS = 50;
/** One slow frame alone may come from something else. */
const SLOW_FRAMES = 2;
/** Steps after which nodes rest, also those around a node that is held. */
const STEPS_TO_REST = 300;
/** Larger graphs are laid out without drawing each step and show no pulses, which would keep the page busy. */
export const MAX_ANIMATED_NODES = 100;

/** Calls `onTick` while the nodes move, and `onSettled` when they are in places to which nobody saw them move. */
export function createLayout(onTick: () => void, onSettled: () => void): Layout {
  const link = forceLink<GraphNode, GraphEdge>().id((n) => n.id).distance((e) => 40 + e.source.r + e.target.r + LABEL_LETTER_PX * e.fact.phrase.length).strength(0.5);
  const pull = (strength: number) => (n: GraphNode) => (n.entity.isViewer ? 3 : 1) * strength;
  const pullX = forceX<GraphNode>(0);
  const pullY = forceY<GraphNode>(0);
  const simulation = forceSimulation<GraphNode>()
    .force("charge", forceManyBody<GraphNode>().strength(-430).distanceMax(380))
    .force("collide", forceCollide<GraphNode>((n) => Math.max(n.r + 17, 0.85 * halfWidth(n))))
    .force("x", pullX)
    .force("y", pullY)
    .velocityDecay(0.34)
    .on("tick", () => drawStep())
    .stop();
  let isHeld = false;
  let lastStep = 0;
  let slowFrames = 0;
  /** The next slice of `settle`. null: it does not run. */
  let slice: number | null = null;
  /** The graph changed while it was laid out without drawing. */
  let isStale = false;
  // In slices, so that the page stays responsive.
  const settle = (steps: number) => {
    const end = performance.now() + SLICE_MS;
    for (; steps > 0 && performance.now() < end; steps--) simulation.tick();
    slice = steps === 0 ? null : requestAnimationFrame(() => settle(steps));
    if (slice !== null) return;
    onSettled();
    if (isStale) run(0.6, false);
  };
  const stop = () => {
    if (slice !== null) cancelAnimationFrame(slice);
    slice = null;
    isStale = false;
    simulation.stop();
  };
  const drawStep = () => {
    onTick();
    const now = performance.now();
    slowFrames = now - lastStep > SLOW_FRAME_MS ? slowFrames + 1 : 0;
    lastStep = now;
    if (slowFrames < SLOW_FRAMES || isHeld) return;
    simulation.stop();
    settle(STEPS_TO_REST);
  };
  const run = (alpha: number, shown: boolean) => {
    const isAnimated = shown && !prefersReducedMotion();
    // Changes that keep coming must not keep the layout from its end.
    if (!isAnimated && slice !== null) {
      isStale = true;
      return;
    }
    stop();
    simulation.alpha(Math.max(simulation.alpha(), alpha));
    if (!isAnimated) return settle(STEPS_TO_REST);
    // The time before a run is no frame of it, and the device may be faster now.
    slowFrames = 0;
    lastStep = performance.now();
    simulation.restart();
  };
  const setAspect = (aspect: number) => {
    const bias = Math.min(2, Math.max(0.5, aspect));
    pullX.strength(pull(0.052 / bias));
    pullY.strength(pull(0.052 * bias));
  };
  setAspect(1.4);
  return {
    setAspect,
    show(next, changed) {
      simulation.nodes(next.nodes);
      simulation.force("link", link.links(next.edges));
      if (changed) run(0.6, !isOpening(next) && next.nodes.length <= MAX_ANIMATED_NODES);
      else onTick();
    },
    drag(node, to) {
      node.fx = to?.x ?? null;
      node.fy = to?.y ?? null;
      isHeld = to !== null;
      simulation.alphaTarget(to ? 0.25 : 0);
      run(0.25, true);
    },
    stop,
  };
}

interface Point { x: number; y: number }

/** Returns an edge's SVG path and the possible points of its label, best first. */
export function edgePath({ source, target, bend }: GraphEdge): { d: string; labelPoints: Point[] } {
  const [x1, y1, x2, y2] = [source.x ?? 0, source.y ?? 0, target.x ?? 0, target.y ?? 0];
  if (source === target) return { d: `M${x1} ${y1 - source.r}c-34 -46 34 -46 0 0`, labelPoints: [{ x: x1, y: y1 - source.r - 34 }] };
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [nx, ny] = [-(y2 - y1) / length, (x2 - x1) / length];
  const [cx, cy] = [(x1 + x2) / 2 + nx * bend * 2, (y1 + y2) / 2 + ny * bend * 2];
  const towardsCurve = (x: number, y: number, gap: number) => {
    const d = Math.hypot(cx - x, cy - y) || 1;
    return [x + ((cx - x) / d) * gap, y + ((cy - y) / d) * gap] as const;
  };
  const [sx, sy] = towardsCurve(x1, y1, source.r + 2);
  const [tx, ty] = towardsCurve(x2, y2, target.r + 6);
  const pointAt = (t: number): Point => ({ x: (1 - t) ** 2 * x1 + 2 * t * (1 - t) * cx + t ** 2 * x2, y: (1 - t) ** 2 * y1 + 2 * t * (1 - t) * cy + t ** 2 * y2 });
  return {
    d: `M${sx.toFixed(1)} ${sy.toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${tx.toFixed(1)} ${ty.toFixed(1)}`,
    labelPoints: [0.5, 0.4, 0.6, 0.3, 0.7].map(pointAt),
  };
}

interface Box { x0: number; y0: number; x1: number; y1: number }
const boxAround = ({ x, y }: Point, halfW: number, halfH: number): Box => ({ x0: x - halfW, y0: y - halfH, x1: x + halfW, y1: y + halfH });
const overlaps = (a: Box, b: Box) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

export interface Label {
  id: string;
  /** Placed first, even if it covers something. */
  required: boolean;
  weight: number;
  /** In pixels at scale 1. */
  width: number;
  points: Point[];
}

const discOf = ({ x = 0, y = 0, r }: GraphNode): Box => boxAround({ x, y }, r, r);
/** Where a name may be, in the order of preference. `reach`: how far the disc reaches in this direction, of its radius. */
const SIDES = [
  { right: 0, down: 1, reach: 1 }, { right: 0, down: -1, reach: 1 }, { right: 1, down: 0, reach: 1 }, { right: -1, down: 0, reach: 1 },
  { right: 1, down: 1, reach: 0.71 }, { right: 1, down: -1, reach: 0.71 }, { right: -1, down: 1, reach: 0.71 }, { right: -1, down: -1, reach: 0.71 },
] as const;
export type Side = (typeof SIDES)[number];

/** The middle of a name, relative to its node. `width`: of the name in pixels at scale 1. */
export function namePoint({ r }: GraphNode, side: Side, letter: number, width: number): Point {
  const gap = side.reach * (r + 3);
  return { x: side.right * (gap + (width * letter) / 2), y: side.down * (gap + 8 * letter) };
}

function nameBox(node: GraphNode, side: Side, letter: number, width: number): Box {
  const { x, y } = namePoint(node, side, letter, width);
  return boxAround({ x: (node.x ?? 0) + x, y: (node.y ?? 0) + y }, (width * letter) / 2, 8 * letter);
}

/**
 * Returns the side of each name that has room there, by the id of its node: it covers no other node or name.
 *
 * Required names come first, then those with most facts. `letter`, `nameWidth`: see `placeLabels`.
 */
export function placeNames(nodes: readonly GraphNode[], letter: number, nameWidth: (node: GraphNode) => number, isRequired: (node: GraphNode) => boolean): Map<string, Side> {
  const placed = new Map<string, Side>();
  const names: Box[] = [];
  const discs = nodes.map((node) => ({ node, box: discOf(node) }));
  const named = nodes.filter(({ entity }) => !entity.isViewer).map((node) => ({ node, required: isRequired(node) }));
  for (const { node, required } of named.sort((a, b) => Number(b.required) - Number(a.required) || b.node.degree - a.node.degree || a.node.id.localeCompare(b.node.id))) {
    const boxAt = (side: Side) => nameBox(node, side, letter, nameWidth(node));
    const isFree = (box: Box) => !names.some((other) => overlaps(box, other)) && !discs.some((disc) => disc.node !== node && overlaps(box, disc.box));
    const side = SIDES.find((one) => isFree(boxAt(one))) ?? (required ? SIDES[0] : null);
    if (side === null) continue;
    names.push(boxAt(side));
    placed.set(node.id, side);
  }
  return placed;
}

/**
 * Places labels so that they cover no other label, node or name. null: no room.
 *
 * Facts with the highest weight choose first. `letter` is the letter size in graph units. `nameWidth`: of the name of a node, in pixels at scale 1.
 * `names`: where names are shown.
 */
export function placeLabels(labels: readonly Label[], nodes: readonly GraphNode[], letter: number, nameWidth: (node: GraphNode) => number, names: ReadonlyMap<string, Side>): Map<string, Point | null> {
  const taken: Box[] = nodes.flatMap((n) => {
    const side = names.get(n.id);
    return side ? [discOf(n), nameBox(n, side, letter, nameWidth(n))] : [discOf(n)];
  });
  const placed = new Map<string, Point | null>();
  for (const { id, width, required, points } of [...labels].sort((a, b) => Number(b.required) - Number(a.required) || b.weight - a.weight || a.id.localeCompare(b.id))) {
    const boxAt = (point: Point) => boxAround(point, (width * letter) / 2, 7 * letter);
    const free = points.find((point) => !taken.some((other) => overlaps(boxAt(point), other)));
    const point = free ?? (required ? points[0] : undefined) ?? null;
    if (point) taken.push(boxAt(point));
    placed.set(id, point);
  }
  return placed;
}
