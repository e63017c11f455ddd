// The graph: everything that is known of the user, in all sessions, as things and links. Its code loads when it is first opened.
import "../styles/place-page.css";
import "../common/common.css";
import "./page.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import { MemoryContextProvider } from "../common/state/context.ts";
import { Details } from "./parts/details.tsx";
import { GraphCanvas } from "./parts/graph-canvas.tsx";
import { GraphFilters } from "./parts/graph-filters.tsx";
import { Head } from "./parts/head.tsx";
import { Notice } from "./parts/notice.tsx";
import { OutlineList } from "./parts/outline-list.tsx";
import type { GraphStage } from "./parts/stage.ts";
import { Selection, Summary } from "./parts/summary.tsx";
import { useFocusAfterMove, useGraph } from "./state/hooks.ts";
import { parseAddress } from "./state/place.ts";
import { strings } from "./strings.ts";

export function GraphPage({ rest }: { rest: string }) {
  const address = useMemo(() => parseAddress(rest), [rest]);
  const { context, store, retry, waitsForServer } = useGraph(address);
  const [listed, setListed] = useState(false);
  const [stage, setStage] = useState<GraphStage | null>(null);
  useFocusAfterMove(store.centre.value?.id, listed);
  useEffect(() => {
    const before = document.title;
    document.title = strings.pageTitle;
    return () => { document.title = before; };
  }, []);
  const busy = store.phase.value === "loading" && !waitsForServer;
  return (
    <MemoryContextProvider value={context}>
      <main id="main" class="place-page graph-page" tabIndex={-1} data-listed={listed || undefined} data-selected={store.selected.value ? "" : undefined} aria-busy={busy}>
        <Head store={store} stage={stage} listed={listed} onList={setListed} />
        <section class="drawing" aria-label={strings.title}>
          <GraphFilters address={address} />
          <Summary store={store} address={address} />
          <GraphCanvas store={store} onStage={setStage} />
          <Notice store={store} waitsForServer={waitsForServer} onRetry={retry} />
          <Selection store={store} />
        </section>
        <section class="pane" aria-label={strings.details} tabIndex={0}><Details store={store} address={address} /></section>
        <section class="listing" aria-label={strings.list}><OutlineList store={store} address={address} /></section>
      </main>
    </MemoryContextProvider>
  );
}
