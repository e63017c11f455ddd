// The picture of the facts: new ones glow, ended ones fade. Preact draws what there is, the layout moves it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { still } from "../motion.ts";
import { memory, spotlight } from "../state/app.ts";
import { glows } from "../state/model.ts";
import { entityHref, go } from "../state/route.ts";
import { count, phraseFor } from "../state/words.ts";
import { showFact } from "./chat.tsx";
import { edgePath, halfWidth, layout, picture, placeLabels, shortName, type GraphEdge, type GraphNode, type Label, type Layout, type Picture } from "./graph-layout.ts";
import { Icon } from "./icon.tsx";

interface View { k: number; x: number; y: number }
const LABELS_UP_TO = 60;
const MARGIN = 20;
/** Height of the name under a node. */
const NAME_PX = 20;
const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

const initialOf = ({ entity }: GraphNode) => Array.from(entity.name)[0] ?? "";
const letterId = (letter: string) => `letter-${letter.codePointAt(0) ?? 0}`;

/** The view that shows every node in a box of w x h pixels. */
function fitted(nodes: GraphNode[], w: number, h: number): View {
  if (nodes.length === 0) return { k: 1, x: w / 2, y: h / 2 };
  const x0 = Math.min(...nodes.map((n) => (n.x ?? 0) - halfWidth(n)));
  const x1 = Math.max(...nodes.map((n) => (n.x ?? 0) + halfWidth(n)));
  const y0 = Math.min(...nodes.map((n) => (n.y ?? 0) - n.r));
  const y1 = Math.max(...nodes.map((n) => (n.y ?? 0) + n.r + NAME_PX));
  const k = clamp(Math.min(w / (x1 - x0 + 2 * MARGIN), h / (y1 - y0 + 2 * MARGIN)), 0.35, 1.25);
  return { k, x: w / 2 - (k * (x0 + x1)) / 2, y: h / 2 - (k * (y0 + y1)) / 2 };
}

export function Graph() {
  const known = memory.value;
  const version = known?.version.value;
  const svg = useRef<SVGSVGElement>(null);
  const stage = useRef<SVGGElement>(null);
  const arrow = useRef<SVGMarkerElement>(null);
  const engine = useRef<Layout | null>(null);
  const shown = useRef<Picture>({ nodes: [], edges: [] });
  const view = useRef<View>({ k: 1, x: 0, y: 0 });
  const [byHand, setByHand] = useState(false);
  const hand = useRef(false);
  hand.current = byHand;

  const graph = useMemo(() => (known ? picture(known, shown.current) : { nodes: [], edges: [] }), [known, version]);

  const place = () => {
    const root = svg.current;
    if (!root || !stage.current) return;
    const target = fitted(shown.current.nodes, root.clientWidth, root.clientHeight);
    if (!hand.current) {
      const ease = still() ? 1 : 0.14;
      const now = view.current;
      view.current = now.x === 0 && now.y === 0 ? target : { k: now.k + (target.k - now.k) * ease, x: now.x + (target.x - now.x) * ease, y: now.y + (target.y - now.y) * ease };
    }
    const { k, x, y } = view.current;
    // Letters keep their size on the screen: the picture is enlarged to see what lies close together, not to read larger text.
    const letter = clamp(1 / k, 0.25, 1.6);
    stage.current.style.setProperty("--letter", letter.toFixed(3));
    for (const side of ["markerWidth", "markerHeight"]) arrow.current?.setAttribute(side, (8 * letter).toFixed(2));
    stage.current.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    for (const node of shown.current.nodes) root.getElementById?.(`n-${node.id}`)?.setAttribute("transform", `translate(${(node.x ?? 0).toFixed(2)} ${(node.y ?? 0).toFixed(2)})`);
    const labels: Label[] = [];
    const texts = new Map<string, Element>();
    for (const edge of shown.current.edges) {
      const group = root.getElementById?.(`e-${edge.id}`);
      if (!group) continue;
      const { d, places } = edgePath(edge);
      for (const path of group.querySelectorAll("path")) path.setAttribute("d", d);
      const text = group.querySelector("text");
      if (!text) continue;
      texts.set(edge.id, text);
      labels.push({ id: edge.id, text: text.textContent ?? "", must: group.classList.contains("lit"), weight: edge.fact.status === "active" ? edge.fact.weight : 0, places });
    }
    for (const [id, at] of placeLabels(labels, shown.current.nodes, letter)) {
      const text = texts.get(id);
      text?.setAttribute("visibility", at ? "visible" : "hidden");
      if (at) text?.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
    }
  };

  useEffect(() => {
    engine.current = layout(place);
    const resize = new ResizeObserver(([box]) => {
      if (!box || box.contentRect.height === 0) return;
      engine.current?.shape(box.contentRect.width / box.contentRect.height);
      engine.current?.show(shown.current, true);
      view.current = { k: 1, x: 0, y: 0 };
      place();
    });
    if (svg.current) resize.observe(svg.current);
    return () => {
      engine.current?.stop();
      engine.current = null;
      resize.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    const before = shown.current;
    const ids = (p: Picture) => [...p.nodes, ...p.edges].map((x) => x.id).join();
    const changed = ids(before) !== ids(graph);
    shown.current = graph;
    place();
    // The engine is made in an effect that runs after this one on the first pass.
    queueMicrotask(() => (engine.current ?? (engine.current = layout(place))).show(graph, changed));
  }, [graph]);

  useEffect(() => setByHand(false), [known]);

  const drag = useRef<{ node: GraphNode | null; x: number; y: number; moved: boolean } | null>(null);
  const down = (event: PointerEvent, node: GraphNode | null) => {
    if (event.button !== 0) return;
    event.stopPropagation();
    drag.current = { node, x: event.clientX, y: event.clientY, moved: false };
    svg.current?.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const at = drag.current;
    if (!at) return;
    const [dx, dy] = [event.clientX - at.x, event.clientY - at.y];
    if (!at.moved && Math.hypot(dx, dy) < 4) return;
    at.moved = true;
    at.x = event.clientX;
    at.y = event.clientY;
    const { k } = view.current;
    if (at.node) engine.current?.drag(at.node, { x: (at.node.x ?? 0) + dx / k, y: (at.node.y ?? 0) + dy / k });
    else {
      setByHand(true);
      hand.current = true;
      view.current = { k, x: view.current.x + dx, y: view.current.y + dy };
    }
    place();
  };
  const up = () => {
    const at = drag.current;
    drag.current = null;
    if (!at?.node) return;
    if (at.moved) engine.current?.drag(at.node, null);
    else go(entityHref(at.node.id));
  };
  useEffect(() => {
    const root = svg.current;
    if (!root) return;
    // Not passive: the page must not scroll while the graph zooms.
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = root.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      const now = view.current;
      const k = clamp(now.k * 2 ** (-event.deltaY / 320), 0.25, 3);
      view.current = { k, x: px - ((px - now.x) * k) / now.k, y: py - ((py - now.y) * k) / now.k };
      setByHand(true);
      hand.current = true;
      place();
    };
    root.addEventListener("wheel", wheel, { passive: false });
    return () => root.removeEventListener("wheel", wheel);
  }, []);

  const light = spotlight.value;
  // What the pointer is on gets its label, for which others may have to go.
  useLayoutEffect(place, [light]);
  const lit = (edge: GraphEdge) => light !== null && (light.fact === edge.id || light.entity === edge.source.id || light.entity === edge.target.id);
  const litNodes = new Set<string>();
  if (light?.entity) litNodes.add(light.entity);
  for (const edge of graph.edges) if (lit(edge)) litNodes.add(edge.source.id).add(edge.target.id);
  const labels = graph.edges.length <= LABELS_UP_TO;
  const heaviest = Math.max(1, ...graph.edges.map((e) => e.fact.weight));

  return (
    <section class="graph" aria-label="Graph of facts">
      <svg
        ref={svg} class={light && litNodes.size > 0 ? "focused" : ""} role="group" aria-label={`${count(graph.nodes.length, "entity").replace("entitys", "entities")}, ${count(graph.edges.length, "fact")}`}
        onPointerDown={(event) => down(event, null)} onPointerMove={move} onPointerUp={up} onPointerCancel={up}
      >
        <defs>
          {/* Drawn by reference: the letter is no part of the node's name. */}
          {[...new Set(graph.nodes.map(initialOf))].map((letter) => <text key={letter} id={letterId(letter)} class="initial" dy="4.5" aria-hidden="true">{letter}</text>)}
          <marker ref={arrow} id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" markerUnits="userSpaceOnUse"><path d="M1 1 7 4 1 7" /></marker>
        </defs>
        <g ref={stage}>
          {graph.edges.map((edge) => {
            const { fact } = edge;
            const on = lit(edge);
            return (
              <g
                key={edge.id} id={`e-${edge.id}`} class={`edge ${on ? "lit" : ""}`} data-status={fact.status}
                onPointerEnter={() => { spotlight.value = { fact: edge.id }; }} onPointerLeave={() => { spotlight.value = null; }} onClick={() => showFact(edge.id)}
              >
                <path class="touch" />
                <path class="stroke" marker-end="url(#arrow)" style={{ strokeWidth: 1 + 1.4 * (fact.weight / heaviest) }} />
                {glows(fact.pulse) && <path key={fact.pulse.count} class="comet" data-kind={fact.pulse.kind} pathLength={1} style={{ animationDelay: `${fact.pulse.delay}ms` }} />}
                {(labels || on) && <text>{phraseFor(fact.phrase, edge.source.entity.isViewer)}</text>}
              </g>
            );
          })}
          {graph.nodes.map((node) => {
            const { entity, pulse } = node;
            const name = entity.isViewer ? "you" : entity.name;
            return (
              <g
                key={node.id} id={`n-${node.id}`} class={`node ${litNodes.has(node.id) ? "lit" : ""} ${node.faded ? "faded" : ""} ${entity.isViewer ? "viewer" : ""}`} data-type={entity.type}
                tabIndex={0} role="link" aria-label={`${name}, ${entity.type}`}
                onPointerDown={(event) => down(event, node)}
                onPointerEnter={() => { if (!drag.current) spotlight.value = { entity: node.id }; }} onPointerLeave={() => { spotlight.value = null; }}
                onFocus={() => { spotlight.value = { entity: node.id }; }} onBlur={() => { spotlight.value = null; }}
                onKeyDown={(event) => { if (event.key === "Enter") go(entityHref(node.id)); }}
              >
                <g class="pop">
                  {glows(pulse) && <circle key={pulse.at} class="halo" data-kind={pulse.kind} r={node.r} style={{ animationDelay: `${pulse.delay}ms` }} />}
                  <circle class="disc" r={node.r} />
                  {entity.isViewer ? <text dy="4">{name}</text> : <><use href={`#${letterId(initialOf(node))}`} /><text class="name" y={node.r + 3}>{shortName(name)}</text></>}
                </g>
              </g>
            );
          })}
        </g>
      </svg>
      {graph.nodes.length === 0 && <p class="empty"><span>People, places and things will stand here, joined by what you say about them.</span></p>}
      {byHand && <button type="button" class="icon-button fit" aria-label="Show the whole graph" title="Show the whole graph" onClick={() => { setByHand(false); hand.current = false; engine.current?.show(shown.current, true); }}><Icon name="fit" /></button>}
    </section>
  );
}
