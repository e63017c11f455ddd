// The page's side of the layout worker.
import type { LayoutGraph } from "./layout.ts";
import type { FromWorker, ToWorker } from "./layout-messages.ts";

export class LayoutClient {
  readonly #worker: Worker;
  #generation = 0;

  /** `onPositions` must not keep the array: it goes back to the worker. `onFailure`: the worker could not be loaded, or failed. */
  constructor(onPositions: (positions: Float32Array, settled: boolean) => void, onFailure: () => void) {
    this.#worker = new Worker(new URL("../layout.worker.ts", import.meta.url), { type: "module" });
    this.#worker.addEventListener("error", onFailure);
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      // Positions of an earlier graph.
      if (data.generation !== this.#generation) return;
      onPositions(data.positions, data.settled);
      this.#send({ kind: "next", generation: data.generation, positions: data.positions }, [data.positions.buffer]);
    });
  }

  show(graph: LayoutGraph, still: boolean): void {
    this.#generation += 1;
    this.#send({ kind: "graph", graph, generation: this.#generation, still }, [graph.positions.buffer, graph.radii.buffer, graph.ends.buffer]);
  }

  hold(index: number, at: { x: number; y: number } | null): void {
    this.#send({ kind: "hold", index, at });
  }

  stop(): void {
    this.#worker.terminate();
  }

  #send(message: ToWorker, transfer: Transferable[] = []) {
    this.#worker.postMessage(message, transfer);
  }
}
