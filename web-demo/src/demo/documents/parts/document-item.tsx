// One document in the list.
import { count, day } from "../../state/format.ts";
import { documentHref } from "../../state/route.ts";
import { mayWrite } from "../../state/viewer.ts";
import type { DocumentRow } from "../generated/operations.ts";
import { chosen, isChosen, MAX_COMPARED, toggleChoice } from "../state/choice.ts";
import { refreshComparisons } from "../state/comparisons.ts";
import { adviceFor, formatBytes, isSearchable, kindOf, progressOf, progressText, STATUS } from "../state/format.ts";
import { deleteDocument, isUnfinished } from "../state/library.ts";
import { DeleteButton } from "./delete-button.tsx";
import { strings } from "../strings.ts";

/** Marks of shared documents, versions and collections. */
export function Badges({ row }: { row: DocumentRow }) {
  return (
    <>
      {row.shared && <i class="badge">{strings.shared}</i>}
      {row.version > 1 && row.current && <i class="badge">{strings.item.version(row.version)}</i>}
      {!row.current && <i class="badge old">{strings.item.replaced(row.version)}</i>}
      {row.collection !== "default" && <i class="badge">{row.collection}</i>}
    </>
  );
}

export function ProgressBar({ value, label, isWaiting = false }: { value: number; label: string; isWaiting?: boolean }) {
  const percent = Math.round(value * 100);
  return (
    <span class="steps" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} data-waiting={isWaiting || undefined}>
      <i style={{ width: `${percent}%` }} />
    </span>
  );
}

/** Says what the server does, why it failed, or what the document is. */
function Detail({ row }: { row: DocumentRow }) {
  if (row.status === "FAILED") {
    return <small class="failure"><b>{row.error ?? strings.item.failed}</b> {adviceFor(row.error)}</small>;
  }
  const progress = progressText(row);
  if (progress) {
    return <small>{progress}{row.version > 1 ? strings.item.searchesOld : ""}</small>;
  }
  const parts = [row.title && row.title !== row.filename ? row.title : null, row.pages ? count(row.pages, "page") : null, formatBytes(row.bytes), strings.item.added(day(row.createdAt))];
  return <small>{parts.filter(Boolean).join(", ")}</small>;
}

/** A check box in the place of the format, and the name as its label. */
function Choice({ row }: { row: DocumentRow }) {
  const isFull = (chosen.value?.length ?? 0) >= MAX_COMPARED && !isChosen(row.id);
  const reason = !isSearchable(row) ? strings.item.notRead : isFull ? strings.item.enough(MAX_COMPARED) : null;
  return (
    <>
      <span class="kind choice">
        <input id={`choose-${row.id}`} type="checkbox" checked={isChosen(row.id)} disabled={reason !== null} onChange={() => toggleChoice(row)} />
      </span>
      <div class="doc-text">
        <label for={`choose-${row.id}`}>{row.filename}{reason && <span class="unseen">{strings.item.reason(reason)}</span>}</label><Badges row={row} />
        <Detail row={row} />
      </div>
    </>
  );
}

function Entry({ row }: { row: DocumentRow }) {
  return (
    <>
      <span class="kind" aria-hidden="true">{kindOf(row.filename, row.mediaType)}</span>
      <div class="doc-text">
        <a href={documentHref(row.id)}>{row.filename}</a><Badges row={row} />
        <Detail row={row} />
      </div>
    </>
  );
}

export function DocumentItem({ row }: { row: DocumentRow }) {
  const unfinished = isUnfinished(row);
  const choosing = chosen.value !== null;
  return (
    <li class="doc" data-document={row.id} data-status={row.status}>
      {choosing ? <Choice row={row} /> : <Entry row={row} />}
      <span class="chip-status" data-status={row.status}>{STATUS[row.status]}</span>
      {mayWrite(row.shared) && !choosing ? <DeleteButton name={row.filename} onDelete={() => deleteDocument(row).then(refreshComparisons)} /> : <span />}
      {unfinished && <ProgressBar value={progressOf(row)} label={strings.progressOf(row.filename)} isWaiting={row.total === 0} />}
    </li>
  );
}
