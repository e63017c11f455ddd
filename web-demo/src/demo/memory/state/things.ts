// An entity with what is known of it.
import { ThingStory, type KnownFact, type ThingStoryResult } from "../generated/operations.ts";
import { read } from "./context.ts";

export type LoadedThing = NonNullable<ThingStoryResult["entity"]>;
export const factsOf = (thing: LoadedThing): KnownFact[] => [...thing.facts.nodes, ...thing.notes.nodes];
export const factCount = (thing: LoadedThing): number => (thing.facts.totalCount ?? 0) + (thing.notes.totalCount ?? 0);
export const loadThing = async (id: string): Promise<LoadedThing | null> => (await read(ThingStory, { id })).entity;
