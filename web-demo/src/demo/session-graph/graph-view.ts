// The graph's viewport: moves nodes, edges and labels in the SVG, and handles pan, zoom and drag.
import type { RefObject } from "preact";
import { prefersReducedMotion } from "../motion.ts";
import { entityHref, navigate } from "../state/route.ts";
import { createLayout, edgePath, halfWidth, namePoint, placeLabels, placeNames, type GraphData, type GraphEdge, type GraphNode, type Label, type Layout } from "./graph-layout.ts";
import { TextWidths } from "./text-widths.ts";

interface Viewport { k: number; x: number; y: number }

/** Where a new graph starts. The first drawing shows every node at once, and the next ones follow them slowly. */
const HOME: Viewport = { k: 1, x: 0, y: 0 };

interface Elements {
  svg: RefObject<SVGSVGElement | null>;
  /** The group that pan and zoom transform. */
  stage: RefObject<SVGGElement | null>;
  arrow: RefObject<SVGMarkerElement | null>;
}

const MARGIN = 20;
/** Height of the name below or above a node. */
const NAME_PX = 20;
/** Pointer movements below this distance are clicks. */
const DRAG_THRESHOLD_PX = 4;
/** Letters grow in graph units while the graph shrinks on the screen, up to this size. */
const LARGEST_LETTER = 2;
/** Letters change their size in steps: each change costs new styles of all texts, which take most of the time of a frame. */
const LETTER_STEPS_PER_PIXEL = 24;
const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
const idsOf = (graph: GraphData) => [...graph.nodes, ...graph.edges].map((x) => x.id).join();

/** Returns the viewport that shows every node in a box of w x h pixels. */
function fitNodes(nodes: GraphNode[], w: number, h: number): Viewport {
  if (nodes.length === 0) return { k: 1, x: w / 2, y: h / 2 };
  const x0 = Math.min(...nodes.map((n) => (n.x ?? 0) - halfWidth(n)));
  const x1 = Math.max(...nodes.map((n) => (n.x ?? 0) + halfWidth(n)));
  const y0 = Math.min(...nodes.map((n) => (n.y ?? 0) - n.r - NAME_PX));
  const y1 = Math.max(...nodes.map((n) => (n.y ?? 0) + n.r + NAME_PX));
  const k = clamp(Math.min(w / (x1 - x0 + 2 * MARGIN), h / (y1 - y0 + 2 * MARGIN)), 0.35, 1.25);
  return { k, x: w / 2 - (k * (x0 + x1)) / 2, y: h / 2 - (k * (y0 + y1)) / 2 };
}

/** Writes an attribute if it differs: the browser computes the style of an element again after each write. */
function write(element: Element | null | undefined, name: string, value: string): void {
  if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export class GraphView {
  readonly #elements: Elements;
  readonly #onManualChange: (manual: boolean) => void;
  #graph: GraphData = { nodes: [], edges: [] };
  #layout: Layout | null = null;
  #viewport: Viewport = HOME;
  /** null: hidden, as in another tab of a phone. Then nothing is laid out or drawn, which would only slow the page down. */
  #size: { width: number; height: number } | null = null;
  /** The user has panned or zoomed, so the viewport no longer follows the nodes. */
  #manual = false;
  readonly #widths = new TextWidths();
  #drag: { node: GraphNode | null; x: number; y: number; moved: boolean } | null = null;

  constructor(elements: Elements, onManualChange: (manual: boolean) => void) {
    this.#elements = elements;
    this.#onManualChange = onManualChange;
  }

  get graph(): GraphData {
    return this.#graph;
  }

  get dragging(): boolean {
    return this.#drag !== null;
  }

  /** Starts the layout and the listeners. Returns a function that stops them. */
  attach(): () => void {
    const svg = this.#elements.svg.current;
    this.#layout = this.#newLayout();
    const resize = new ResizeObserver(([box]) => {
      if (!box) return;
      const { width, height } = box.contentRect;
      this.#size = height > 0 ? { width, height } : null;
      if (!this.#size) return this.#layout?.stop();
      this.#layout?.setAspect(width / height);
      this.#layout?.show(this.#graph, true);
      this.#drawWhole();
    });
    if (svg) resize.observe(svg);
    // Another font has other widths.
    const measureAgain = () => {
      this.#widths.forget();
      this.draw();
    };
    document.fonts.addEventListener("loadingdone", measureAgain);
    // Not passive: the page must not scroll while the graph zooms.
    svg?.addEventListener("wheel", this.#zoom, { passive: false });
    return () => {
      svg?.removeEventListener("wheel", this.#zoom);
      document.fonts.removeEventListener("loadingdone", measureAgain);
      resize.disconnect();
      this.#layout?.stop();
      this.#layout = null;
    };
  }

  #newLayout(): Layout {
    return createLayout(this.draw, () => this.#drawWhole());
  }

  /** Draws with every node in sight at once, unless the user has chosen what to see. */
  #drawWhole(): void {
    if (!this.#manual) this.#viewport = HOME;
    this.draw();
  }

  show(graph: GraphData): void {
    const changed = idsOf(this.#graph) !== idsOf(graph);
    this.#graph = graph;
    this.draw();
    // The first call comes before `attach()`.
    queueMicrotask(() => {
      this.#layout ??= this.#newLayout();
      if (this.#size) this.#layout.show(graph, changed);
    });
  }

  setManual(manual: boolean): void {
    this.#manual = manual;
    this.#onManualChange(manual);
  }

  /** Shows the whole graph again. */
  fit(): void {
    this.setManual(false);
    this.#layout?.show(this.#graph, true);
  }

  /** Writes the current positions into the SVG. */
  draw = (): void => {
    const svg = this.#elements.svg.current;
    const stage = this.#elements.stage.current;
    if (!svg || !stage || !this.#size) return;
    if (!this.#manual) this.#followNodes(this.#size);
    const { k, x, y } = this.#viewport;
    // Text keeps its size on the screen: users zoom to separate nodes, not to enlarge text.
    const letter = Math.round(clamp(1 / k, 0.25, LARGEST_LETTER) * LETTER_STEPS_PER_PIXEL) / LETTER_STEPS_PER_PIXEL;
    const size = letter.toFixed(3);
    if (stage.style.getPropertyValue("--letter") !== size) stage.style.setProperty("--letter", size);
    for (const side of ["markerWidth", "markerHeight"]) write(this.#elements.arrow.current, side, (8 * letter).toFixed(2));
    write(stage, "transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    for (const node of this.#graph.nodes) write(svg.getElementById?.(`n-${node.id}`), "transform", `translate(${(node.x ?? 0).toFixed(2)} ${(node.y ?? 0).toFixed(2)})`);
    this.#drawTexts(svg, letter);
  };

  #followNodes({ width, height }: { width: number; height: number }) {
    const target = fitNodes(this.#graph.nodes, width, height);
    const ease = prefersReducedMotion() ? 1 : 0.14;
    const now = this.#viewport;
    this.#viewport = now === HOME ? target : { k: now.k + (target.k - now.k) * ease, x: now.x + (target.x - now.x) * ease, y: now.y + (target.y - now.y) * ease };
  }

  #drawTexts(svg: SVGSVGElement, letter: number) {
    const groups = this.#graph.edges.flatMap((edge): Array<readonly [GraphEdge, Element, SVGTextElement | null]> => {
      const group = svg.getElementById?.(`e-${edge.id}`);
      return group ? [[edge, group, group.querySelector("text")]] : [];
    });
    const labels = groups.flatMap(([edge, group, text]): Label[] => {
      if (!text) return [];
      const required = group.classList.contains("lit");
      const weight = edge.fact.status === "active" ? edge.fact.weight : 0;
      return [{ id: edge.id, width: this.#widths.of(text, required ? "lit" : "label", letter), required, weight, points: edgePath(edge).labelPoints }];
    });
    const names = new Map(this.#graph.nodes.map(({ id }) => [id, svg.getElementById?.(`n-${id}`)?.querySelector<SVGTextElement>(".name") ?? null]));
    const nameWidth = ({ id }: GraphNode) => {
      const name = names.get(id);
      return name ? this.#widths.of(name, "name", letter) : 0;
    };
    const sides = placeNames(this.#graph.nodes, letter, nameWidth, ({ id }) => names.get(id)?.closest(".node")?.classList.contains("lit") ?? false);
    const places = placeLabels(labels, this.#graph.nodes, letter, nameWidth, sides);
    for (const node of this.#graph.nodes) {
      const [name, side] = [names.get(node.id), sides.get(node.id)];
      write(name, "visibility", side ? "visible" : "hidden");
      if (!name || !side) continue;
      const { x, y } = namePoint(node, side, letter, nameWidth(node));
      write(name, "x", x.toFixed(1));
      // The style sheet puts the name below its `y`.
      write(name, "y", (y - 8 * letter).toFixed(1));
    }
    for (const [edge, group, text] of groups) {
      const { d } = edgePath(edge);
      for (const path of group.querySelectorAll("path")) write(path, "d", d);
      const at = places.get(edge.id);
      write(text, "visibility", at ? "visible" : "hidden");
      if (at) write(text, "transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
    }
  }

  /** Starts to drag a node, or to pan without one. */
  pointerDown(event: PointerEvent, node: GraphNode | null): void {
    if (event.button !== 0) return;
    event.stopPropagation();
    this.#drag = { node, x: event.clientX, y: event.clientY, moved: false };
    this.#elements.svg.current?.setPointerCapture(event.pointerId);
  }

  pointerMove(event: PointerEvent): void {
    const drag = this.#drag;
    if (!drag) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < DRAG_THRESHOLD_PX) return;
    drag.moved = true;
    drag.x = event.clientX;
    drag.y = event.clientY;
    const { k, x, y } = this.#viewport;
    if (drag.node) this.#layout?.drag(drag.node, { x: (drag.node.x ?? 0) + dx / k, y: (drag.node.y ?? 0) + dy / k });
    else {
      this.setManual(true);
      this.#viewport = { k, x: x + dx, y: y + dy };
    }
    this.draw();
  }

  /** Ends a drag. A click on a node opens its entity. */
  pointerUp(): void {
    const drag = this.#drag;
    this.#drag = null;
    if (!drag?.node) return;
    if (drag.moved) this.#layout?.drag(drag.node, null);
    else navigate(entityHref(drag.node.id));
  }

  /** Zooms at the pointer. */
  #zoom = (event: WheelEvent) => {
    const svg = this.#elements.svg.current;
    if (!svg) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const now = this.#viewport;
    const k = clamp(now.k * 2 ** (-event.deltaY / 320), 0.25, 3);
    this.#viewport = { k, x: px - ((px - now.x) * k) / now.k, y: py - ((py - now.y) * k) / now.k };
    this.setManual(true);
    this.draw();
  };
}
