// Names of formats, states and sizes.
import type { DocumentStatus } from "@relevantic/recall";
import type { ComparedRow, ComparisonRow, DocumentRow } from "../generated/operations.ts";
import { count } from "../../state/format.ts";

const KINDS: Record<string, string> = {
  "application/pdf": "PDF", "text/html": "HTML", "text/markdown": "MD", "text/plain": "TXT",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
};

/** "PDF". Before the server has looked at the content, the ending of the name. */
export function kindOf(filename: string, mediaType: string | null): string {
  const ending = /\.([a-z0-9]{1,4})$/i.exec(filename)?.[1]?.toUpperCase();
  return (mediaType && KINDS[mediaType]) ?? ending ?? "FILE";
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return count(bytes, "byte");
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** What to do with a file that could not be read. The server sends the reason as a sentence only. */
export function adviceFor(error: string | null): string {
  if (error?.includes("not supported")) return "Add its content in one of these formats, and delete this file.";
  return error?.includes("encrypted") ? "With the same name, it then replaces this one." : "Add a corrected file with the same name, or delete it.";
}

export const STATUS: Record<DocumentStatus, string> = { PENDING: "Waiting", PROCESSING: "Reading", COMPLETED: "Ready", FAILED: "Failed" };
export const COMPARISON_STATUS: Record<ComparisonRow["status"], string> = { ...STATUS, PROCESSING: "Comparing" };

/** Whether all passages are stored, so that the document can be compared. */
export const isSearchable = ({ status, done, chunkCount }: Pick<DocumentRow, "status" | "done" | "chunkCount">): boolean =>
  status === "COMPLETED" || (status === "PROCESSING" && chunkCount > 0 && done >= chunkCount);

/** What the server does with a document, in a sentence. null: it is done. */
export function progressText({ status, done, total, chunkCount }: Pick<DocumentRow, "status" | "done" | "total" | "chunkCount">): string | null {
  if (status === "PENDING" || (status === "PROCESSING" && total === 0)) return "Waiting for its turn to be read.";
  if (status !== "PROCESSING") return null;
  if (done < chunkCount) return `Reading: ${done} of ${count(chunkCount, "passage")}.`;
  return `Learning facts: ${done - chunkCount} of ${count(chunkCount, "passage")}. You can ask about it already.`;
}

/** What the server does with a comparison, in a sentence. null: it is done. */
export function comparingText({ status, done, total }: Pick<ComparisonRow, "status" | "done" | "total">): string | null {
  if (status === "PENDING" || (status === "PROCESSING" && total === 0)) return "Waiting for its turn.";
  return status === "PROCESSING" ? `Comparing: ${done} of ${count(total, "step")}.` : null;
}

/** The names of compared documents by id. Equal names get the version or, if that is equal too, the collection. */
export function namesOf(documents: readonly ComparedRow[]): Map<string, string> {
  return new Map(documents.map((row) => {
    const others = documents.filter((other) => other.id !== row.id && other.filename === row.filename);
    if (others.length === 0) return [row.id, row.filename];
    const isVersion = others.every((other) => other.version !== row.version);
    return [row.id, `${row.filename} (${isVersion ? `version ${row.version}` : row.collection})`];
  }));
}

/** The question, or what was compared without one. */
export const titleOf = ({ question, documents }: Pick<ComparisonRow, "question" | "documents">): string =>
  question ?? `Comparison of ${joinNames([...namesOf(documents).values()])}`;

/** "a, b and c". */
export const joinNames = (names: readonly string[]): string => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

/** The share of completed steps, 0 to 1. */
export const progressOf = ({ done, total }: Pick<DocumentRow, "done" | "total">): number => (total > 0 ? Math.min(1, done / total) : 0);
