// The list of comparisons, latest first.
import { useEffect } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { day } from "../../state/format.ts";
import { comparisonHref } from "../../state/route.ts";
import type { ComparisonRow } from "../generated/operations.ts";
import { comparisons, comparisonsError, deleteComparison, refreshComparisons, showMoreComparisons, watchComparisons } from "../state/comparisons.ts";
import { COMPARISON_STATUS, joinNames, namesOf, progressOf, titleOf } from "../state/format.ts";
import { isUnfinished } from "../state/library.ts";
import { useReadingOnReturn } from "../state/return.ts";
import { DeleteButton } from "./delete-button.tsx";
import { ProgressBar } from "./document-item.tsx";
import { strings } from "../strings.ts";

function Item({ row }: { row: ComparisonRow }) {
  const title = titleOf(row);
  const names = joinNames([...namesOf(row.documents).values()]);
  return (
    <li class="doc comparison" data-comparison={row.id} data-status={row.status}>
      <span class="kind" aria-hidden="true"><Icon name="compare" /></span>
      <div class="doc-text">
        <a href={comparisonHref(row.id)}>{title}</a>
        {row.status === "FAILED" ? <small class="failure"><b>{row.error ?? strings.comparisons.failed}</b></small>
          : <small>{row.question ? `${names}, ` : ""}{day(row.createdAt)}</small>}
      </div>
      <span class="chip-status" data-status={row.status}>{COMPARISON_STATUS[row.status]}</span>
      <DeleteButton name={title} effect={strings.comparisons.deletion} onDelete={() => deleteComparison(row.id)} />
      {isUnfinished(row) && <ProgressBar value={progressOf(row)} label={strings.progressOf(title)} isWaiting={row.total === 0} />}
    </li>
  );
}

export function ComparisonsList() {
  useEffect(watchComparisons, []);
  useReadingOnReturn(() => void refreshComparisons());
  const { rows, next } = comparisons.value;
  const error = comparisonsError.value;
  if (rows.length === 0 && !error) return null;
  return (
    <section aria-label={strings.comparisons.title}>
      <h2>{strings.comparisons.title}</h2>
      {error && <p class="trouble" role="alert">{error} <button type="button" onClick={() => void refreshComparisons()}>{strings.tryAgain}</button></p>}
      <ul class="doc-list">{rows.map((row) => <Item key={row.id} row={row} />)}</ul>
      {next && <button type="button" class="earlier" onClick={() => void showMoreComparisons()}>{strings.comparisons.more}</button>}
    </section>
  );
}
