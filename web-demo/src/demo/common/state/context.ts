// What the parts of a place over the whole memory share. The place creates it, so that nothing outlives the place.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { computed, signal, type Signal } from "@preact/signals";
import { client } from "../../state/login.ts";
import { start } from "../../state/viewer.ts";
import { Ontology, type OntologyResult, type OntologyVariables } from "../generated/operations.ts";
import type { Reader } from "./fact-lists.ts";

export type Relation = OntologyResult["relations"][number];

export interface MemoryContext {
  readonly ontology: Signal<readonly Relation[]>;
  readonly reader: Signal<Reader>;
  /** Whether the ontology and the viewer are loaded. Before that, lists would leave out shared memory and notes. */
  readonly ready: Signal<boolean>;
  /** Grows with every change, here or elsewhere. Parts of the place reload then. */
  readonly version: Signal<number>;
}

export function createMemoryContext(): MemoryContext {
  const ontology = signal<readonly Relation[]>([]);
  const reader = computed(() => ({
    mayReadShared: start.value !== null && start.value.viewer.role !== "ANONYMOUS",
    noteRelations: ontology.value.filter((r) => r.notes).map((r) => r.name),
  }));
  const ready = computed(() => ontology.value.length > 0 && start.value !== null);
  return { ontology, reader, ready, version: signal(0) };
}

/** `ask`: how the place reads. */
export async function loadOntology({ ontology }: MemoryContext, ask: (query: typeof Ontology, variables: OntologyVariables) => Promise<OntologyResult> = (query, variables) => client.graphql(query, variables)): Promise<void> {
  ontology.value = (await ask(Ontology, {})).relations;
}

const Context = createContext<MemoryContext | null>(null);
export const MemoryContextProvider = Context.Provider;

export function useMemoryContext(): MemoryContext {
  const context = useContext(Context);
  if (!context) throw new Error("This part needs the context of a place over the whole memory.");
  return context;
}
