// Draws the graph on a canvas. Without a graphics card, paths of some dozen lines and single discs are the fastest (tests/graph-frames.mjs).
import type { EntityType } from "@relevantic/recall";
import { nameOf } from "../../common/state/words.ts";
import { phraseFor } from "../../state/format.ts";
import { entityTypes } from "../../common/state/place.ts";
import { placeLabels, type Circle, type LabelCandidate, type PlacedLabel } from "../state/labels.ts";
import type { GraphLink, Network } from "../state/network.ts";
import type { Size, Viewport } from "../state/viewport.ts";
import type { Palette } from "./palette.ts";

/** The part of a canvas context that drawing needs. */
export type Pen = Pick<CanvasRenderingContext2D,
  "arc" | "beginPath" | "closePath" | "fill" | "fillRect" | "fillStyle" | "fillText" | "font" | "globalAlpha" | "lineJoin" | "lineTo" | "lineWidth" |
  "moveTo" | "setLineDash" | "stroke" | "strokeStyle" | "strokeText" | "textAlign" | "textBaseline"> & { measureText(text: string): { width: number } };

export interface Scene {
  readonly network: Network;
  /** x and y of each thing. */
  readonly positions: Float32Array;
  readonly radii: Float32Array;
  /** Indexes of things, those whose names matter most first. */
  readonly order: readonly number[];
  readonly viewport: Viewport;
  readonly size: Size;
  readonly palette: Palette;
  readonly centre: number | null;
  readonly selected: number | null;
  readonly hovered: number | null;
  readonly isExpanded: (index: number) => boolean;
  /** Width of a text in pixels, in the font of labels. */
  readonly measure: (text: string) => number;
}

export const LABEL_FONT = "500 13px Figtree, system-ui, sans-serif";
const LINK_FONT = "italic 400 12px Figtree, system-ui, sans-serif";
const INITIAL_FONT = "600 13px Figtree, system-ui, sans-serif";
const MAX_LETTERS = 24;
/** Pixels of the canvas for each label. */
const PIXELS_PER_LABEL = 9000;
const MAX_LABELS = 140;
/** In larger graphs only links of the thing in focus have labels. */
const MAX_LABELED_LINKS = 40;
/** Smaller discs have no outline and no initial. */
const PLAIN_BELOW_PX = 8;
/** What the zoom buttons cover, with their distance from the edge. */
const ZOOM_BUTTONS = { width: 48, height: 116 };
const DIMMED = 0.35;
const LINES_PER_PATH = 64;
/** Among more things, labels may cover the plain discs: every place is taken. */
const MAX_AVOIDED = 300;

const shorten = (text: string) => (text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS - 1)}…` : text);

/** Radius on the screen. It shrinks less than distances do, so that things stay visible. */
export const screenRadius = (radius: number, k: number): number => Math.max(1.8, radius * Math.min(1.3, k ** 0.8));

/** Things and links on the screen. */
interface Visible {
  readonly things: number[];
  readonly links: GraphLink[];
  readonly x: (index: number) => number;
  readonly y: (index: number) => number;
  readonly r: (index: number) => number;
}

function findVisible({ network, positions, radii, viewport: { k, x: ox, y: oy }, size: { width, height } }: Scene): Visible {
  const x = (index: number) => (positions[2 * index] ?? 0) * k + ox;
  const y = (index: number) => (positions[2 * index + 1] ?? 0) * k + oy;
  const r = (index: number) => screenRadius(radii[index] ?? 0, k);
  const things: number[] = [];
  for (let index = 0; index < radii.length; index += 1) {
    const [px, py, pr] = [x(index), y(index), r(index)];
    if (px > -pr && px < width + pr && py > -pr && py < height + pr) things.push(index);
  }
  const links = network.links.filter(({ source, target }) => {
    const [x1, y1, x2, y2] = [x(source), y(source), x(target), y(target)];
    return Math.max(x1, x2) > 0 && Math.min(x1, x2) < width && Math.max(y1, y2) > 0 && Math.min(y1, y2) < height;
  });
  return { things, links, x, y, r };
}

function drawLinks(ctx: Pen, visible: Visible, links: readonly GraphLink[], style: { color: string; width: number; dash: number[]; alpha: number }) {
  if (links.length === 0) return;
  ctx.globalAlpha = style.alpha;
  ctx.strokeStyle = style.color;
  ctx.lineWidth = style.width;
  ctx.setLineDash(style.dash);
  for (let at = 0; at < links.length; at += LINES_PER_PATH) {
    ctx.beginPath();
    for (let i = at; i < Math.min(links.length, at + LINES_PER_PATH); i += 1) {
      const { source, target } = links[i] as GraphLink;
      ctx.moveTo(visible.x(source), visible.y(source));
      ctx.lineTo(visible.x(target), visible.y(target));
    }
    ctx.stroke();
  }
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

/** An arrow head at the object of the heaviest fact. */
function drawArrows(ctx: Pen, { x, y, r }: Visible, { things }: Network, links: readonly GraphLink[], color: string) {
  ctx.fillStyle = color;
  ctx.beginPath();
  for (const { source, target, facts } of links) {
    const [from, to] = things[target]?.id === facts[0]?.subject.id ? [target, source] : [source, target];
    const angle = Math.atan2(y(to) - y(from), x(to) - x(from));
    const tip = r(to) + 2;
    const [tx, ty] = [x(to) - tip * Math.cos(angle), y(to) - tip * Math.sin(angle)];
    ctx.moveTo(tx, ty);
    for (const side of [-0.42, 0.42]) ctx.lineTo(tx - 8 * Math.cos(angle + side), ty - 8 * Math.sin(angle + side));
    ctx.closePath();
  }
  ctx.fill();
}

function drawDiscs(ctx: Pen, { network, palette }: Scene, { x, y, r }: Visible, indexes: readonly number[], alpha: number) {
  const byType = new Map<EntityType, number[]>(entityTypes.map((type) => [type, []]));
  for (const index of indexes) byType.get(network.things[index]?.type ?? "THING")?.push(index);
  const trace = (index: number) => {
    ctx.moveTo(x(index) + r(index), y(index));
    ctx.arc(x(index), y(index), r(index), 0, 2 * Math.PI);
  };
  // No link shows through a dimmed disc.
  ctx.beginPath();
  if (alpha < 1) indexes.forEach(trace);
  ctx.fillStyle = palette.background;
  ctx.fill();
  ctx.globalAlpha = alpha;
  for (const [type, own] of byType) {
    const { fill, stroke } = palette.types[type];
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 2;
    for (const index of own) {
      const plain = r(index) < PLAIN_BELOW_PX;
      ctx.fillStyle = plain ? stroke : fill;
      ctx.beginPath();
      trace(index);
      ctx.fill();
      if (!plain) ctx.stroke();
    }
  }
  const viewer = indexes.find((index) => network.things[index]?.isViewer);
  if (viewer !== undefined) {
    ctx.beginPath();
    trace(viewer);
    ctx.fillStyle = palette.accent;
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

function drawInitials(ctx: Pen, { network, palette }: Scene, { x, y, r }: Visible, indexes: readonly number[]) {
  ctx.font = INITIAL_FONT;
  for (const index of indexes) {
    const thing = network.things[index];
    if (!thing || r(index) < 10) continue;
    ctx.fillStyle = thing.isViewer ? palette.onAccent : palette.types[thing.type].stroke;
    const text = thing.isViewer ? "you" : Array.from(thing.name)[0] ?? "";
    if (ctx.measureText(text).width < 2 * r(index) - 4) ctx.fillText(text, x(index), y(index) + 0.5);
  }
}

/** A ring around the centre, what is expanded, and the selection. */
function drawRings(ctx: Pen, scene: Scene, { things, x, y, r }: Visible) {
  const ring = (index: number, distance: number, color: string, width: number) => {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(x(index), y(index), r(index) + distance, 0, 2 * Math.PI);
    ctx.stroke();
  };
  for (const index of things) {
    if (index === scene.selected) ring(index, 4, scene.palette.accent, 3);
    else if (index === scene.centre || scene.isExpanded(index)) ring(index, 3.5, scene.palette.soft, index === scene.centre ? 2 : 1);
  }
}

const linkText = ({ facts: [first, ...more] }: GraphLink): string => (first ? `${phraseFor(first.phrase, first.subject.isViewer)}${more.length > 0 ? ` +${more.length}` : ""}` : "");

/** `early`: things whose names matter more than the phrases of facts. */
function* candidates(scene: Scene, { x, y, r }: Visible, links: readonly GraphLink[], first: readonly number[], early: readonly number[]): Generator<LabelCandidate> {
  const named = new Set<number>();
  const name = (index: number, required: boolean): LabelCandidate | null => {
    const thing = scene.network.things[index];
    if (!thing || named.has(index)) return null;
    named.add(index);
    // The viewer's disc says "you".
    if (thing.isViewer && r(index) >= 14) return null;
    const text = shorten(nameOf(thing));
    const width = scene.measure(text);
    const [px, py, gap] = [x(index), y(index), r(index) + 12];
    // Below, above, to the right, to the left, and between these.
    const [aside, corner] = [gap + width / 2 - 4, r(index) * Math.SQRT1_2 + 10];
    const between = ([[1, 1], [-1, 1], [1, -1], [-1, -1]] as const).map(([dx, dy]) => [px + dx * (corner + width / 2 - 8), py + dy * corner] as const);
    return { key: thing.id, text, width, required, points: [[px, py + gap], [px, py - gap], [px + aside, py], [px - aside, py], ...between] };
  };
  const link = (value: GraphLink): LabelCandidate => {
    const { source, target } = value;
    const text = linkText(value);
    const at = (share: number): [number, number] => [x(source) + (x(target) - x(source)) * share, y(source) + (y(target) - y(source)) * share];
    return { key: `${source} ${target}`, text, width: scene.measure(text), required: false, points: [0.5, 0.4, 0.6, 0.3, 0.7].map(at) };
  };
  for (const index of first) {
    const label = name(index, index === scene.selected || index === scene.hovered);
    if (label) yield label;
  }
  for (const index of early) {
    const label = name(index, false);
    if (label) yield label;
  }
  if (links.length <= MAX_LABELED_LINKS) for (const value of links) yield link(value);
  for (const index of scene.order) {
    const label = name(index, false);
    if (label) yield label;
  }
}

/** `isLit`: whether a label belongs to the thing in focus, or to its surroundings. */
function drawLabels(ctx: Pen, { palette, network }: Scene, labels: readonly PlacedLabel[], isLit: (index: number) => boolean) {
  ctx.lineJoin = "round";
  ctx.lineWidth = 4;
  ctx.strokeStyle = palette.background;
  for (const label of labels) {
    const index = network.indexes.get(label.key);
    ctx.font = index === undefined ? LINK_FONT : LABEL_FONT;
    ctx.fillStyle = index !== undefined && isLit(index) ? palette.ink : palette.soft;
    ctx.strokeText(label.text, label.x, label.y);
    ctx.fillText(label.text, label.x, label.y);
  }
}

/** Draws the graph, and returns the labels that found room. */
export function draw(ctx: Pen, scene: Scene): PlacedLabel[] {
  const { network, palette, size } = scene;
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, size.width, size.height);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const visible = findVisible(scene);
  const focus = scene.hovered ?? scene.selected;
  const inFocus = new Set(focus === null ? [] : (network.linksOf[focus] ?? []).flatMap((at) => network.links[at] ?? []));
  const near = new Set([...inFocus].flatMap(({ source, target }) => [source, target]));
  if (focus !== null) near.add(focus);
  const dims = inFocus.size > 0;

  const width = Math.max(0.6, Math.min(1.4, 1.4 * scene.viewport.k));
  const alpha = dims ? DIMMED : 1;
  const others = visible.links.filter((link) => !inFocus.has(link));
  drawLinks(ctx, visible, others.filter((link) => link.holds), { color: palette.line, width, dash: [], alpha });
  drawLinks(ctx, visible, others.filter((link) => !link.holds), { color: palette.line, width, dash: [4, 4], alpha });
  const lit = visible.links.filter((link) => inFocus.has(link));
  drawLinks(ctx, visible, lit.filter((link) => link.holds), { color: palette.accent, width: 1.8, dash: [], alpha: 1 });
  drawLinks(ctx, visible, lit.filter((link) => !link.holds), { color: palette.accent, width: 1.8, dash: [4, 4], alpha: 1 });
  if (lit.length <= 4 * MAX_LABELED_LINKS) drawArrows(ctx, visible, network, lit, palette.accent);
  if (!dims && others.length <= 2 * MAX_LABELED_LINKS) drawArrows(ctx, visible, network, others, palette.line);

  const far = dims ? visible.things.filter((index) => !near.has(index)) : [];
  const close = dims ? visible.things.filter((index) => near.has(index)) : visible.things;
  drawDiscs(ctx, scene, visible, far, DIMMED);
  drawDiscs(ctx, scene, visible, close, 1);
  drawInitials(ctx, scene, visible, close);
  drawRings(ctx, scene, visible);

  const avoided = visible.things.length > MAX_AVOIDED ? visible.things.filter((index) => visible.r(index) >= PLAIN_BELOW_PX) : visible.things;
  const circles: Circle[] = avoided.map((index) => ({ x: visible.x(index), y: visible.y(index), r: visible.r(index) }));
  const first = [scene.selected, scene.hovered, scene.centre].filter((index) => index !== null);
  const labeledLinks = dims ? lit : visible.links;
  const shown = new Set(visible.things);
  const order = scene.order.filter((index) => shown.has(index));
  if (dims) order.sort((a, b) => Number(near.has(b)) - Number(near.has(a)));
  const budget = Math.min(MAX_LABELS, Math.max(24, Math.floor((size.width * size.height) / PIXELS_PER_LABEL)));
  const labels = placeLabels(candidates({ ...scene, order }, visible, labeledLinks, first, dims ? order.filter((index) => near.has(index)) : order), { ...size, budget, circles, corner: ZOOM_BUTTONS });
  drawLabels(ctx, scene, labels, (index) => !dims || near.has(index));
  return labels;
}
