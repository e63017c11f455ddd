export { RecallClient } from "./client.js";
export { formatCursor, parseCursor, webStorageCursors } from "./cursor.js";
export { EventStream } from "./event-stream.js";
export { RecallError, graphql } from "./graphql.js";
export { webStorageTransports } from "./transport-store.js";
export { alwaysRetry, resume } from "./resume.js";
