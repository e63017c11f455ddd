// Which errors pass by themselves.
import { RecallError } from "@relevantic/recall";

/** The server did not answer, or a proxy answered for it. */
export const isUnreachable = (error: unknown): boolean => error instanceof RecallError && (error.status === 0 || error.status >= 500);
