// Documents and comparisons that another tab, device or program adds, changes or deletes.
import { onMemoryEvent } from "../../state/changes.ts";
import { refreshComparisons } from "./comparisons.ts";
import { findRow, refresh } from "./library.ts";

const SETTLE_MS = 300;

/** Loads the lists again after such changes, until the returned function is called. */
export function watchChanges(): () => void {
  let settle: ReturnType<typeof setTimeout> | undefined;
  const changed = { documents: false, comparisons: false };
  const load = () => {
    if (changed.documents) void refresh(true);
    if (changed.comparisons) void refreshComparisons();
    changed.documents = changed.comparisons = false;
  };
  const stop = onMemoryEvent((event) => {
    // The library follows the documents that it shows.
    const isDocument = event?.type === "document_update" && findRow(event.document_id) === undefined;
    const isComparison = event?.type === "comparison_update";
    const isGone = event === null || event.type === "session_deleted";
    if (!isDocument && !isComparison && !isGone) return;
    changed.documents ||= isDocument || isGone;
    changed.comparisons ||= isComparison || isGone;
    clearTimeout(settle);
    settle = setTimeout(load, SETTLE_MS);
  });
  return () => {
    stop();
    clearTimeout(settle);
  };
}
