// The colors of the style sheets, for the canvas.
import type { EntityType } from "@relevantic/recall";
import { entityTypes } from "../../common/state/place.ts";
import { lower } from "../../common/state/words.ts";

export interface Palette {
  readonly background: string;
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly accent: string;
  readonly onAccent: string;
  readonly types: Readonly<Record<EntityType, { fill: string; stroke: string }>>;
}

/** Resolves colors of the present theme. `probe` is an element of the page that nobody sees. */
export function readPalette(probe: HTMLElement): Palette {
  const resolve = (color: string) => {
    probe.style.color = color;
    return getComputedStyle(probe).color;
  };
  const colorOf = (type: EntityType) => ({ fill: resolve(`color-mix(in srgb, var(--${lower(type)}) 20%, var(--panel))`), stroke: resolve(`var(--${lower(type)})`) });
  return {
    background: resolve("var(--panel)"), ink: resolve("var(--ink)"), soft: resolve("var(--soft)"), accent: resolve("var(--accent)"), onAccent: resolve("var(--on-accent)"),
    line: resolve("color-mix(in srgb, var(--soft) 55%, var(--panel))"),
    types: Object.fromEntries(entityTypes.map((type) => [type, colorOf(type)])) as Palette["types"],
  };
}
