// The force layout, without a browser. It runs in the worker.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationNodeDatum } from "d3-force";

/** A graph as the worker receives it. */
export interface LayoutGraph {
  /** x and y of each thing, one after the other. */
  readonly positions: Float32Array;
  /** Radius of each thing. */
  readonly radii: Float32Array;
  /** Indexes of both ends of each link, one after the other. */
  readonly ends: Uint32Array;
  /** How much the layout may move at first, 0 to 1. */
  readonly heat: number;
}

interface Body extends SimulationNodeDatum { r: number }

/** In larger graphs, names need less room: most of them are hidden. */
const MANY = 150;

export class ForceLayout {
  readonly #bodies: Body[];
  readonly #simulation: Simulation<Body, undefined>;

  constructor({ positions, radii, ends, heat }: LayoutGraph) {
    this.#bodies = Array.from(radii, (r, i) => ({ r, x: positions[2 * i] ?? 0, y: positions[2 * i + 1] ?? 0 }));
    const degrees = new Uint32Array(radii.length);
    for (const end of ends) degrees[end] = (degrees[end] ?? 0) + 1;
    const links = Array.from({ length: ends.length / 2 }, (_, i) => ({ source: ends[2 * i] ?? 0, target: ends[2 * i + 1] ?? 0 }));
    const many = radii.length > MANY;
    const lengthOf = (source: number, target: number) => (many ? 24 : 62) + (radii[source] ?? 0) + (radii[target] ?? 0) + (many ? 3 : 5) * Math.sqrt(Math.max(degrees[source] ?? 0, degrees[target] ?? 0));
    const lengths = links.map(({ source, target }) => lengthOf(source, target));
    const pull = many ? 0.03 : 0.05;
    this.#simulation = forceSimulation<Body>(this.#bodies)
      .force("link", forceLink<Body, { source: number | Body; target: number | Body }>(links).distance((_, i) => lengths[i] ?? 60))
      .force("charge", forceManyBody<Body>().strength((body) => -(many ? 90 : 300) - 6 * body.r).distanceMax(700).theta(many ? 1.1 : 0.9))
      .force("collide", forceCollide<Body>((body) => body.r + (many ? 4 : 20)).iterations(many ? 1 : 2))
      .force("x", forceX<Body>(0).strength(pull))
      .force("y", forceY<Body>(0).strength(pull * 1.25))
      .velocityDecay(0.36)
      .alphaDecay(many ? 0.03 : 0.0228)
      .alpha(heat)
      .stop();
  }

  get settled(): boolean {
    return this.#simulation.alpha() < this.#simulation.alphaMin();
  }

  tick(): void {
    this.#simulation.tick();
  }

  /** Holds a thing at a position. null releases it. */
  hold(index: number, at: { x: number; y: number } | null): void {
    const body = this.#bodies[index];
    if (!body) return;
    body.fx = at?.x ?? null;
    body.fy = at?.y ?? null;
    this.#simulation.alphaTarget(at ? 0.2 : 0);
    if (this.#simulation.alpha() < 0.2) this.#simulation.alpha(0.2);
  }

  /** Writes x and y of each thing. */
  write(positions: Float32Array): void {
    this.#bodies.forEach(({ x = 0, y = 0 }, i) => {
      positions[2 * i] = x;
      positions[2 * i + 1] = y;
    });
  }
}
