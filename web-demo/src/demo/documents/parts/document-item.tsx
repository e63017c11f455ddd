// One document in the list.
import { mayWrite } from "../../state/app.ts";
import { count, day } from "../../state/format.ts";
import { documentHref } from "../../state/route.ts";
import type { DocumentRow } from "../generated/operations.ts";
import { formatBytes, kindOf, progressOf, progressText, STATUS } from "../state/format.ts";
import { deleteDocument, isUnfinished } from "../state/library.ts";
import { DeleteButton } from "./delete-button.tsx";

/** Marks of shared documents, versions and collections. */
export function Badges({ row }: { row: DocumentRow }) {
  return (
    <>
      {row.shared && <i class="badge">shared</i>}
      {row.version > 1 && row.current && <i class="badge">version {row.version}</i>}
      {!row.current && <i class="badge old">version {row.version}, replaced</i>}
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
    return <small class="failure"><b>{row.error ?? "The file could not be read."}</b> Add a corrected file with the same name, or delete it.</small>;
  }
  const progress = progressText(row);
  if (progress) {
    return <small>{progress}{row.version > 1 ? ` Searches use the version before until this one is read.` : ""}</small>;
  }
  const parts = [row.title && row.title !== row.filename ? row.title : null, row.pages ? count(row.pages, "page") : null, formatBytes(row.bytes), `added ${day(row.createdAt)}`];
  return <small>{parts.filter(Boolean).join(", ")}</small>;
}

export function DocumentItem({ row }: { row: DocumentRow }) {
  const unfinished = isUnfinished(row);
  return (
    <li class="doc" data-document={row.id} data-status={row.status}>
      <span class="kind" aria-hidden="true">{kindOf(row.filename, row.mediaType)}</span>
      <div class="doc-text">
        <a href={documentHref(row.id)}>{row.filename}</a><Badges row={row} />
        <Detail row={row} />
      </div>
      <span class="chip-status" data-status={row.status}>{STATUS[row.status]}</span>
      {mayWrite(row.shared) ? <DeleteButton name={row.filename} onDelete={() => deleteDocument(row)} /> : <span />}
      {unfinished && <ProgressBar value={progressOf(row)} label={`Progress of ${row.filename}`} isWaiting={row.total === 0} />}
    </li>
  );
}
