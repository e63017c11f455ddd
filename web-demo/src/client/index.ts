// Public names of @relevantic/recall-client.
export { RecallClient, type RecallClientOptions } from "./client.ts";
export { formatCursor, parseCursor, webStorageCursors, type Cursor, type CursorStore } from "./cursor.ts";
export {
  EventStream, type EphemeralEvent, type EventMeta, type EventOf, type NumberedEvent, type Phase, type StreamEvents, type StreamOptions, type StreamState,
} from "./event-stream.ts";
export { RecallError, graphql, type Endpoint, type TypedDocument } from "./graphql.ts";
export type { Down, Gap, Link, LinkEvents, LinkRequest, LogEntry, OpenLink, TransportName, Welcome } from "./link.ts";
export type { RecallEvent } from "./generated/events.ts";
export type * from "./generated/schema.ts";
