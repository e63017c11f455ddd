// An entity with what is known of it.
import { ThingStory, type KnownFact, type ThingStoryResult } from "../generated/operations.ts";
import { client, read } from "./context.ts";

export type LoadedThing = NonNullable<ThingStoryResult["entity"]>;
export const factsOf = (thing: LoadedThing): KnownFact[] => [...thing.facts.nodes, ...thing.notes.nodes];
export const factCount = (thing: LoadedThing): number => (thing.facts.totalCount ?? 0) + (thing.notes.totalCount ?? 0);
export const loadThing = async (id: string): Promise<LoadedThing | null> => (await read(ThingStory, { id })).entity;

/** An entity that has a name already, as its own or as another one. */
export type Namesake = Awaited<ReturnType<typeof client.entities>>["items"][number];

const areAlike = (a: string, b: string) => a.localeCompare(b, undefined, { sensitivity: "accent" }) === 0;

/** Finds another entity of the same memory that is called `name`. */
export async function findNamesake({ id, shared }: Pick<LoadedThing, "id" | "shared">, name: string): Promise<Namesake | null> {
  const { items } = await client.entities({ filter: { text: name }, first: 100, shared });
  const others = items.filter((one) => one.id !== id && one.shared === shared);
  return others.find((one) => areAlike(one.name, name)) ?? others.find((one) => one.aliases.some((alias) => areAlike(alias, name))) ?? null;
}
