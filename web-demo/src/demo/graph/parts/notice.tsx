// Why the graph is empty.
import { NOT_KEPT } from "../../state/offline.ts";
import type { GraphStore } from "../state/store.ts";

interface Props {
  store: GraphStore;
  waitsForServer: boolean;
  onRetry: () => void;
}

export function Notice({ store, waitsForServer, onRetry }: Props) {
  const phase = store.phase.value;
  if (waitsForServer) return <p class="notice soft" role="status">{NOT_KEPT}</p>;
  if (phase === "failed") return <p class="notice trouble" role="alert">The graph could not be read. <button type="button" onClick={onRetry}>Try again</button></p>;
  if (phase === "missing") return <p class="notice soft">Nothing is known here yet. Tell Recall something in the chat, and it appears in the graph.</p>;
  if (phase !== "ready" || store.network.value.links.length > 0 || store.readingAll.value) return null;
  return <p class="notice soft">No facts connect it with anything{store.showsAll.value ? "" : ", or the filters hide them"}.</p>;
}
