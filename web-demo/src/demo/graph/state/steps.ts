// Moves between things by arrow keys.
import type { Network } from "./network.ts";

export interface Point { readonly x: number; readonly y: number }

export const directions: Readonly<Record<string, Point>> = { ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 }, ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 } };

/** Neighbours of a thing, and the other neighbours of these: from a thing on the rim the reader walks on along the rim. */
export function reachable({ linksOf, links }: Network, from: number): Set<number> {
  const next = (index: number) => (linksOf[index] ?? []).flatMap((at) => {
    const link = links[at];
    return link ? [link.source === index ? link.target : link.source] : [];
  });
  const found = new Set(next(from));
  for (const neighbour of [...found]) for (const other of next(neighbour)) found.add(other);
  found.delete(from);
  return found;
}

/** The nearest of `candidates` in a direction, within 60 degrees. null: none. */
export function nextInDirection(from: Point, candidates: Iterable<readonly [index: number, at: Point]>, direction: Point): number | null {
  let best: number | null = null;
  let least = Infinity;
  for (const [index, { x, y }] of candidates) {
    const [dx, dy] = [x - from.x, y - from.y];
    const distance = Math.hypot(dx, dy);
    const along = dx * direction.x + dy * direction.y;
    if (distance === 0 || along < distance / 2) continue;
    // A thing straight ahead is better than a slightly nearer one to the side.
    const cost = (distance * distance) / along;
    if (cost < least) [best, least] = [index, cost];
  }
  return best;
}
