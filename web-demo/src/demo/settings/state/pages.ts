// Lists of the settings that grow page by page.
import { RecallError } from "@relevantic/recall";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../../state/action.ts";

/** The server refuses a list to a token without the scope, and lists of all users to users who are not administrators. */
const REFUSALS = new Set(["INSUFFICIENT_SCOPE", "FORBIDDEN"]);

interface Connection<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export interface Pages<Row> {
  /** null: not loaded yet. */
  readonly rows: readonly Row[] | null;
  /** There are no further pages. */
  readonly isWhole: boolean;
  readonly isRefused: boolean;
  readonly busy: boolean;
  readonly error: string | null;
  /** Reads the next page. With a search, reads until a row is found, at most so many pages that the server stays quick. */
  readonly more: (search?: Search<Row>) => Promise<boolean>;
}

export interface Search<Row> {
  readonly fits: (row: Row) => boolean;
}

/** Rows of a page that people read, and of one that is only searched. */
const SHOWN_AT_ONCE = 20;
const SEARCHED_AT_ONCE = 100;
const MOST_PAGES_SEARCHED = 10;

/** Reads the first page at once, and the others with `more`. `first`: how many rows a page should have. */
export function usePages<Row>(read: (after: string | null, first: number) => Promise<Connection<Row>>): Pages<Row> {
  const [loaded, setLoaded] = useState<{ rows: readonly Row[]; next: string | null } | null>(null);
  const [isRefused, setRefused] = useState(false);
  const { busy, error, run } = useAction();
  const more = (search?: Search<Row>) => run(async () => {
    try {
      let [rows, next, pages]: [readonly Row[], string | null, number] = [loaded?.rows ?? [], loaded?.next ?? null, 0];
      for (let found = false; !found && (pages === 0 || next !== null) && pages < (search ? MOST_PAGES_SEARCHED : 1); pages += 1) {
        const { nodes, pageInfo }: Connection<Row> = await read(next, search ? SEARCHED_AT_ONCE : SHOWN_AT_ONCE);
        [rows, next] = [[...rows, ...nodes], pageInfo.hasNextPage ? pageInfo.endCursor : null];
        setLoaded({ rows, next });
        found = search !== undefined && nodes.some(search.fits);
      }
    } catch (refusal) {
      if (!(refusal instanceof RecallError && REFUSALS.has(refusal.code))) throw refusal;
      setRefused(true);
    }
  });
  useEffect(() => void more(), []);
  return { rows: loaded?.rows ?? null, isWhole: loaded !== null && loaded.next === null, isRefused, busy, error, more };
}
