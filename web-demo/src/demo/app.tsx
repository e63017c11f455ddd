// The page: sessions, conversation, and beside it what is known, as a picture and as a list.
import { useEffect, useState } from "preact/hooks";
import { Chat } from "./parts/chat.tsx";
import { Composer } from "./parts/composer.tsx";
import { Door } from "./parts/door.tsx";
import { EntityView } from "./parts/entity.tsx";
import { Facts } from "./parts/facts.tsx";
import { Graph } from "./parts/graph.tsx";
import { Header } from "./parts/header.tsx";
import { Icon } from "./parts/icon.tsx";
import { Sessions } from "./parts/sessions.tsx";
import { boot, broken, caughtUp, line, memory, missing, newSession, problem, restoreLine, sessions, settleVisit, wantedMessage } from "./state/app.ts";
import { door, offer } from "./state/login.ts";
import { route, sessionHref } from "./state/route.ts";
import { count } from "./state/words.ts";

const SHOWN_MS = 7000;

/** What happened to the line, where the eye is: over the part of the page that stands still meanwhile. */
function LineNews() {
  const state = line.value;
  const news = caughtUp.value;
  useEffect(() => {
    if (!news) return;
    const timer = setTimeout(() => { caughtUp.value = null; }, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [news]);
  if (state?.phase === "paused") {
    return (
      <div class="news cut">
        <b>The line is cut.</b> Keep talking: Recall goes on learning, this page just does not see it.
        <button type="button" onClick={restoreLine}>Restore the line</button>
      </div>
    );
  }
  if (state?.phase === "waiting" || (state?.phase === "connecting" && state.attempt > 0)) {
    return <div class="news lost"><b>The line is lost.</b> It will come back by itself and bring what was missed.</div>;
  }
  if (!news) return null;
  return (
    <div class="news caught-up" role="status">
      <b>{news.gaps > 0 ? "Caught up." : news.replayed > 0 ? `Caught up: ${count(news.replayed, "event")} replayed.` : "Back."}</b>{" "}
      {news.gaps > 0 ? "The log no longer held everything, so the state was fetched anew." : news.replayed > 0 ? "In order, none lost, none twice." : "Nothing was missed."}
    </div>
  );
}

/** After a login: what was told before it. */
function VisitOffer() {
  const [busy, setBusy] = useState(false);
  const told = offer.value;
  if (!told) return null;
  const answer = (take: boolean) => {
    setBusy(true);
    void settleVisit(take).finally(() => setBusy(false));
  };
  return (
    <div class="news offer" role="status">
      <b>You told Recall something before you logged in</b> ({count(told.messages, "message")}).
      <button type="button" disabled={busy} onClick={() => answer(true)}>Take it into my account</button>
      <button type="button" disabled={busy} onClick={() => answer(false)}>Delete it</button>
    </div>
  );
}

/** An address that leads to no session of this person. */
function Missing() {
  const newest = sessions.value.find((s) => !s.shared);
  return (
    <div class="page missing">
      <h1>There is no such session</h1>
      <p class="soft">It was deleted, or it belongs to somebody else. Nothing was opened in its place.</p>
      <p>
        {newest && <a href={sessionHref(newest.id)}>Open the newest session</a>}
        <button type="button" onClick={() => void newSession()}>Start a new session</button>
      </p>
    </div>
  );
}

type Tab = "chat" | "facts" | "graph";
const tabs: Array<[Tab, string]> = [["chat", "Chat"], ["facts", "Facts"], ["graph", "Graph"]];

export function App() {
  const [menu, setMenu] = useState(false);
  const [tab, setTab] = useState<Tab>("chat");
  const at = route.value;
  const cut = line.value !== null && line.value.phase !== "live" && line.value.phase !== "replaying";
  const wanted = wantedMessage.value;
  useEffect(() => { if (wanted) setTab("chat"); }, [wanted]);
  useEffect(() => setTab("chat"), [at]);
  useEffect(() => {
    if (!menu) return;
    const close = (event: KeyboardEvent) => { if (event.key === "Escape") setMenu(false); };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [menu]);

  if (door.value) return <Door />;
  if (broken.value) {
    return <main class="broken"><Icon name="mark" /><h1>Recall cannot be reached</h1><p>{broken.value}</p><button type="button" onClick={() => void boot()}>Try again</button></main>;
  }
  const known = memory.value;
  void known?.version.value;
  const facts = known?.counts().active ?? 0;
  return (
    <div class="shell" data-tab={tab} data-menu={menu || undefined} data-line={cut ? "cut" : "whole"}>
      <Header onMenu={() => setMenu(!menu)} menuOpen={menu} />
      <Sessions onChoose={() => setMenu(false)} />
      {menu && <button type="button" class="veil" aria-label="Close the sessions" onClick={() => setMenu(false)} />}
      <main id="main" tabIndex={-1}>
        {tab !== "chat" && <h1 class="unseen of-tab">{tab === "facts" ? "Facts" : "Graph"}</h1>}
        <section class="talk" aria-label={at.page === "entity" ? "Entity" : "Chat"}>
          <VisitOffer />
          <LineNews />
          {at.page === "entity" ? <EntityView key={at.id} id={at.id} /> : at.page === "session" && missing.value === at.id ? <Missing /> : <><Chat key={at.page === "session" ? at.id : ""} /><Composer /></>}
        </section>
        <section class="memory" aria-label="Memory">
          <LineNews />
          <Graph />
          <Facts />
        </section>
      </main>
      <div class="tabs" role="navigation" aria-label="View">
        {tabs.map(([name, label]) => (
          <button type="button" key={name} aria-pressed={tab === name} onClick={() => setTab(name)}>
            <Icon name={name} />{label}{name === "facts" && facts > 0 && <i key={facts}>{facts}</i>}
          </button>
        ))}
      </div>
      {problem.value && <div class="toast" role="alert">{problem.value}<button type="button" class="icon-button" aria-label="Close" onClick={() => { problem.value = null; }}><Icon name="close" /></button></div>}
    </div>
  );
}
