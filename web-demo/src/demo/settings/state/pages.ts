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
  readonly more: () => Promise<boolean>;
}

/** Reads the first page at once, and the others with `more`. */
export function usePages<Row>(read: (after: string | null) => Promise<Connection<Row>>): Pages<Row> {
  const [loaded, setLoaded] = useState<{ rows: readonly Row[]; next: string | null } | null>(null);
  const [isRefused, setRefused] = useState(false);
  const { busy, error, run } = useAction();
  const more = () => run(async () => {
    try {
      const { nodes, pageInfo } = await read(loaded?.next ?? null);
      setLoaded({ rows: [...(loaded?.rows ?? []), ...nodes], next: pageInfo.hasNextPage ? pageInfo.endCursor : null });
    } catch (refusal) {
      if (!(refusal instanceof RecallError && REFUSALS.has(refusal.code))) throw refusal;
      setRefused(true);
    }
  });
  useEffect(() => void more(), []);
  return { rows: loaded?.rows ?? null, isWhole: loaded !== null && loaded.next === null, isRefused, busy, error, more };
}
