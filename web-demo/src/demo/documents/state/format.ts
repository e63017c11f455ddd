// Names of formats, states and sizes.
import type { DocumentStatus } from "@relevantic/recall";
import type { DocumentRow } from "../generated/operations.ts";
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

export const STATUS: Record<DocumentStatus, string> = { PENDING: "Waiting", PROCESSING: "Reading", COMPLETED: "Ready", FAILED: "Failed" };

/** What the server does with a document, in a sentence. null: it is done. */
export function progressText({ status, done, total, chunkCount }: Pick<DocumentRow, "status" | "done" | "total" | "chunkCount">): string | null {
  if (status === "PENDING" || (status === "PROCESSING" && total === 0)) return "Waiting for its turn to be read.";
  if (status !== "PROCESSING") return null;
  if (done < chunkCount) return `Reading: ${done} of ${count(chunkCount, "passage")}.`;
  return `Learning facts: ${done - chunkCount} of ${count(chunkCount, "passage")}. You can ask about it already.`;
}

/** The share of completed steps, 0 to 1. */
export const progressOf = ({ done, total }: Pick<DocumentRow, "done" | "total">): number => (total > 0 ? Math.min(1, done / total) : 0);
