// The words of the graph.
import { manyOf } from "../common/state/words.ts";

export const strings = {
  pageTitle: "Graph, Recall",
  title: "Graph",
  details: "Details",
  list: "List of the graph",
  tryAgain: "Try again",
  expand: "Expand",
  collapse: "Collapse",

  head: { showEverything: "Show everything", list: "List", saveAsImage: "Save as image…" },

  find: "Find a person or thing",
  containing: (text: string) => `containing ${text}`,
  removeContaining: (text: string) => `Remove the filter: containing ${text}`,

  canvas: {
    role: "graph",
    label: (things: number) => `Graph of ${things.toLocaleString()} things`,
    keys: "Arrows move between neighbours, Enter expands or collapses, plus and minus zoom, Escape deselects. The list next to it says the same in words.",
    zoom: "Zoom",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    showAll: "Show the whole graph",
  },

  thing: {
    viewer: "You",
    mentioned: (times: number, isShared: boolean) => `mentioned ${manyOf(times, "time")}${isShared ? ", shared memory" : ""}`,
    centreHere: "Centre here",
    showMore: (hidden: number) => `Show more${hidden > 0 ? ` (${hidden.toLocaleString()})` : ""}`,
    openInMemory: "Open in Memory",
    facts: "Facts",
    loading: "Loading…",
    failed: "They could not be read.",
    noFacts: "No facts match.",
    allFacts: (total: number) => (total > 1 ? `All ${total.toLocaleString()} facts in Memory` : "In Memory"),
    allNotes: (total: number) => `All ${total.toLocaleString()} notes in Memory`,
  },

  notice: {
    failed: "The graph could not be read.",
    missing: "Nothing is known here yet. Tell Recall something in the chat, and it appears in the graph.",
    noFacts: (isFiltered: boolean) => `No facts connect it with anything${isFiltered ? ", or the filters hide them" : ""}.`,
  },

  outline: {
    label: "Things and their neighbours",
    facts: (first: string, status: string | null, more: number) => `${first}${status === null ? "" : ` (${status})`}${more > 0 ? `, and ${more} more` : ""}`,
    toggle: (isExpanded: boolean, name: string) => `${isExpanded ? "Collapse" : "Expand"} ${name}`,
    isCentre: "the centre",
    repeated: ", neighbours listed elsewhere",
    centre: "Centre",
    centreOn: (name: string) => `Centre on ${name}`,
  },

  save: {
    title: "Save as image",
    shows: "The image shows what the graph shows now.",
    png: "a picture, for messages and documents",
    svg: "a drawing, for print and for changes",
    failed: "The browser made no image.",
  },

  summary: {
    reading: "Reading everything…",
    size: (things: number, facts: number) => `${manyOf(things, "thing")}, ${manyOf(facts, "fact")}`,
    /** After the size. null: an unknown number. */
    olderLeftOut: (facts: number | null) => (facts === null ? "; more facts are left out" : `; ${manyOf(facts, "older fact")} left out`),
    thingsLeftOut: (things: number) => `; ${manyOf(things, "thing")} left out`,
    around: (name: string, hidden: number) => ` around ${name}${hidden > 0 ? `; ${manyOf(hidden, "neighbour")} with less weight not shown` : ""}`,
    offline: (time: string) => `Offline, as known at ${time}.`,
    past: (day: string) => `The memory of ${day}.`,
    backToToday: "Back to today",
    facts: (facts: number) => manyOf(facts, "fact"),
    selected: (name: string, neighbours: number, isExpanded: boolean) => `${name}, ${manyOf(neighbours, "neighbour")}${isExpanded ? ", expanded" : ""}`,
  },
};
