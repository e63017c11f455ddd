// The Memory page: everything that is known of the user, in all sessions. Its code loads when the page is first opened.
import "../styles/place-page.css";
import "../common/common.css";
import "./page.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import { DataView } from "./parts/data-view.tsx";
import { AddFact } from "./parts/fact-form.tsx";
import { FactsView } from "./parts/facts-view.tsx";
import { ForgetDialog } from "./parts/forget-dialog.tsx";
import { SessionsView } from "./parts/sessions-view.tsx";
import { ThingsView } from "./parts/things-view.tsx";
import { UndoBar } from "./parts/undo-bar.tsx";
import { createMemoryPage, handleError, MemoryPageProvider, problem } from "./state/context.ts";
import { loadOntology, MemoryContextProvider } from "../common/state/context.ts";
import { useChanges } from "../common/state/follow.ts";
import { parsePlace, placeHref, views, type Place, type View } from "../common/state/place.ts";
import { knownAt } from "../state/offline.ts";
import { beginVisit } from "./state/visit.ts";

const viewLabels: Record<View, string> = { facts: "Facts", things: "People and things", sessions: "Sessions", data: "Your data" };

function Title({ place }: { place: Place }) {
  const [dialog, setDialog] = useState<"add" | "forget" | null>(null);
  return (
    <div class="head">
      <h1>Memory</h1>
      <div class="views" role="navigation" aria-label="Parts of the memory">
        {views.map((view) => <a key={view} href={placeHref({ view })} aria-current={place.view === view ? "page" : undefined}>{viewLabels[view]}</a>)}
      </div>
      {!place.filters.asOf && (
        <div class="do">
          <button type="button" class="plain" onClick={() => setDialog("forget")}>Forget…</button>
          <button type="button" class="strong" onClick={() => setDialog("add")}>Add a fact</button>
        </div>
      )}
      {dialog === "add" && <AddFact onClose={() => setDialog(null)} />}
      {dialog === "forget" && <ForgetDialog title="Forget" target={null} onClose={() => setDialog(null)} />}
    </div>
  );
}

/** Removes a message of the chat, and offers to undo it. null: asks for no message. */
export function MessageRemoval({ id, onClose }: { id: string | null; onClose: () => void }) {
  const page = useMemo(createMemoryPage, []);
  // The message goes with its button.
  const focusChat = () => void setTimeout(() => document.querySelector<HTMLElement>(".log")?.focus());
  return (
    <MemoryPageProvider value={page}>
      <div class="place-page">
        {id && <ForgetDialog key={id} title="Remove this message" target={{ messageIds: [id] }} messageId={id} onClose={onClose} onDone={focusChat} />}
        <UndoBar />
      </div>
    </MemoryPageProvider>
  );
}

export function MemoryPage({ rest }: { rest: string }) {
  const page = useMemo(createMemoryPage, []);
  const lastVisit = useMemo(beginVisit, []);
  const place = useMemo(() => parsePlace(rest), [rest]);
  const ready = page.ready.value;
  const isOffline = knownAt.value !== null;
  useEffect(() => {
    document.title = "Memory, Recall";
    return () => { document.title = "Recall"; };
  }, []);
  useEffect(() => {
    if (isOffline) return;
    page.version.value += 1;
    loadOntology(page).catch((error: unknown) => { problem.value = handleError(error); });
  }, [isOffline]);
  useChanges(() => { page.version.value += 1; });
  return (
    <MemoryContextProvider value={page}><MemoryPageProvider value={page}>
      <main id="main" class="place-page memory-page" tabIndex={-1} data-view={place.view} data-open={place.id ? "" : undefined}>
        <Title place={place} />
        {isOffline && !ready && <p class="sheet soft" role="status">Offline. The Memory page needs the server, and loads when the line is back.</p>}
        {ready && place.view === "facts" && <FactsView place={place} lastVisit={lastVisit} />}
        {ready && place.view === "things" && <ThingsView place={place} />}
        {ready && place.view === "sessions" && <SessionsView place={place} />}
        {place.view === "data" && <DataView />}
        <UndoBar />
      </main>
    </MemoryPageProvider></MemoryContextProvider>
  );
}

