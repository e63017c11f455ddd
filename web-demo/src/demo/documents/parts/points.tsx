// The points of a comparison, with the passages that they cite.
import { openPassage } from "../../state/passages.ts";
import { placeLabel } from "../../state/model.ts";
import type { PointRow } from "../generated/operations.ts";
import { joinNames } from "../state/format.ts";
import { strings } from "../strings.ts";

type Citation = PointRow["citations"][number];

interface Props {
  point: PointRow;
  /** The names of the compared documents by id. */
  names: ReadonlyMap<string, string>;
  /** Called with the number of a citation before its passage opens. */
  onFollow: (index: number) => void;
}

/** "handbook.pdf, page 2", or null if the passage was deleted. */
function placeOf({ chunk, document, pages }: Citation, names: Props["names"]): string | null {
  return chunk && document ? placeLabel({ filename: names.get(document.id) ?? document.filename, pages }) : null;
}

function open({ chunk, document, excerpt }: Citation) {
  if (chunk && document) openPassage(document.id, chunk.id, excerpt);
}

/** The text with a button for each mark. Citations without a mark get one at the end. */
function PointText({ point, names, onFollow }: Props) {
  const pieces = point.text.split(/(\s*\[\d+\])/);
  const indexOf = (piece: string) => Number(/^\s*\[(\d+)\]$/.exec(piece)?.[1]);
  const unmarked = point.citations.filter(({ index }) => !pieces.some((piece) => indexOf(piece) === index));
  const mark = (citation: Citation) => (
    <button
      type="button" class="cite" data-mark={citation.index} disabled={placeOf(citation, names) === null} aria-label={strings.points.source(citation.index, placeOf(citation, names) ?? strings.points.deleted)}
      onClick={() => { onFollow(citation.index); open(citation); }}
    >{citation.index}</button>
  );
  return (
    <p class="point-text">
      {pieces.map((piece) => {
        const citation = point.citations.find(({ index }) => index === indexOf(piece));
        return citation ? mark(citation) : piece;
      })}
      {unmarked.map(mark)}
    </p>
  );
}

function Sources({ point, names, onFollow }: Props) {
  return (
    <ol class="sources" aria-label={strings.points.sources}>
      {point.citations.map((citation) => {
        const place = placeOf(citation, names);
        return (
          <li key={citation.index}>
            <button type="button" disabled={place === null} onClick={() => { onFollow(citation.index); open(citation); }}>
              <b>{citation.index}</b>
              <q>{citation.excerpt}</q>
              <cite>{place ?? strings.points.deleted}</cite>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

/** Names the documents that do not mention the point. */
function Silent({ point, names }: Pick<Props, "point" | "names">) {
  if (point.silent.length === 0) return null;
  const silent = point.silent.map(({ id, filename }) => names.get(id) ?? filename);
  return <p class="silent">{strings.points.silent(joinNames(silent), silent.length)}</p>;
}

export function Point(props: Props) {
  return (
    <>
      <PointText {...props} />
      <Silent {...props} />
      <Sources {...props} />
    </>
  );
}
