// The state of the graph: what is expanded and selected, and the facts that were loaded for it.
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import type { MemoryEvent } from "@relevantic/recall";
import type { Reader } from "../../common/state/fact-lists.ts";
import type { Filters } from "../../common/state/place.ts";
import { isNotKept, read } from "../../state/offline.ts";
import { reportProblem } from "../../state/problem.ts";
import { GraphCentre, GraphStart, type GraphThing } from "../generated/operations.ts";
import { allFacts, factsOf, type FactRows } from "./lists.ts";
import { countThings, mergeEverything, mergeNeighbourhoods, noNetwork, type Network } from "./network.ts";
import type { GraphAddress } from "./place.ts";

/** "Show everything" shows at most this many things, and reads at most this many facts. */
export const MAX_THINGS = 2000;
const MAX_FACTS = 6000;
/** Neighbours that a thing shows at first, and that "Show more" adds. */
const NEIGHBOURS = 60;
/** Most believed facts of a thing that are read before the heaviest neighbours are chosen: weight fades with time, and one neighbour may have many facts. */
const FACTS_TO_CHOOSE_FROM = 300;

/** Reads on until `enough`, the end or a failure. */
async function readUntil(list: FactRows, enough: () => boolean): Promise<void> {
  while (list.phase.value === "loading" || (list.phase.value === "ready" && !list.complete && !enough())) await list.more();
}

/** Reads the facts of a thing. The graph shows the heaviest. */
async function readNeighbourhood(list: FactRows | undefined): Promise<void> {
  if (list) await readUntil(list, () => list.rows.value.length >= FACTS_TO_CHOOSE_FROM);
}

/** What the lists were opened for. */
interface Source {
  readonly filters: Filters;
  readonly reader: Reader;
}

export interface EverythingState {
  /** Things and facts that were read. */
  readonly things: number;
  readonly facts: number;
  /** Facts that match. null: unknown. */
  readonly total: number | null;
  readonly complete: boolean;
}

export class GraphStore {
  /** The thing in the middle. null: not loaded, or nothing is known. */
  readonly centre = signal<GraphThing | null>(null);
  readonly phase = signal<"loading" | "ready" | "missing" | "failed">("loading");
  readonly selected = signal<string | null>(null);
  readonly expanded = signal<ReadonlySet<string>>(new Set());
  /** Whether all facts are shown, instead of the neighbourhood. */
  readonly showsAll = signal(false);
  readonly network: ReadonlySignal<Network> = computed(() => this.#merge());
  /** null: only a neighbourhood is shown. */
  readonly everything: ReadonlySignal<EverythingState | null> = computed(() => this.#describeEverything());
  readonly #lists = signal<ReadonlyMap<string, FactRows>>(new Map());
  readonly #all = signal<FactRows | null>(null);
  /** All facts are being read. They are shown at the end, so that the graph moves once. */
  readonly readingAll = signal(false);
  readonly #limits = signal<ReadonlyMap<string, number>>(new Map());
  #source: Source | null = null;
  /** A later call of `open` makes earlier ones stale. */
  #opening = 0;
  #isOpening = false;
  /** Events since `open` began. What it reads may be older. */
  readonly #missed: Array<MemoryEvent | null> = [];

  /** Opens an address. The previous graph stays until the facts of the new one are there. */
  async open(address: GraphAddress, reader: Reader): Promise<void> {
    const opening = ++this.#opening;
    this.#isOpening = true;
    try {
      const centre = address.centre !== null && address.centre === this.centre.value?.id ? this.centre.value : await loadCentre(address.centre);
      if (opening !== this.#opening) return;
      if (centre) await this.#openAround(centre, { filters: address.filters, reader }, opening);
      else batch(() => { this.phase.value = "missing"; this.centre.value = null; });
    } catch (error) {
      if (!isNotKept(error)) reportProblem(error);
      if (opening === this.#opening) this.phase.value = "failed";
    }
    if (opening !== this.#opening) return;
    this.#isOpening = false;
    void this.refresh(this.#missed.splice(0));
  }

  async #openAround(centre: GraphThing, source: Source, opening: number) {
    const sameFacts = JSON.stringify(source) === JSON.stringify(this.#source);
    const moved = centre.id !== this.centre.value?.id;
    const expanded = new Set([...(moved ? [] : this.expanded.value), centre.id]);
    const selected = this.selected.value;
    const shown = new Set(selected ? [...expanded, selected] : expanded);
    const lists = new Map(sameFacts ? [...this.#lists.value].filter(([id]) => shown.has(id)) : []);
    const missing = [...shown].filter((id) => !lists.has(id));
    for (const id of missing) lists.set(id, factsOf(id, source.filters, source.reader));
    await Promise.all(missing.map((id) => readNeighbourhood(lists.get(id))));
    if (opening !== this.#opening) return;
    if (lists.get(centre.id)?.phase.value === "failed") {
      this.phase.value = "failed";
      return;
    }
    batch(() => {
      // Another centre means its neighbourhood.
      if (moved && this.centre.value) void this.showAll(false);
      this.#source = source;
      this.#lists.value = lists;
      this.centre.value = centre;
      this.expanded.value = expanded;
      this.phase.value = "ready";
    });
    if (this.showsAll.value && !sameFacts) void this.showAll(true);
  }

  /** The loaded facts of a thing. null: not loaded yet. */
  factsOf(id: string): FactRows | null {
    return this.#lists.value.get(id) ?? null;
  }

  select(id: string | null): void {
    this.selected.value = id;
    if (id) void this.#load(id);
  }

  async toggle(id: string): Promise<void> {
    if (this.expanded.value.has(id)) {
      if (this.canToggle(id)) this.expanded.value = new Set([...this.expanded.value].filter((each) => each !== id));
      return;
    }
    await this.#load(id);
    this.expanded.value = new Set([...this.expanded.value, id]);
  }

  /** Whether a thing can be collapsed. The centre of a neighbourhood cannot. */
  canToggle(id: string): boolean {
    return id !== this.centre.value?.id || this.showsAll.value;
  }

  /** Shows more neighbours of an expanded thing, and reads more facts if needed. */
  async showMore(id: string): Promise<void> {
    const limit = this.#limitOf(id) + NEIGHBOURS;
    const list = this.#lists.value.get(id);
    if (list && !list.complete) await readUntil(list, () => countThings(list.rows.value) > limit);
    this.#limits.value = new Map(this.#limits.value).set(id, limit);
  }

  /** Whether the server has facts of a thing that were not read. */
  hasUnread(id: string): boolean {
    const list = this.#lists.value.get(id);
    return list !== undefined && list.phase.value === "ready" && !list.complete;
  }

  /** Shows all facts, or the neighbourhood again. */
  async showAll(all: boolean): Promise<void> {
    this.showsAll.value = all;
    if (!all || !this.#source) {
      batch(() => {
        this.#all.value = null;
        this.readingAll.value = false;
        const centre = this.centre.value;
        // It can be collapsed while everything is shown.
        if (centre) this.expanded.value = new Set([...this.expanded.value, centre.id]);
      });
      return;
    }
    const { filters, reader } = this.#source;
    const list = allFacts(filters, reader);
    batch(() => {
      this.readingAll.value = true;
      this.#all.value = list;
    });
    await this.#readAll(list);
    if (this.#all.value !== list) return;
    this.readingAll.value = false;
    // What changed meanwhile.
    await this.#refreshAll(list);
  }

  #readAll(list: FactRows): Promise<void> {
    return readUntil(list, () => this.#all.value !== list || list.rows.value.length >= MAX_FACTS || countThings(list.rows.value) >= MAX_THINGS);
  }

  /** A refresh keeps only so many pages of a long list. */
  async #refreshAll(list: FactRows): Promise<void> {
    await list.refresh();
    await this.#readAll(list);
  }

  /** Reads what changed. Only lists of things that the events name are read again, if the events name them all. */
  async refresh(events: ReadonlyArray<MemoryEvent | null>): Promise<void> {
    if (this.#isOpening) {
      this.#missed.push(...events);
      return;
    }
    const touched = touchedThings(events);
    if (touched?.size === 0) return;
    const lists = [...this.#lists.value].filter(([id]) => !touched || touched.has(id)).map(([, list]) => list.refresh());
    const all = this.readingAll.value ? null : this.#all.value;
    await Promise.all(all ? [...lists, this.#refreshAll(all)] : lists);
    await this.#refreshCentre();
  }

  async #refreshCentre() {
    const { value } = this.centre;
    if (!value) return;
    const now = await loadCentre(value.id).catch(() => value);
    if (now && this.centre.value?.id === now.id && JSON.stringify(now) !== JSON.stringify(value)) this.centre.value = now;
  }

  async #load(id: string) {
    const known = this.#lists.value.get(id);
    if (!this.#source || (known && known.phase.value !== "failed")) return;
    const { filters, reader } = this.#source;
    const list = factsOf(id, filters, reader);
    this.#lists.value = new Map(this.#lists.value).set(id, list);
    await readNeighbourhood(list);
  }

  #limitOf(id: string) {
    return this.#limits.value.get(id) ?? NEIGHBOURS;
  }

  #merge(): Network {
    const centre = this.centre.value;
    const all = this.showsAll.value && !this.readingAll.value ? this.#all.value : null;
    if (all) return mergeEverything(centre, all.rows.value, MAX_THINGS);
    if (!centre) return noNetwork;
    const lists = this.#lists.value;
    return mergeNeighbourhoods({ centre, expanded: this.expanded.value, factsOf: (id) => lists.get(id)?.rows.value ?? [], limitOf: (id) => this.#limitOf(id) });
  }

  #describeEverything(): EverythingState | null {
    const list = this.#all.value;
    if (!list) return null;
    const { length } = list.rows.value;
    // The phase changes with the last page.
    void list.phase.value;
    return { things: countThings(list.rows.value), facts: length, total: list.total.value, complete: list.complete };
  }
}

/** The thing in the middle: the given one, the viewer's own, or else what is mentioned most. */
async function loadCentre(id: string | null): Promise<GraphThing | null> {
  if (id) return (await read(GraphCentre, { id })).entity;
  const { viewer, entities } = await read(GraphStart, {});
  return viewer.entity ?? entities.nodes[0] ?? null;
}

/** Things that the events are about. null: any. */
function touchedThings(events: ReadonlyArray<MemoryEvent | null>): Set<string> | null {
  const touched = new Set<string>();
  for (const event of events) {
    if (event?.type === "fact_update") {
      touched.add(event.entity_id);
      if (event.target_id) touched.add(event.target_id);
    } else if (event?.type === "entity_update" && (event.change === "added" || event.change === "mentioned")) {
      touched.add(event.entity_id);
    } else if (!event || !HARMLESS.has(event.type)) {
      return null;
    }
  }
  return touched;
}

/** Events that change no fact. */
const HARMLESS: ReadonlySet<MemoryEvent["type"]> = new Set<MemoryEvent["type"]>(["message_stored", "message_processed", "message_failed", "answer_completed", "answer_failed", "session_update", "viewer_update", "comparison_update"]);
