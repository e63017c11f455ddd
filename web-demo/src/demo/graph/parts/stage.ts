// Moves and draws the graph on its canvas, and reads the pointer. Preact renders everything around it.
import { prefersReducedMotion } from "../../motion.ts";
import { looksLike, radiusOf, startPositions } from "../state/arrangement.ts";
import { LayoutClient } from "../state/layout-client.ts";
import { noNetwork, type Network } from "../state/network.ts";
import { nextInDirection, reachable, type Point } from "../state/steps.ts";
import { approach, fit, toWorld, zoomAt, type Size, type Viewport } from "../state/viewport.ts";
import { draw, LABEL_FONT, screenRadius, type Pen, type Scene } from "./draw.ts";
import type { Palette } from "./palette.ts";
import { SvgPen } from "./svg-pen.ts";

export interface StageActions {
  onSelect: (id: string | null) => void;
  onToggle: (id: string) => void;
  /** The reader has moved the viewport, so that it no longer follows the graph. */
  onManualChange: (manual: boolean) => void;
}

/** What is marked, by id. */
export interface Marks {
  readonly centre: string | null;
  readonly selected: string | null;
  readonly expanded: ReadonlySet<string>;
}

interface Drag {
  /** The thing that moves. null: the viewport moves. */
  readonly index: number | null;
  readonly start: Point;
  last: Point;
  moved: boolean;
}

/** Share of the way to the latest position that a thing moves in each frame. */
const EASE = 0.22;
/** Pointer movements below this distance are clicks. */
const DRAG_THRESHOLD_PX = 4;
/** More pixels than on such a screen cost time and show nothing more. */
const MAX_PIXEL_RATIO = 2;
const EXPORT_PIXEL_RATIO = 2;
const WHEEL_PX_PER_DOUBLING = 320;
/** A selected thing is at least so far from the edge. */
const EDGE_PX = 48;
/** Up to this number of things, a graph that opens is drawn once it has settled. Drawing each step would keep a slow phone busy for seconds. */
const MAX_SETTLED_FIRST = 150;

export class GraphStage {
  readonly #canvas: HTMLCanvasElement;
  readonly #actions: StageActions;
  readonly #layout: LayoutClient;
  readonly #widths = new Map<string, number>();
  readonly #pointers = new Map<number, Point>();
  #network = noNetwork;
  #marks: Marks = { centre: null, selected: null, expanded: new Set() };
  /** What is drawn, and where the layout wants it. */
  #shown = new Float32Array(0);
  #wanted = new Float32Array(0);
  #radii = new Float32Array(0);
  #order: number[] = [];
  #palette: Palette | null = null;
  #size: Size = { width: 0, height: 0 };
  #pixelRatio = 1;
  #viewport: Viewport = { k: 1, x: 0, y: 0 };
  /** Where the viewport moves. null: it follows the graph, or stays if `#manual`. */
  #aim: Viewport | null = null;
  #manual = false;
  /** The viewport was never set. */
  #fresh = true;
  /** The first graph is not drawn before the layout has settled. */
  #isSettling = false;
  #drag: Drag | null = null;
  #hovered: number | null = null;
  #frame = 0;

  constructor(canvas: HTMLCanvasElement, actions: StageActions) {
    this.#canvas = canvas;
    this.#actions = actions;
    this.#layout = new LayoutClient((positions) => {
      if (positions.length !== this.#wanted.length) return;
      this.#wanted.set(positions);
      if (this.#isSettling) this.#shown.set(positions);
      this.#isSettling = false;
      this.#request();
    }, () => {
      // Without a layout, the things stay where they start.
      this.#isSettling = false;
      this.#request();
    });
  }

  /** Starts the listeners. Returns a function that stops everything. */
  attach(): () => void {
    const canvas = this.#canvas;
    const listeners = new AbortController();
    const on = <Name extends keyof HTMLElementEventMap>(name: Name, listener: (event: HTMLElementEventMap[Name]) => void) =>
      // Not passive: the page must not scroll while the graph zooms.
      canvas.addEventListener(name, listener, { signal: listeners.signal, passive: false });
    on("pointerdown", this.#pointerDown);
    on("pointermove", this.#pointerMove);
    on("pointerup", this.#pointerUp);
    on("pointercancel", this.#pointerUp);
    on("pointerleave", () => this.#hover(null));
    on("dblclick", (event) => {
      const hit = this.#find(this.#pointOf(event), 4);
      const thing = hit === null ? undefined : this.#network.things[hit];
      if (thing) this.#actions.onToggle(thing.id);
    });
    on("wheel", (event) => {
      event.preventDefault();
      const { x, y } = this.#pointOf(event);
      this.#moveTo(zoomAt(this.#viewport, 2 ** (-event.deltaY / WHEEL_PX_PER_DOUBLING), x, y));
    });
    const resize = new ResizeObserver(() => this.#resize());
    resize.observe(canvas);
    // The canvas does not load the font by itself.
    void document.fonts.load(LABEL_FONT).then(() => { this.#widths.clear(); this.#request(); }, () => {});
    return () => {
      listeners.abort();
      resize.disconnect();
      cancelAnimationFrame(this.#frame);
      this.#layout.stop();
    };
  }

  setPalette(palette: Palette): void {
    this.#palette = palette;
    this.#request();
  }

  /** Shows a graph. Things keep their positions; new ones start next to the thing that they belong to. */
  show(network: Network, marks: Marks): void {
    const old = this.#network;
    const before = this.#marks;
    this.#network = network;
    this.#marks = marks;
    if (marks.centre !== before.centre) this.fit();
    if (!looksLike(old, network)) this.#arrange(old);
    if (marks.selected && marks.selected !== before.selected) this.#reveal(marks.selected);
    this.#request();
  }

  #arrange(old: Network) {
    const { things, links, linksOf, indexes } = this.#network;
    const { positions: shown, kept } = startPositions(this.#network, old, this.#shown);
    const hovered = this.#hovered === null ? undefined : old.things[this.#hovered];
    this.#hovered = hovered ? (indexes.get(hovered.id) ?? null) : null;
    this.#drag = null;
    this.#shown = shown;
    this.#wanted = shown.slice();
    this.#radii = Float32Array.from(things, (thing, i) => radiusOf(thing, linksOf[i]?.length ?? 0));
    this.#order = things.map((_, i) => i).sort((a, b) => (things[b]?.mentionCount ?? 0) - (things[a]?.mentionCount ?? 0));
    const ends = Uint32Array.from(links.flatMap(({ source, target }) => [source, target]));
    const heat = kept > 0 && kept >= 0.7 * things.length ? 0.45 : 1;
    this.#isSettling = old.things.length === 0 && things.length > 0 && things.length <= MAX_SETTLED_FIRST;
    this.#layout.show({ positions: shown.slice(), radii: this.#radii.slice(), ends, heat }, this.#isSettling || prefersReducedMotion());
  }

  /** Shows the whole graph again, and follows it. */
  fit(): void {
    this.#aim = null;
    this.#setManual(false);
    this.#request();
  }

  zoom(factor: number): void {
    this.#moveTo(zoomAt(this.#viewport, factor, this.#size.width / 2, this.#size.height / 2));
  }

  /** Selects the next thing in a direction. Without a selection, the centre. */
  step(direction: Point): void {
    const { things, indexes } = this.#network;
    const { selected, centre } = this.#marks;
    const from = indexes.get(selected ?? "");
    if (from === undefined) return this.#actions.onSelect(indexes.has(centre ?? "") ? centre : (things[0]?.id ?? null));
    const positionOf = (index: number): Point => ({ x: this.#wanted[2 * index] ?? 0, y: this.#wanted[2 * index + 1] ?? 0 });
    const candidates = [...reachable(this.#network, from)].map((index) => [index, positionOf(index)] as const);
    const next = nextInDirection(positionOf(from), candidates, direction);
    const thing = next === null ? undefined : things[next];
    if (thing) this.#actions.onSelect(thing.id);
  }

  /** The view as an image. null: it could not be made. */
  toBlob(format: "png" | "svg"): Promise<Blob | null> {
    return format === "png" ? this.#toPng() : this.#toSvg();
  }

  async #toSvg(): Promise<Blob | null> {
    const ctx = this.#canvas.getContext("2d");
    const scene = ctx && this.#scene(ctx);
    if (!ctx || !scene) return null;
    const pen = new SvgPen(this.#size, (text) => ctx.measureText(text));
    draw(pen, scene);
    return new Blob([pen.toString()], { type: "image/svg+xml" });
  }

  async #toPng(): Promise<Blob | null> {
    const image = document.createElement("canvas");
    image.width = Math.round(this.#size.width * EXPORT_PIXEL_RATIO);
    image.height = Math.round(this.#size.height * EXPORT_PIXEL_RATIO);
    const ctx = image.getContext("2d");
    if (ctx) this.#paint(ctx, EXPORT_PIXEL_RATIO);
    return new Promise((resolve) => image.toBlob(resolve, "image/png"));
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width === 0 || height === 0) return;
    // What is in the middle stays there.
    const { k, x, y } = this.#viewport;
    if (this.#size.width > 0) this.#viewport = { k, x: x + (width - this.#size.width) / 2, y: y + (height - this.#size.height) / 2 };
    this.#size = { width, height };
    if (this.#marks.selected) this.#reveal(this.#marks.selected);
    this.#pixelRatio = Math.min(MAX_PIXEL_RATIO, devicePixelRatio);
    this.#canvas.width = Math.round(width * this.#pixelRatio);
    this.#canvas.height = Math.round(height * this.#pixelRatio);
    // A canvas of another size is empty until it is drawn.
    this.#draw();
  }

  #request() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(this.#draw);
  }

  #draw = () => {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (this.#size.width === 0) return;
    const moving = this.#advance();
    const ctx = this.#canvas.getContext("2d", { alpha: false });
    if (ctx) this.#paint(ctx, this.#pixelRatio);
    if (moving) this.#request();
  };

  #paint(ctx: CanvasRenderingContext2D, pixelRatio: number) {
    const scene = this.#scene(ctx);
    if (!scene) return;
    ctx.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    draw(ctx, scene);
  }

  #scene(ctx: Pen): Scene | null {
    if (!this.#palette) return null;
    const { things } = this.#network;
    const { centre, selected, expanded } = this.#marks;
    const [network, order, radii, hovered] = this.#isSettling ? [noNetwork, [], new Float32Array(0), null] : [this.#network, this.#order, this.#radii, this.#hovered];
    return {
      network, order, radii, hovered, positions: this.#shown, viewport: this.#viewport, size: this.#size, palette: this.#palette,
      centre: network.indexes.get(centre ?? "") ?? null, selected: network.indexes.get(selected ?? "") ?? null,
      isExpanded: (index) => expanded.has(things[index]?.id ?? ""),
      measure: (text) => {
        let width = this.#widths.get(text);
        if (width === undefined) {
          ctx.font = LABEL_FONT;
          this.#widths.set(text, (width = ctx.measureText(text).width));
        }
        return width;
      },
    };
  }

  /** Moves things and viewport. Returns whether they have further to go. */
  #advance(): boolean {
    const share = prefersReducedMotion() ? 1 : EASE;
    let farthest = 0;
    for (let i = 0; i < this.#shown.length; i += 1) {
      const left = (this.#wanted[i] ?? 0) - (this.#shown[i] ?? 0);
      this.#shown[i] = (this.#shown[i] ?? 0) + left * share;
      farthest = Math.max(farthest, Math.abs(left));
    }
    const still = share === 1 || farthest * this.#viewport.k < 0.3;
    if (still) this.#shown.set(this.#wanted);
    const target = this.#aim ?? (this.#manual ? this.#viewport : fit(this.#wanted, this.#size));
    this.#viewport = approach(this.#viewport, target, this.#fresh ? 1 : share);
    this.#fresh = this.#isSettling || this.#network.things.length === 0;
    const arrived = this.#viewport === target;
    if (arrived) this.#aim = null;
    return !still || !arrived;
  }

  #setManual(manual: boolean) {
    if (this.#manual !== manual) this.#actions.onManualChange(manual);
    this.#manual = manual;
  }

  /** Shows a viewport at once. */
  #moveTo(viewport: Viewport) {
    this.#aim = null;
    this.#viewport = viewport;
    this.#setManual(true);
    this.#request();
  }

  /** Moves the viewport if a thing is outside it. */
  #reveal(id: string) {
    const index = this.#network.indexes.get(id);
    if (index === undefined || !this.#manual) return;
    const { k, x, y } = this.#viewport;
    const inside = (at: number, length: number) => Math.min(Math.max(at, EDGE_PX), length - EDGE_PX) - at;
    const dx = inside((this.#wanted[2 * index] ?? 0) * k + x, this.#size.width);
    const dy = inside((this.#wanted[2 * index + 1] ?? 0) * k + y, this.#size.height);
    if (dx !== 0 || dy !== 0) this.#aim = { k, x: x + dx, y: y + dy };
  }

  #pointOf({ clientX, clientY }: MouseEvent): Point {
    const { left, top } = this.#canvas.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  /** The nearest thing under a point, with some slack in pixels. */
  #find({ x, y }: Point, slack: number): number | null {
    const { k, x: ox, y: oy } = this.#viewport;
    let best: number | null = null;
    let least = Infinity;
    for (let index = 0; index < this.#radii.length; index += 1) {
      const distance = Math.hypot((this.#shown[2 * index] ?? 0) * k + ox - x, (this.#shown[2 * index + 1] ?? 0) * k + oy - y);
      if (distance < least && distance <= screenRadius(this.#radii[index] ?? 0, k) + slack) [best, least] = [index, distance];
    }
    return best;
  }

  #hover(index: number | null) {
    if (index === this.#hovered) return;
    this.#hovered = index;
    this.#canvas.style.cursor = index === null ? "" : "pointer";
    this.#request();
  }

  #pointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const point = this.#pointOf(event);
    this.#canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, point);
    // A second finger zooms.
    if (this.#pointers.size > 1) return this.#endDrag();
    this.#drag = { index: this.#find(point, event.pointerType === "touch" ? 12 : 4), start: point, last: point, moved: false };
  };

  #pointerMove = (event: PointerEvent) => {
    const point = this.#pointOf(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.#hover(this.#find(point, 4));
      return;
    }
    this.#pointers.set(event.pointerId, point);
    if (this.#pointers.size === 2) return this.#pinch(event.pointerId, before, point);
    const drag = this.#drag;
    if (!drag || (!drag.moved && Math.hypot(point.x - drag.start.x, point.y - drag.start.y) < DRAG_THRESHOLD_PX)) return;
    drag.moved = true;
    if (drag.index === null) {
      const { k, x, y } = this.#viewport;
      this.#moveTo({ k, x: x + point.x - drag.last.x, y: y + point.y - drag.last.y });
    } else {
      this.#dragThing(drag.index, toWorld(this.#viewport, point.x, point.y));
    }
    drag.last = point;
  };

  #dragThing(index: number, at: Point) {
    for (const positions of [this.#shown, this.#wanted]) {
      positions[2 * index] = at.x;
      positions[2 * index + 1] = at.y;
    }
    this.#aim = null;
    this.#setManual(true);
    this.#layout.hold(index, { ...at });
    this.#request();
  }

  /** Two fingers move and zoom. */
  #pinch(moved: number, before: Point, now: Point) {
    const other = [...this.#pointers].find(([id]) => id !== moved)?.[1];
    if (!other) return;
    const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    const [dx, dy] = [(now.x - before.x) / 2, (now.y - before.y) / 2];
    const zoomed = zoomAt(this.#viewport, factor, (before.x + other.x) / 2, (before.y + other.y) / 2);
    this.#moveTo({ k: zoomed.k, x: zoomed.x + dx, y: zoomed.y + dy });
  }

  #pointerUp = (event: PointerEvent) => {
    if (!this.#pointers.delete(event.pointerId)) return;
    const drag = this.#drag;
    this.#endDrag();
    if (!drag || drag.moved || event.type === "pointercancel") return;
    const thing = drag.index === null ? undefined : this.#network.things[drag.index];
    this.#actions.onSelect(thing?.id ?? null);
  };

  #endDrag() {
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.moved && drag.index !== null) this.#layout.hold(drag.index, null);
  }
}
