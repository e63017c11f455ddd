// The graph as a list: each thing with its neighbours below it.
import type { GraphFact, GraphThing } from "../generated/operations.ts";
import type { Network } from "./network.ts";

export interface OutlineRow {
  /** Unique in the list. A thing may be below several others. */
  readonly id: string;
  readonly thing: GraphThing;
  /** The facts that connect it with the row above it. Empty for the first level. */
  readonly facts: readonly GraphFact[];
  /** 1 for the first level. */
  readonly level: number;
  readonly expanded: boolean;
  /** Its neighbours are below another row of the same thing. */
  readonly repeated: boolean;
}

interface Parent {
  readonly id: string;
  readonly index: number;
  readonly facts: readonly GraphFact[];
  readonly level: number;
}

/** Rows of a thing and of what is below it. A thing that is expanded further up is not expanded again. */
function* rowsBelow(network: Network, expanded: ReadonlySet<string>, index: number, parent: Parent | null, done: Set<number>): Generator<OutlineRow> {
  const thing = network.things[index];
  if (!thing) return;
  const id = parent ? `${parent.id} ${thing.id}` : thing.id;
  const level = (parent?.level ?? 0) + 1;
  const repeated = expanded.has(thing.id) && done.has(index);
  const opens = expanded.has(thing.id) && !repeated;
  yield { id, thing, facts: parent?.facts ?? [], level, expanded: opens, repeated };
  if (!opens) return;
  done.add(index);
  const links = (network.linksOf[index] ?? []).flatMap((at) => network.links[at] ?? []).sort((a, b) => b.weight - a.weight);
  for (const link of links) {
    const other = link.source === index ? link.target : link.source;
    if (other !== parent?.index) yield* rowsBelow(network, expanded, other, { id, index, facts: link.facts, level }, done);
  }
}

/** The list of a neighbourhood begins with the centre. With `all`, every thing is on the first level, most mentioned first. */
export function outline(network: Network, expanded: ReadonlySet<string>, all: boolean): OutlineRow[] {
  const indexes = network.things.map((_, index) => index);
  if (!all) return [...rowsBelow(network, expanded, 0, null, new Set())];
  const mentions = (index: number) => network.things[index]?.mentionCount ?? 0;
  indexes.sort((a, b) => mentions(b) - mentions(a));
  // The neighbours of a thing are one level below it, as all of them are on the first level, too.
  return indexes.flatMap((index) => {
    const thing = network.things[index];
    const own = new Set(thing && expanded.has(thing.id) ? [thing.id] : []);
    return [...rowsBelow(network, own, index, null, new Set())];
  });
}
