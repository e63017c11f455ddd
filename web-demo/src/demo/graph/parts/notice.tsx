// Why the graph is empty.
import { NOT_KEPT } from "../../state/offline.ts";
import type { GraphStore } from "../state/store.ts";
import { strings } from "../strings.ts";

interface Props {
  store: GraphStore;
  waitsForServer: boolean;
  onRetry: () => void;
}

export function Notice({ store, waitsForServer, onRetry }: Props) {
  const phase = store.phase.value;
  if (waitsForServer) return <p class="notice soft" role="status">{NOT_KEPT}</p>;
  if (phase === "failed") return <p class="notice trouble" role="alert">{strings.notice.failed} <button type="button" onClick={onRetry}>{strings.tryAgain}</button></p>;
  if (phase === "missing") return <p class="notice soft">{strings.notice.missing}</p>;
  if (phase !== "ready" || store.network.value.links.length > 0 || store.readingAll.value) return null;
  return <p class="notice soft">{strings.notice.noFacts(!store.showsAll.value)}</p>;
}
