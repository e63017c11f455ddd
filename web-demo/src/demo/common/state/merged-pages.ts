// Reads several lists of the server as one. Each list has the same order, so the pages merge without reading a list to its end.

export interface CountedPage<Row> {
  readonly rows: readonly Row[];
  /** Cursor of the next page. null: this is the last one. */
  readonly next: string | null;
  /** Length of the whole list, with the first page. null: unknown. */
  readonly total: number | null;
}

export type ReadPage<Row> = (after: string | null) => Promise<CountedPage<Row>>;

/** One list, with the rows that were read but not yet merged. */
class Source<Row> {
  waiting: Row[] = [];
  exhausted = false;
  total: number | null = null;
  readonly #read: ReadPage<Row>;
  #next: string | null = null;

  constructor(read: ReadPage<Row>) {
    this.#read = read;
  }

  async fill(): Promise<void> {
    if (this.waiting.length > 0 || this.exhausted) return;
    const page = await this.#read(this.#next);
    this.waiting = [...page.rows];
    this.#next = page.next;
    this.exhausted = page.next === null;
    this.total ??= page.total;
  }
}

export class MergedPages<Row> {
  readonly #sources: ReadonlyArray<Source<Row>>;
  readonly #isBefore: (a: Row, b: Row) => boolean;

  constructor(lists: ReadonlyArray<ReadPage<Row>>, isBefore: (a: Row, b: Row) => boolean) {
    this.#sources = lists.map((read) => new Source(read));
    this.#isBefore = isBefore;
  }

  /** Number of rows of all lists. null: unknown. */
  get total(): number | null {
    return this.#sources.reduce<number | null>((sum, { total }) => (sum === null || total === null ? null : sum + total), 0);
  }

  get finished(): boolean {
    return this.#sources.every((source) => source.exhausted && source.waiting.length === 0);
  }

  /** Returns the next rows. Stops where a list needs its next page. No rows: all lists are finished, or a page was empty. */
  async read(): Promise<Row[]> {
    await Promise.all(this.#sources.map((source) => source.fill()));
    const merged: Row[] = [];
    while (this.#sources.every((source) => source.exhausted || source.waiting.length > 0)) {
      const first = this.#first();
      if (!first) break;
      const row = first.waiting.shift();
      if (row !== undefined) merged.push(row);
    }
    return merged;
  }

  /** The source whose next row comes first. */
  #first(): Source<Row> | undefined {
    return this.#sources.reduce<Source<Row> | undefined>((best, source) => {
      const [row, other] = [source.waiting[0], best?.waiting[0]];
      if (row === undefined) return best;
      return other === undefined || this.#isBefore(row, other) ? source : best;
    }, undefined);
  }
}
