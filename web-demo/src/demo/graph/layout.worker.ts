// Computes the layout of the graph next to the page, so that the page can draw meanwhile.
import type { FromWorker, ToWorker } from "./state/layout-messages.ts";
import { ForceLayout } from "./state/layout.ts";

/** Steps between two looks for messages, if only the last positions are sent. A timer alone takes longer than a step. */
const STILL_STEPS = 20;

/** Moves one graph until it has settled. */
class Run {
  readonly generation: number;
  readonly #layout: ForceLayout;
  readonly #still: boolean;
  /** Here while the page waits for positions. */
  #buffer: Float32Array | null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Positions of the last steps are not sent yet. */
  #dirty = true;

  constructor({ graph, generation, still }: Extract<ToWorker, { kind: "graph" }>) {
    this.generation = generation;
    this.#layout = new ForceLayout(graph);
    this.#still = still;
    this.#buffer = graph.positions;
  }

  /** A timer instead of a loop, so that messages are read between two steps. */
  start(): void {
    if (!this.#layout.settled) this.#timer ??= setTimeout(() => this.#step());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  hold(index: number, at: { x: number; y: number } | null): void {
    this.#layout.hold(index, at);
    this.start();
  }

  takeBuffer(buffer: Float32Array): void {
    this.#buffer = buffer;
    this.#send();
  }

  #step() {
    this.#timer = undefined;
    for (let steps = this.#still ? STILL_STEPS : 1; steps > 0 && !this.#layout.settled; steps -= 1) this.#layout.tick();
    this.#dirty = true;
    this.#send();
    this.start();
  }

  #send() {
    const { settled } = this.#layout;
    const positions = this.#buffer;
    if (!positions || !this.#dirty || (this.#still && !settled)) return;
    this.#dirty = false;
    this.#buffer = null;
    this.#layout.write(positions);
    postMessage({ generation: this.generation, positions, settled } satisfies FromWorker, { transfer: [positions.buffer] });
  }
}

class LayoutService {
  #run: Run | null = null;

  receive(message: ToWorker): void {
    if (message.kind === "graph") {
      this.#run?.stop();
      this.#run = new Run(message);
      this.#run.start();
    } else if (message.kind === "hold") {
      this.#run?.hold(message.index, message.at);
    } else if (message.generation === this.#run?.generation) {
      this.#run.takeBuffer(message.positions);
    }
  }
}

const service = new LayoutService();
addEventListener("message", ({ data }: MessageEvent<ToWorker>) => service.receive(data));
