// Pages of lists, in one shape for all queries.

/** One page of a list. */
export interface Page<T> {
  readonly items: T[];
  /** The cursor of the next page, for `after`. null: this is the last page. */
  readonly next: string | null;
}

/** Which part of a list to read. */
export interface PageOptions {
  /** Number of items, 1 to 100. Default: 20. */
  readonly first?: number;
  /** `next` of the previous page. */
  readonly after?: string | null;
}

export interface SharedPageOptions extends PageOptions {
  /** Reads shared memory instead of the user's own. */
  readonly shared?: boolean;
}

/** Converts a connection of the API. */
export const toPage = <T>({ nodes, pageInfo }: { nodes: T[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }): Page<T> => ({
  items: nodes,
  next: pageInfo.hasNextPage ? pageInfo.endCursor : null,
});

/** Reads a list to its end: `for await (const fact of allItems((after) => recall.facts({ first: 100, after })))`. */
export async function* allItems<T>(readPage: (after: string | null) => Promise<Page<T>>): AsyncGenerator<T, void, undefined> {
  let after: string | null = null;
  do {
    const page: Page<T> = await readPage(after);
    yield* page.items;
    after = page.next;
  } while (after !== null);
}
