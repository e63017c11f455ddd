// Which things and links the graph shows: the centre, and the neighbours of everything that is expanded.
import type { GraphFact, GraphThing } from "../generated/operations.ts";

/** All facts between two things are one link. */
export interface GraphLink {
  /** Indexes of things. */
  readonly source: number;
  readonly target: number;
  /** Heaviest first. */
  readonly facts: readonly GraphFact[];
  /** Sum of the weights of facts that hold. */
  readonly weight: number;
  /** At least one of the facts holds. */
  readonly holds: boolean;
}

export interface Network {
  readonly things: readonly GraphThing[];
  readonly links: readonly GraphLink[];
  /** Index of each thing, by id. */
  readonly indexes: ReadonlyMap<string, number>;
  /** Indexes of the links of each thing. */
  readonly linksOf: ReadonlyArray<readonly number[]>;
  /** How many loaded neighbours of an expanded thing are not shown. */
  readonly hidden: ReadonlyMap<string, number>;
  /** The thing next to which each thing appeared. It is placed there first. */
  readonly origins: ReadonlyArray<number>;
}

export const noNetwork: Network = { things: [], links: [], indexes: new Map(), linksOf: [], hidden: new Map(), origins: [] };

/** Facts that hold come first, then by weight. */
export const heaviestFirst = (a: GraphFact, b: GraphFact): number =>
  Number(b.status === "ACTIVE") - Number(a.status === "ACTIVE") || b.weight - a.weight || a.id.localeCompare(b.id);

/** The thing at the other end of a fact. null: the fact has a value, or connects the thing with itself. */
export function neighbourIn(fact: GraphFact, id: string): GraphThing | null {
  if (!fact.object || fact.object.id === fact.subject.id) return null;
  return fact.subject.id === id ? fact.object : fact.object.id === id ? fact.subject : null;
}

/** Collects things in the order of their discovery. */
class Collector {
  readonly things: GraphThing[] = [];
  readonly indexes = new Map<string, number>();
  readonly origins: number[] = [];

  add(thing: GraphThing, origin: number): void {
    if (this.indexes.has(thing.id)) return;
    this.indexes.set(thing.id, this.things.length);
    this.things.push(thing);
    this.origins.push(origin);
  }
}

function connect({ things, indexes, origins }: Collector, facts: Iterable<GraphFact>, hidden: ReadonlyMap<string, number>): Network {
  const pairs = new Map<string, { source: number; target: number; facts: Map<string, GraphFact> }>();
  for (const fact of facts) {
    const source = indexes.get(fact.subject.id);
    const target = fact.object ? indexes.get(fact.object.id) : undefined;
    if (source === undefined || target === undefined || source === target) continue;
    const key = source < target ? `${source} ${target}` : `${target} ${source}`;
    let pair = pairs.get(key);
    if (!pair) pairs.set(key, (pair = { source, target, facts: new Map() }));
    pair.facts.set(fact.id, fact);
  }
  const linksOf: number[][] = things.map(() => []);
  const links = [...pairs.values()].map(({ source, target, facts: own }, index): GraphLink => {
    const sorted = [...own.values()].sort(heaviestFirst);
    const active = sorted.filter((fact) => fact.status === "ACTIVE");
    linksOf[source]?.push(index);
    linksOf[target]?.push(index);
    return { source, target, facts: sorted, holds: active.length > 0, weight: active.reduce((sum, fact) => sum + fact.weight, 0) };
  });
  return { things, links, indexes, linksOf, hidden, origins };
}

export interface Neighbourhoods {
  centre: GraphThing;
  expanded: ReadonlySet<string>;
  /** The loaded facts of a thing. */
  factsOf: (id: string) => readonly GraphFact[];
  /** How many neighbours of a thing to show at most. */
  limitOf: (id: string) => number;
}

/** Merges the neighbourhoods of the centre and of all things that are expanded and reachable from it. */
export function mergeNeighbourhoods({ centre, expanded, factsOf, limitOf }: Neighbourhoods): Network {
  const found = new Collector();
  const hidden = new Map<string, number>();
  const facts = new Map<string, GraphFact>();
  found.add(centre, -1);
  // The array grows while it is read: neighbours of neighbours follow.
  for (let at = 0; at < found.things.length; at += 1) {
    const { id } = found.things[at] as GraphThing;
    if (!expanded.has(id)) continue;
    const neighbours = new Set<string>();
    const limit = limitOf(id);
    let left = 0;
    for (const fact of [...factsOf(id)].sort(heaviestFirst)) {
      const neighbour = neighbourIn(fact, id);
      if (!neighbour) continue;
      if (!neighbours.has(neighbour.id)) {
        neighbours.add(neighbour.id);
        if (neighbours.size <= limit) found.add(neighbour, at);
        else if (!found.indexes.has(neighbour.id)) left += 1;
      }
      facts.set(fact.id, fact);
    }
    if (left > 0) hidden.set(id, left);
  }
  return connect(found, facts.values(), hidden);
}

/** Merges all facts. Things beyond `limit` are left out, with their facts. */
export function mergeEverything(centre: GraphThing | null, facts: readonly GraphFact[], limit: number): Network {
  const found = new Collector();
  if (centre) found.add(centre, -1);
  for (const { subject, object } of facts) {
    for (const [thing, other] of [[subject, object], [object, subject]] as const) {
      if (thing && found.things.length < limit) found.add(thing, (other && found.indexes.get(other.id)) ?? -1);
    }
  }
  return connect(found, facts, new Map());
}

/** How many different things the facts name. */
export function countThings(facts: readonly GraphFact[]): number {
  const ids = new Set<string>();
  for (const { subject, object } of facts) {
    ids.add(subject.id);
    if (object) ids.add(object.id);
  }
  return ids.size;
}
