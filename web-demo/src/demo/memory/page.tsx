// The Memory page: everything that is known of the user, in all sessions. Its code loads when the page is first opened.
import "../styles/place-page.css";
import "../common/common.css";
import "./page.css";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useCode } from "../parts/use-code.ts";
import { FactsView } from "./parts/facts-view.tsx";
import { LazyDialog } from "./parts/lazy-dialog.tsx";
import { SessionsView } from "./parts/sessions-view.tsx";
import { ThingsView } from "./parts/things-view.tsx";
import { UndoBar } from "./parts/undo-bar.tsx";
import { createMemoryPage, handleError, MemoryPageProvider, problem } from "./state/context.ts";
import { loadOntology, MemoryContextProvider } from "../common/state/context.ts";
import { useChanges } from "../common/state/follow.ts";
import { parsePlace, placeHref, views, type Place } from "../common/state/place.ts";
import { OfflineNotice } from "../parts/offline-notice.tsx";
import { isNotKept, knownAt, NOT_KEPT, read } from "../state/offline.ts";
import { Visits } from "./state/visit.ts";
import { strings } from "./strings.ts";

function Title({ place }: { place: Place }) {
  const [dialog, setDialog] = useState<"add" | "forget" | null>(null);
  const close = () => setDialog(null);
  const isOffline = knownAt.value !== null;
  return (
    <div class="head">
      <h1>{strings.title}</h1>
      <div class="views" role="navigation" aria-label={strings.parts}>
        {views.map((view) => <a key={view} href={placeHref({ view })} aria-current={place.view === view ? "page" : undefined}>{strings.views[view]}</a>)}
      </div>
      {!place.filters.asOf && (
        <div class="do">
          <button type="button" class="plain" disabled={isOffline} onClick={() => setDialog("forget")}>{strings.forget}</button>
          <button type="button" class="strong" disabled={isOffline} onClick={() => setDialog("add")}>{strings.addFact}</button>
        </div>
      )}
      <OfflineNotice>{strings.whenBack}</OfflineNotice>
      {dialog === "add" && <LazyDialog onClose={close} render={({ AddFact }) => <AddFact onClose={close} />} />}
      {dialog === "forget" && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={strings.forgetTitle} target={null} onClose={close} />} />}
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
        {id && <LazyDialog key={id} onClose={onClose} render={({ ForgetDialog }) => <ForgetDialog title={strings.removeMessage} target={{ messageIds: [id] }} messageId={id} onClose={onClose} onDone={focusChat} />} />}
        <UndoBar />
      </div>
    </MemoryPageProvider>
  );
}

const loadData = () => import("./data/data-view.tsx");

function YourData() {
  const { code, failed, retry } = useCode(loadData);
  if (code) return <code.DataView />;
  return <section class="sheet" aria-label={strings.views.data} aria-busy={!failed}>{failed ? <p class="trouble">{strings.notLoaded}<button type="button" onClick={retry}>{strings.tryAgain}</button></p> : <p class="soft">{strings.loading}</p>}</section>;
}

export function MemoryPage({ rest }: { rest: string }) {
  const page = useMemo(createMemoryPage, []);
  const visits = useMemo(() => new Visits(), []);
  const place = useMemo(() => parsePlace(rest), [rest]);
  const ready = page.ready.value;
  const isOffline = knownAt.value !== null;
  useEffect(() => visits.follow(), [visits]);
  useEffect(() => {
    const before = document.title;
    document.title = strings.pageTitle;
    return () => { document.title = before; };
  }, []);
  useEffect(() => {
    // What is shown stays when the line is lost. It is read again when the line is back.
    if (!isOffline) page.version.value += 1;
    loadOntology(page, read).catch((error: unknown) => { if (!isNotKept(error)) problem.value = handleError(error); });
  }, [isOffline]);
  const shown = useRef(place);
  useEffect(() => {
    if (shown.current.view !== place.view || shown.current.id !== place.id) page.undo.leavePlace();
    shown.current = place;
  }, [place]);
  useChanges(() => { page.version.value += 1; });
  return (
    <MemoryContextProvider value={page}><MemoryPageProvider value={page}>
      <main id="main" class="place-page memory-page" tabIndex={-1} data-view={place.view} data-open={place.id ? "" : undefined}>
        <Title place={place} />
        {isOffline && !ready && place.view !== "data" && <p class="sheet soft" role="status">{NOT_KEPT}</p>}
        {ready && place.view === "facts" && <FactsView place={place} visits={visits} />}
        {ready && place.view === "things" && <ThingsView place={place} />}
        {ready && place.view === "sessions" && <SessionsView place={place} />}
        {place.view === "data" && <YourData />}
        <UndoBar />
      </main>
    </MemoryPageProvider></MemoryContextProvider>
  );
}

