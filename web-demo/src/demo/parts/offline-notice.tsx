// Says in a place without a conversation that the server is missing, and what the place shows then.
import type { ComponentChildren } from "preact";
import { clockOrMoment } from "../state/format.ts";
import { knownAt } from "../state/offline.ts";
import { strings } from "../strings.ts";

/** `children`: what else to know. */
export function OfflineNotice({ children }: { children?: ComponentChildren }) {
  if (knownAt.value === null) return null;
  return <div class="news lost" role="status"><b>{strings.news.offline}</b>{strings.news.openedBefore(clockOrMoment(knownAt.value))}{children}</div>;
}
