// Sizes and first positions of things, before the layout moves them.
import type { GraphThing } from "../generated/operations.ts";
import type { Network } from "./network.ts";

/** The golden angle separates things that start at the same place. */
const GOLDEN_ANGLE = 2.4;

export const radiusOf = ({ isViewer }: GraphThing, links: number): number => (isViewer ? 20 : 9 + Math.min(13, 2.6 * Math.sqrt(links)));

/** The same things and links, so that the layout stays. */
export const looksLike = (a: Network, b: Network): boolean => a.things.length === b.things.length && a.links.length === b.links.length
  && a.things.every((thing, i) => thing.id === b.things[i]?.id) && a.links.every((link, i) => link.source === b.links[i]?.source && link.target === b.links[i]?.target);

/** Things keep their positions; new ones start next to the thing that they belong to. `kept` counts the former. */
export function startPositions({ things, origins }: Network, old: Network, oldPositions: Float32Array): { positions: Float32Array<ArrayBuffer>; kept: number } {
  const positions = new Float32Array(2 * things.length);
  let kept = 0;
  things.forEach(({ id }, i) => {
    const before = old.indexes.get(id);
    const origin = origins[i] ?? -1;
    if (before !== undefined) {
      kept += 1;
      positions[2 * i] = oldPositions[2 * before] ?? 0;
      positions[2 * i + 1] = oldPositions[2 * before + 1] ?? 0;
    } else {
      const distance = origin < 0 ? 22 * Math.sqrt(i) : 46;
      positions[2 * i] = (origin < 0 ? 0 : (positions[2 * origin] ?? 0)) + distance * Math.cos(i * GOLDEN_ANGLE);
      positions[2 * i + 1] = (origin < 0 ? 0 : (positions[2 * origin + 1] ?? 0)) + distance * Math.sin(i * GOLDEN_ANGLE);
    }
  });
  return { positions, kept };
}
