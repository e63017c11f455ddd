// The graph of facts. Preact renders the elements; GraphView moves them.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { highlight, memory } from "../state/current-session.ts";
import { phraseFor } from "../state/format.ts";
import { isPulsing } from "../state/model.ts";
import { entityHref, navigate } from "../state/route.ts";
import { showFact } from "../parts/chat.tsx";
import { buildGraph, MAX_ANIMATED_NODES, shortName, type GraphEdge, type GraphNode } from "./graph-layout.ts";
import { GraphView } from "./graph-view.ts";
import { Icon } from "../parts/icon.tsx";
import { strings } from "./strings.ts";

/** In larger graphs only highlighted edges have labels. */
const MAX_LABELED_EDGES = 60;

const initialOf = ({ entity }: GraphNode) => Array.from(entity.name)[0] ?? "";
const letterId = (letter: string) => `letter-${letter.codePointAt(0) ?? 0}`;
const endHighlight = () => { highlight.value = null; };

function Edge({ edge, lit, labeled, maxWeight }: { edge: GraphEdge; lit: boolean; labeled: boolean; maxWeight: number }) {
  const { fact } = edge;
  return (
    <g
      id={`e-${edge.id}`} class={`edge ${lit ? "lit" : ""}`} data-status={fact.status}
      onPointerEnter={() => { highlight.value = { fact: edge.id }; }} onPointerLeave={endHighlight} onClick={() => showFact(edge.id)}
    >
      <path class="touch" />
      <path class="stroke" marker-end="url(#arrow)" style={{ strokeWidth: 1 + 1.4 * (fact.weight / maxWeight) }} />
      {isPulsing(fact.pulse) && <path key={fact.pulse.count} class="comet" data-kind={fact.pulse.kind} pathLength={1} style={{ animationDelay: `${fact.pulse.delay}ms` }} />}
      {/* Hidden until the view has found a place for it. */}
      {(labeled || lit) && <text visibility="hidden">{phraseFor(fact.phrase, edge.source.entity.isViewer)}</text>}
    </g>
  );
}

function Node({ node, lit, view }: { node: GraphNode; lit: boolean; view: GraphView }) {
  const { entity, pulse } = node;
  const name = entity.isViewer ? strings.viewer : entity.name;
  const startHighlight = () => { highlight.value = { entity: node.id }; };
  return (
    <g
      id={`n-${node.id}`} class={`node ${lit ? "lit" : ""} ${node.faded ? "faded" : ""} ${entity.isViewer ? "viewer" : ""}`} data-type={entity.type}
      tabIndex={0} role="link" aria-label={strings.node(name, entity.type)}
      onPointerDown={(event) => view.pointerDown(event, node)}
      onPointerEnter={() => { if (!view.dragging) startHighlight(); }} onPointerLeave={endHighlight}
      onFocus={startHighlight} onBlur={endHighlight}
      onKeyDown={(event) => { if (event.key === "Enter") navigate(entityHref(node.id)); }}
    >
      <g class="pop">
        {isPulsing(pulse) && <circle key={pulse.at} class="halo" data-kind={pulse.kind} r={node.r} style={{ animationDelay: `${pulse.delay}ms` }} />}
        <circle class="disc" r={node.r} />
        {entity.isViewer ? <text dy="4">{name}</text> : <><use href={`#${letterId(initialOf(node))}`} /><text class="name" y={node.r + 3}>{shortName(name)}</text></>}
      </g>
    </g>
  );
}

export function Graph() {
  const known = memory.value;
  const version = known?.version.value;
  const svg = useRef<SVGSVGElement>(null);
  const stage = useRef<SVGGElement>(null);
  const arrow = useRef<SVGMarkerElement>(null);
  const [manual, setManual] = useState(false);
  const view = useMemo(() => new GraphView({ svg, stage, arrow }, setManual), []);
  const graph = useMemo(() => (known ? buildGraph(known, view.graph) : { nodes: [], edges: [] }), [known, version]);

  useEffect(() => view.attach(), []);
  useLayoutEffect(() => view.show(graph), [graph]);
  useEffect(() => view.setManual(false), [known]);

  const target = highlight.value;
  // Labels of highlighted edges are required, so other labels may have to move.
  useLayoutEffect(view.draw, [target]);
  const isLit = (edge: GraphEdge) => target !== null && (target.fact === edge.id || target.entity === edge.source.id || target.entity === edge.target.id);
  const litNodes = new Set<string>();
  if (target?.entity) litNodes.add(target.entity);
  for (const edge of graph.edges) if (isLit(edge)) litNodes.add(edge.source.id).add(edge.target.id);
  const labeled = graph.edges.length <= MAX_LABELED_EDGES;
  const maxWeight = Math.max(1, ...graph.edges.map((e) => e.fact.weight));

  return (
    <section class="graph" data-large={graph.nodes.length > MAX_ANIMATED_NODES || undefined} aria-label={strings.title}>
      <svg
        ref={svg} class={target && litNodes.size > 0 ? "focused" : ""} role="group" aria-label={strings.size(graph.nodes.length, graph.edges.length)}
        onPointerDown={(event) => view.pointerDown(event, null)} onPointerMove={(event) => view.pointerMove(event)}
        onPointerUp={() => view.pointerUp()} onPointerCancel={() => view.pointerUp()}
      >
        <defs>
          {/* Used by reference, so that screen readers do not read the initial as part of the node's name. */}
          {[...new Set(graph.nodes.map(initialOf))].map((letter) => <text key={letter} id={letterId(letter)} class="initial" dy="4.5" aria-hidden="true">{letter}</text>)}
          <marker ref={arrow} id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" markerUnits="userSpaceOnUse"><path d="M1 1 7 4 1 7" /></marker>
        </defs>
        <g ref={stage}>
          {graph.edges.map((edge) => <Edge key={edge.id} edge={edge} lit={isLit(edge)} labeled={labeled} maxWeight={maxWeight} />)}
          {graph.nodes.map((node) => <Node key={node.id} node={node} lit={litNodes.has(node.id)} view={view} />)}
        </g>
      </svg>
      {graph.nodes.length === 0 && <p class="empty"><span>{strings.empty}</span></p>}
      {manual && <button type="button" class="icon-button fit" aria-label={strings.showAll} title={strings.showAll} onClick={() => view.fit()}><Icon name="fit" /></button>}
    </section>
  );
}
