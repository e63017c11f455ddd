// The end of a list that grows page by page: how much of it is shown, and the button for more.
import { useEffect, useRef } from "preact/hooks";
import { Trouble } from "../../parts/dialog.tsx";
import type { Pages, Search } from "../state/pages.ts";
import { strings } from "../strings.ts";

/** `search`: the button searches the rows that are not read yet. */
export function PageEnd<Row>({ pages, text, search }: { pages: Pages<Row>; text: string; search?: Search<Row> | undefined }) {
  const { rows, isWhole, busy, error, more } = pages;
  const status = useRef<HTMLParagraphElement>(null);
  const shown = useRef(0);
  useEffect(() => {
    if (rows) shown.current += 1;
    // The button that had the focus is gone.
    if (isWhole && shown.current > 1) status.current?.focus();
  }, [rows]);
  return (
    <>
      <p class="soft" role="status" tabIndex={-1} ref={status}>{text}</p>
      <Trouble text={error} />
      {!isWhole && <p><button type="button" class="plain" aria-busy={busy} onClick={() => { if (!busy) void more(search); }}>{search ? strings.pages.searchOthers : strings.pages.showMore}</button></p>}
    </>
  );
}
