// Places labels so that none covers another, or a thing.

export interface LabelCandidate {
  readonly key: string;
  readonly text: string;
  /** Width in pixels. */
  readonly width: number;
  /** Possible centres in pixels, best first. */
  readonly points: ReadonlyArray<readonly [x: number, y: number]>;
  /** Placed even if it covers something. */
  readonly required: boolean;
}

export interface PlacedLabel {
  readonly key: string;
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

export interface Circle { readonly x: number; readonly y: number; readonly r: number }

interface Box { readonly x0: number; readonly y0: number; readonly x1: number; readonly y1: number }

export const LABEL_HEIGHT = 17;
const GAP = 3;
/** Side of a cell of the index, in pixels. */
const CELL = 64;

const overlaps = (a: Box, b: Box) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

const boxOf = ({ x, y, r }: Circle): Box => ({ x0: x - r, y0: y - r, x1: x + r, y1: y + r });

/** Whether a disc reaches into a box. The corners around a disc are free. */
function covers({ x, y, r }: Circle, { x0, y0, x1, y1 }: Box): boolean {
  return Math.hypot(x - Math.min(x1, Math.max(x0, x)), y - Math.min(y1, Math.max(y0, y))) < r;
}

/** Finds what is near a box. */
class Index<Item> {
  readonly #cells = new Map<number, Item[]>();

  add(box: Box, item: Item): void {
    this.#visit(box, (key) => {
      const cell = this.#cells.get(key);
      if (cell) cell.push(item);
      else this.#cells.set(key, [item]);
      return false;
    });
  }

  /** Whether `test` holds for something near the box. */
  some(box: Box, test: (item: Item) => boolean): boolean {
    return this.#visit(box, (key) => this.#cells.get(key)?.some(test) ?? false);
  }

  /** Stops and returns true as soon as `visit` does. */
  #visit({ x0, y0, x1, y1 }: Box, visit: (key: number) => boolean): boolean {
    for (let row = Math.floor(y0 / CELL); row <= Math.floor(y1 / CELL); row += 1) {
      for (let column = Math.floor(x0 / CELL); column <= Math.floor(x1 / CELL); column += 1) {
        if (visit(row * 10_000 + column)) return true;
      }
    }
    return false;
  }
}

export interface Room {
  readonly width: number;
  readonly height: number;
  /** At most this many labels. */
  readonly budget: number;
  /** Things. Only a required label may cover one. */
  readonly circles: readonly Circle[];
  /** The bottom right corner, which buttons cover. */
  readonly corner?: { readonly width: number; readonly height: number };
}

/** Moves a label aside that the left or right edge would cut, if its middle is visible. */
function uncut([x, y]: readonly [number, number], half: number, width: number): readonly [number, number] {
  return x < 0 || x > width || 2 * half > width ? [x, y] : [Math.min(width - half, Math.max(half, x)), y];
}

/** Places labels in their order. A label without a free point is left out. One that is required then covers a thing rather than a label. */
export function placeLabels(candidates: Iterable<LabelCandidate>, { width, height, budget, circles, corner }: Room): PlacedLabel[] {
  const labels = new Index<Box>();
  const take = (box: Box) => labels.add(box, box);
  if (corner) take({ x0: width - corner.width, y0: height - corner.height, x1: width, y1: height });
  const discs = new Index<Circle>();
  for (const circle of circles) discs.add(boxOf(circle), circle);
  const placed: PlacedLabel[] = [];
  for (const { key, text, width: w, points, required } of candidates) {
    if (placed.length >= budget && !required) break;
    const boxAt = ([x, y]: readonly [number, number]): Box => ({ x0: x - w / 2 - GAP, y0: y - LABEL_HEIGHT / 2, x1: x + w / 2 + GAP, y1: y + LABEL_HEIGHT / 2 });
    const visible = points.filter(([x, y]) => x + w / 2 > 0 && x - w / 2 < width && y > 0 && y < height).map((point) => uncut(point, w / 2 + GAP, width));
    const free = visible.filter((point) => !labels.some(boxAt(point), (other) => overlaps(boxAt(point), other)));
    const apart = free.find((point) => !discs.some(boxAt(point), (circle) => covers(circle, boxAt(point))));
    const point = apart ?? (required ? (free[0] ?? visible[0]) : undefined);
    if (!point) continue;
    take(boxAt(point));
    placed.push({ key, text, x: point[0], y: point[1] });
  }
  return placed;
}
