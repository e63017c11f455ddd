// The viewer and the relations of the ontology, which the page reads when it starts.
import { computed, signal } from "@preact/signals";
import type { StartResult } from "../generated/operations.ts";
import { Memory } from "./memory.ts";

/** null: the page has not started, or the user must log in. */
export const start = signal<StartResult | null>(null);
/** Grows when something of the viewer may have changed without an event: the page came to the front, or a stream reconnected. */
export const viewerRevision = signal(0);
export const relations = computed(() => new Map(start.value?.relations.map((r) => [r.name, r])));

/** Phrases of the ontology by relation name. */
export const phrases = (): Map<string, string> => new Map(start.value?.relations.map((r) => [r.name, r.phrase]));

/** An empty memory, for pages that are opened without a session. */
export const noMemory = computed(() => new Memory(phrases()));

/** Only administrators write shared sessions. */
export const mayWrite = (shared: boolean): boolean => !shared || start.value?.viewer.role === "ADMIN";
