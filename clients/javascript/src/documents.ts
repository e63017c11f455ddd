// Documents: their types, and how a file is sent.
import type { ChunkFields, ComparisonFields, DocumentFields, ReportFields } from "./generated/operations.ts";
import type { Endpoint } from "./graphql.ts";
import { request } from "./rest.ts";

/** A document that was added. */
export type AddedDocument = DocumentFields & {
  /** The collection has the same content already. Nothing was stored, and this is the known document. */
  duplicate: boolean;
};
/** A piece of a document that is found and cited as one. */
export type DocumentChunk = ChunkFields;
/** A comparison of documents, without its points. */
export type DocumentComparison = ComparisonFields;
/** A comparison of documents with the points found so far. */
export type ComparisonReport = ReportFields;

export interface UploadOptions {
  /** The name of the file. Default: that of a `File`. */
  readonly filename?: string;
  /** The collection: letters, digits, hyphens and underscores. Default: `default`. */
  readonly collection?: string;
  /** Where you keep the file. The same path with another file makes a new version. */
  readonly path?: string;
  /** Adds it to shared memory. Requires the role `ADMIN`. */
  readonly shared?: boolean;
  readonly signal?: AbortSignal;
}

interface UploadResponse {
  readonly id: string;
  readonly duplicate_of?: string;
}

/** Sends a file. Returns the id of its document, and whether that was known before. */
export async function upload(endpoint: Endpoint, file: Blob, { filename, collection, path, shared, signal }: UploadOptions): Promise<{ id: string; duplicate: boolean }> {
  const body = new FormData();
  if (collection) body.append("collection", collection);
  if (path) body.append("path", path);
  if (shared) body.append("shared", "true");
  const name = filename ?? (file as Partial<File>).name;
  if (name) body.append("file", file, name);
  else body.append("file", file);
  const response = await request(endpoint, "/documents", { method: "POST", body, signal });
  const { id, duplicate_of } = (await response.json()) as UploadResponse;
  return { id, duplicate: duplicate_of !== undefined };
}
