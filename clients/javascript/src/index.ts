// Public names of @relevantic/recall.
export type { Account, Adopted, Who } from "./account.ts";
export { RecallClient, type Answer, type AskOptions, type ContextResult, type FactEvidence, type Forgotten, type RecallClientOptions } from "./client.ts";
export { formatCursor, parseCursor, webStorageCursors, type Cursor, type CursorStore } from "./cursor.ts";
export type { AddedDocument, ComparisonReport, DocumentChunk, DocumentComparison, UploadOptions } from "./documents.ts";
export { EventStream } from "./event-stream.ts";
export type { CitationFields, DocumentFields, DocumentName, EntityFields, EntityName, FactFields, MessageFields, PointFields, SessionFields } from "./generated/operations.ts";
export { RecallError, graphql, type Endpoint, type TypedDocument } from "./graphql.ts";
export type { Down, Gap, Link, LinkEvents, LinkRequest, LogEntry, OpenLink, TransportName, Welcome } from "./link.ts";
export type { EventMeta, Phase, SessionEvent, StreamEvents, StreamOptions, StreamState } from "./stream-types.ts";
export { MemoryStream, type MemoryEvent, type MemoryGap, type MemoryStreamEvents, type MemoryStreamOptions, type MemoryStreamState, type MemoryTransport } from "./memory-stream.ts";
export { allItems, type Page, type PageOptions, type SharedPageOptions } from "./pages.ts";
export { webStorageTransports, type TransportStore } from "./transport-store.ts";
export type { AnswerDelta, ContextReady, EphemeralEvent, EventOf, NumberedEvent, RecallEvent } from "./events.ts";
export { alwaysRetry, resume, type SubscriptionClient, type SubscriptionRequest, type SubscriptionSink } from "./resume.ts";
export type { Progress, ProgressOptions, WaitOptions } from "./waiting.ts";
export type * from "./generated/schema.ts";
