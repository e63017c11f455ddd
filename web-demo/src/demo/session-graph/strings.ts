// The words of the session graph.
import { count } from "../state/format.ts";

export const strings = {
  title: "Graph of facts",
  size: (entities: number, facts: number) => `${count(entities, "entity").replace("entitys", "entities")}, ${count(facts, "fact")}`,
  node: (name: string, type: string) => `${name}, ${type}`,
  viewer: "you",
  empty: "People, places and things appear here, connected by what you say about them.",
  showAll: "Show the whole graph",
};
