// Messages between the page and the layout worker. One buffer of positions goes back and forth, so that neither side is flooded.
import type { LayoutGraph } from "./layout.ts";

export type ToWorker =
  /** Starts another graph. With `still`, only its last positions are sent. */
  | { readonly kind: "graph"; readonly graph: LayoutGraph; readonly generation: number; readonly still: boolean }
  | { readonly kind: "hold"; readonly index: number; readonly at: { x: number; y: number } | null }
  /** Returns the buffer, and asks for newer positions. */
  | { readonly kind: "next"; readonly generation: number; readonly positions: Float32Array };

export interface FromWorker {
  /** Of the graph that the positions are of. */
  readonly generation: number;
  readonly positions: Float32Array;
  readonly settled: boolean;
}
