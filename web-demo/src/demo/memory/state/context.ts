// What the parts of the Memory page share. The page creates it, so that nothing outlives the page.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { computed, signal, type Signal } from "@preact/signals";
import { handleError, mayWrite, memory, problem, refreshSessions, sessionId, sessions, start } from "../../state/app.ts";
import { client } from "../../state/login.ts";
import { Ontology, type OntologyResult } from "../generated/operations.ts";
import type { Reader } from "./lists.ts";
import { Steering } from "./steering.ts";
import { UndoList } from "./undo.ts";
import { factsAndMessages } from "./words.ts";

export type Relation = OntologyResult["relations"][number];

export interface MemoryPage {
  readonly ontology: Signal<readonly Relation[]>;
  readonly reader: Signal<Reader>;
  /** Grows with every change, here or elsewhere. Parts of the page reload then. */
  readonly version: Signal<number>;
  readonly undo: UndoList;
  readonly steer: Steering;
}

/** The open session if the user may write it, else the newest own session, else a new one. */
async function homeSession(): Promise<string> {
  const open = sessions.value.find((s) => s.id === sessionId.value);
  const home = open && !open.shared ? open : sessions.value.find((s) => !s.shared);
  return home?.id ?? (await client.createSession("Facts that I stated")).id;
}

export function createMemoryPage(): MemoryPage {
  const ontology = signal<readonly Relation[]>([]);
  const version = signal(0);
  const changed = () => { version.value += 1; };
  const undo = new UndoList(async (token) => {
    const { factCount, messageCount } = await client.undoForget(token);
    changed();
    return `Restored: ${factsAndMessages(factCount, messageCount)}.`;
  });
  const reader = computed(() => ({
    mayReadShared: start.value !== null && start.value.viewer.role !== "ANONYMOUS",
    noteRelations: ontology.value.filter((r) => r.notes).map((r) => r.name),
  }));
  const steer = new Steering({ client, undo, changed: () => { changed(); void refreshSessions().catch(() => {}); }, homeSession });
  return { ontology, reader, version, undo, steer };
}

export async function loadOntology({ ontology }: MemoryPage): Promise<void> {
  ontology.value = (await client.graphql(Ontology, {})).relations;
}

const Context = createContext<MemoryPage | null>(null);
export const MemoryPageProvider = Context.Provider;

export function useMemoryPage(): MemoryPage {
  const page = useContext(Context);
  if (!page) throw new Error("This part belongs on the Memory page.");
  return page;
}

export { client, handleError, mayWrite, memory, problem, sessions };
