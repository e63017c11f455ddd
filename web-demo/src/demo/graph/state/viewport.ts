// The part of the graph that the canvas shows. Screen = k * world + (x, y), in CSS pixels.

export interface Viewport { readonly k: number; readonly x: number; readonly y: number }
export interface Size { readonly width: number; readonly height: number }

const MIN_ZOOM = 0.04;
const MAX_ZOOM = 4;
/** A graph of few things is not enlarged further to fill the canvas. */
const MAX_FIT = 1.3;
/** Room at each side of the fitted graph, for names. */
const MARGIN = { x: 66, y: 44 };

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/** Shows all things. `positions`: x and y of each thing, one after the other. */
export function fit(positions: Float32Array, { width, height }: Size): Viewport {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 2) {
    const [x = 0, y = 0] = [positions[i], positions[i + 1]];
    [x0, x1] = [Math.min(x0, x), Math.max(x1, x)];
    [y0, y1] = [Math.min(y0, y), Math.max(y1, y)];
  }
  if (positions.length === 0) return { k: 1, x: width / 2, y: height / 2 };
  const k = clamp(Math.min((width - 2 * MARGIN.x) / (x1 - x0 + 1), (height - 2 * MARGIN.y) / (y1 - y0 + 1)), MIN_ZOOM, MAX_FIT);
  return { k, x: width / 2 - (k * (x0 + x1)) / 2, y: height / 2 - (k * (y0 + y1)) / 2 };
}

/** Zooms by a factor. The point at (px, py) stays. */
export function zoomAt({ k, x, y }: Viewport, factor: number, px: number, py: number): Viewport {
  const next = clamp(k * factor, MIN_ZOOM, MAX_ZOOM);
  return { k: next, x: px - ((px - x) * next) / k, y: py - ((py - y) * next) / k };
}

export const toWorld = ({ k, x, y }: Viewport, px: number, py: number) => ({ x: (px - x) / k, y: (py - y) / k });

/** Moves towards a viewport by a share of the way. Arrives if less than half a pixel is left. */
export function approach(from: Viewport, to: Viewport, share: number): Viewport {
  const near = Math.abs(to.x - from.x) < 0.5 && Math.abs(to.y - from.y) < 0.5 && Math.abs(to.k - from.k) < 0.002 * to.k;
  if (near || share >= 1) return to;
  return { k: from.k + (to.k - from.k) * share, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
