// A list that grows while the reader scrolls, and that follows changes without losing the place.
import { signal } from "@preact/signals";
import type { MergedPages } from "./merged-pages.ts";

/** A refresh reads at most this many pages. The rest is read again when the reader scrolls to it. */
const MAX_REFRESHED_PAGES = 20;

export class LiveList<Row extends { id: string }> {
  readonly rows = signal<readonly Row[]>([]);
  /** Length of the whole list on the server. null: unknown. */
  readonly total = signal<number | null>(null);
  readonly phase = signal<"loading" | "ready" | "failed">("loading");
  /** Why the list, or the rest of it, could not be read. */
  readonly failure = signal<unknown>(null);
  readonly #open: () => MergedPages<Row>;
  readonly #versionOf: ((row: Row) => string) | null;
  readonly #onError: (error: unknown) => void;
  #pages: MergedPages<Row>;
  /** Ids of the rows. A row may move to another page between two requests. */
  #ids = new Set<string>();
  /** Requests run one after another. */
  #queue: Promise<void> = Promise.resolve();
  #growing = false;
  #refreshing = false;

  /**
   * `open` starts at the first row. `versionOf` differs if two states of a row look different.
   * null: changed rows do not move to the front, so a refresh reads all pages again.
   */
  constructor(open: () => MergedPages<Row>, versionOf: ((row: Row) => string) | null, onError: (error: unknown) => void) {
    this.#open = open;
    this.#versionOf = versionOf;
    this.#onError = onError;
    this.#pages = open();
  }

  get complete(): boolean {
    return this.phase.value === "ready" && this.#pages.finished;
  }

  /** Reads the next page. */
  more(): Promise<void> {
    if (this.#growing || this.complete) return this.#queue;
    this.#growing = true;
    return this.#enqueue(async () => {
      this.#growing = false;
      const next = await this.#pages.read();
      const added = next.filter((row) => !this.#ids.has(row.id));
      for (const row of added) this.#ids.add(row.id);
      this.#show([...this.rows.value, ...added]);
    });
  }

  /** Reads what changed since the rows were read. Keeps the rows that did not. */
  refresh(): Promise<void> {
    if (this.#refreshing) return this.#queue;
    this.#refreshing = true;
    return this.#enqueue(async () => {
      this.#refreshing = false;
      const pages = this.#open();
      const old = this.rows.value;
      const fresh: Row[] = [];
      for (let read = 0; read < MAX_REFRESHED_PAGES; read += 1) {
        const next = await pages.read();
        fresh.push(...next);
        if (this.#continues(fresh, old, pages.total)) {
          const ids = new Set(fresh.map((row) => row.id));
          return this.#replace([...fresh, ...old.filter((row) => !ids.has(row.id))], pages.total);
        }
        if (pages.finished || fresh.length >= old.length || next.length === 0) break;
      }
      this.#pages = pages;
      this.#replace(fresh, pages.total);
    });
  }

  /** Whether the old rows follow on the fresh ones: the last fresh row did not change, and only new rows change the total. */
  #continues(fresh: readonly Row[], old: readonly Row[], total: number | null): boolean {
    const last = fresh.at(-1);
    const before = this.total.value;
    const versionOf = this.#versionOf;
    if (!versionOf || !last || total === null || before === null) return false;
    const versions = new Map(old.map((row) => [row.id, versionOf(row)]));
    const added = fresh.filter((row) => !versions.has(row.id)).length;
    return versions.get(last.id) === versionOf(last) && before + added === total;
  }

  #replace(rows: readonly Row[], total: number | null) {
    this.#ids = new Set(rows.map((row) => row.id));
    this.#show(rows);
    this.total.value = total;
  }

  #show(rows: readonly Row[]) {
    this.rows.value = rows;
    if (this.phase.value !== "ready") this.total.value = this.#pages.total;
    this.phase.value = "ready";
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(work).catch((error: unknown) => {
      this.#onError(error);
      this.failure.value = error;
      this.phase.value = "failed";
    });
    return this.#queue;
  }
}
