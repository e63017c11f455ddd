// Layout of the page: sessions, conversation, graph and facts.
import { useEffect, useRef, useState } from "preact/hooks";
import { useMediaQuery } from "./media-query.ts";
import { Chat } from "./parts/chat.tsx";
import { Composer } from "./parts/composer.tsx";
import { DocumentsPlace } from "./parts/documents-place.tsx";
import { EntityView } from "./parts/entity.tsx";
import { Facts } from "./parts/facts.tsx";
import { Header } from "./parts/header.tsx";
import { Icon } from "./parts/icon.tsx";
import { LoginPage } from "./parts/login-page.tsx";
import { GraphPlace, MemoryPlace, SettingsPlace, SessionGraph } from "./parts/lazy-place.tsx";
import { Sessions } from "./parts/sessions.tsx";
import { boot, settleVisit } from "./state/boot.ts";
import { awaited, connection, memory, missing, openFact, wantedMessage } from "./state/current-session.ts";
import { loginMethods, visitOffer } from "./state/login.ts";
import { knownAt, notKept } from "./state/offline.ts";
import { newSession } from "./state/opening.ts";
import { problem, startError } from "./state/problem.ts";
import { route, sessionHref, type Route } from "./state/route.ts";
import { clockOrMoment } from "./state/format.ts";
import { sessions } from "./state/session-list.ts";
import { caughtUp, reconnect } from "./state/stream.ts";
import { start } from "./state/viewer.ts";
import { strings } from "./strings.ts";

const CAUGHT_UP_SHOWN_MS = 7000;

/** Notice about a lost or restored connection, above the part of the page that it affects. */
function ConnectionNotice() {
  const state = connection.value;
  const news = caughtUp.value;
  useEffect(() => {
    if (!news) return;
    const timer = setTimeout(() => { caughtUp.value = null; }, CAUGHT_UP_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [news]);
  if (state?.phase === "paused") {
    return (
      <div class="news cut">
        <b>{strings.news.cut[0]}</b>{strings.news.cut[1]}
        <button type="button" onClick={reconnect}>{strings.news.restore}</button>
      </div>
    );
  }
  if (knownAt.value !== null) {
    return <div class="news lost" role="status"><b>{strings.news.offline}</b>{strings.news.known(clockOrMoment(knownAt.value))}</div>;
  }
  if (!news) return null;
  return (
    <div class="news caught-up" role="status">
      <b>{news.gaps > 0 ? strings.news.caughtUp : news.replayed > 0 ? strings.news.replayed(news.replayed) : strings.news.back}</b>{" "}
      {news.gaps > 0 ? strings.news.gap : news.replayed > 0 ? strings.news.inOrder : strings.news.nothingMissed}
    </div>
  );
}

/** Offers after a login to adopt the data of a visit. */
function VisitOffer() {
  const [busy, setBusy] = useState(false);
  const offer = visitOffer.value;
  if (!offer) return null;
  const answer = (adopt: boolean) => {
    setBusy(true);
    void settleVisit(adopt).finally(() => setBusy(false));
  };
  return (
    <div class="news offer" role="status">
      <b>{strings.news.visit}</b>{strings.news.visitSize(offer.messages)}
      <button type="button" disabled={busy} onClick={() => answer(true)}>{strings.news.move}</button>
      <button type="button" disabled={busy} onClick={() => answer(false)}>{strings.news.delete}</button>
    </div>
  );
}

/** Shown if the session in the URL does not exist for this user. */
function MissingSession() {
  const newest = sessions.value.find((s) => !s.shared);
  return (
    <div class="page missing">
      <h1>{strings.session.missing}</h1>
      <p class="soft">{strings.session.missingWhy}</p>
      <p>
        <button type="button" onClick={() => void newSession()}>{strings.session.startNew}</button>
        {/* Last: it appears when the list is read, and must not move the button under the pointer. */}
        {newest && <a href={sessionHref(newest.id)}>{strings.session.openNewest}</a>}
      </p>
    </div>
  );
}

/** Shown without the server, if this browser keeps no copy of the session in the URL. */
const NotKept = () => (
  <div class="page missing">
    <h1>{strings.session.notKept}</h1>
    <p class="soft" role="status">{strings.session.notKeptWhy}</p>
  </div>
);

function Toast() {
  if (!problem.value) return null;
  return <div class="toast" role="alert">{problem.value}<button type="button" class="icon-button" aria-label={strings.close} onClick={() => { problem.value = null; }}><Icon name="close" /></button></div>;
}

/** A shorter wait needs no words, which would only flicker. */
const PATIENCE_MS = 2500;

/** Says that the page still waits for its start. */
function LateStart() {
  const [isLate, setLate] = useState(false);
  const waits = start.value === null;
  useEffect(() => {
    if (!waits) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => { clearTimeout(timer); setLate(false); };
  }, [waits]);
  // The region is there before its words, so that screen readers announce them.
  return <div role="status">{isLate && <p class="toast">{strings.page.late}</p>}</div>;
}

/** A screen that shows one tab. The style sheet has the same limit. */
const ONE_TAB = "(max-width: 760px)";

type Tab = "chat" | "facts" | "graph";
const tabs: readonly Tab[] = ["chat", "facts", "graph"];

const tabInHistory = (): Tab => (history.state as { tab?: Tab } | null)?.tab ?? "chat";

/** Returns the tab and how to choose one. On a screen that shows one tab, Back leads from another tab to the chat of the same session. */
function useTab(current: Route): [Tab, (next: Tab) => void] {
  const showsOneTab = useMediaQuery(ONE_TAB);
  const [tab, setTab] = useState(tabInHistory);
  useEffect(() => {
    const follow = () => setTab(tabInHistory());
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  useEffect(() => setTab(tabInHistory()), [current]);
  // The button that was pressed is behind the tab that it opens, or in the one that it hides.
  const last = useRef(tab);
  useEffect(() => {
    const focused = document.activeElement;
    if (last.current !== tab && (focused === document.body || focused?.closest(".tabs") || !focused?.checkVisibility())) {
      const fact = tab === "facts" && openFact.value ? document.getElementById(`fact-${openFact.value}`)?.querySelector("button") : null;
      (fact ?? document.getElementById("main"))?.focus({ preventScroll: true });
    }
    last.current = tab;
  }, [tab]);
  const choose = (next: Tab) => {
    const before = tabInHistory();
    if (next === "chat" && before !== "chat") return history.back();
    if (showsOneTab && next !== before) history[before === "chat" ? "pushState" : "replaceState"]({ tab: next }, "");
    setTab(next);
  };
  return [tab, choose];
}

/** Returns whether a tab is drawn: all of them on a wide screen, else the ones that were opened. */
function useOpenedTabs(tab: Tab): (name: Tab) => boolean {
  const showsOneTab = useMediaQuery(ONE_TAB);
  const opened = useRef(new Set<Tab>());
  opened.current.add(tab);
  return (name) => !showsOneTab || opened.current.has(name);
}

/** Gives a lost focus to the place that opens: the link or button that led there may be gone. */
function useFocusInPlace(page: Route["page"]) {
  // The start leads to a session by itself.
  const place = page === "home" ? "session" : page;
  const last = useRef(place);
  useEffect(() => {
    if (last.current !== place && document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    last.current = place;
  }, [place]);
}

export function App() {
  const [menu, setMenu] = useState(false);
  const current = route.value;
  const [tab, chooseTab] = useTab(current);
  const isDrawn = useOpenedTabs(tab);
  const cut = connection.value !== null && connection.value.phase !== "live" && connection.value.phase !== "replaying";
  const wanted = wantedMessage.value;
  const opened = current.page === "entity" ? null : openFact.value;
  useEffect(() => { if (wanted) chooseTab("chat"); }, [wanted]);
  useEffect(() => { if (opened) chooseTab("facts"); }, [opened]);
  useFocusInPlace(current.page);
  useEffect(() => {
    if (!menu) return;
    const close = (event: KeyboardEvent) => { if (event.key === "Escape") setMenu(false); };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [menu]);

  if (loginMethods.value) return <LoginPage />;
  if (startError.value) {
    return <main class="broken"><Icon name="mark" /><h1>{strings.page.unreachable}</h1><p>{startError.value}</p><button type="button" onClick={() => void boot()}>{strings.tryAgain}</button></main>;
  }
  const header = <Header onMenu={() => setMenu(!menu)} menuOpen={menu} />;
  const place = current.page === "memory" ? <MemoryPlace rest={current.rest} />
    : current.page === "graph" ? <GraphPlace rest={current.rest} />
    : current.page === "settings" ? <SettingsPlace section={current.section} />
    : current.page === "home" || current.page === "session" || current.page === "entity" ? null : <DocumentsPlace />;
  if (place) return <div class="shell one-place">{header}{place}<LateStart /><Toast /></div>;
  const known = memory.value;
  void known?.version.value;
  const facts = known?.counts().active ?? 0;
  return (
    <div class="shell" data-tab={tab} data-menu={menu || undefined} data-line={cut ? "cut" : "whole"}>
      {header}
      <Sessions onChoose={() => setMenu(false)} onOpen={() => setMenu(true)} />
      {menu && <button type="button" class="backdrop" aria-label={strings.page.closeSessions} onClick={() => setMenu(false)} />}
      <main id="main" tabIndex={-1} data-awaiting={(awaited.value !== null && known !== null) || undefined} aria-busy={awaited.value !== null}>
        {tab !== "chat" && <h1 class="unseen of-tab">{strings.page.tabs[tab]}</h1>}
        <section class="talk" aria-label={current.page === "entity" ? strings.page.entity : strings.page.chat}>
          <VisitOffer />
          <ConnectionNotice />
          {current.page === "entity" ? <EntityView key={current.id} id={current.id} />
            : current.page === "session" && missing.value === current.id ? <MissingSession />
            : current.page === "session" && notKept.value === current.id ? <NotKept />
            : <><Chat key={current.page === "session" ? current.id : ""} /><Composer /></>}
        </section>
        <section class="memory" aria-label={strings.page.memory}>
          <ConnectionNotice />
          {isDrawn("graph") && <SessionGraph />}
          {isDrawn("facts") && <Facts />}
        </section>
      </main>
      <div class="tabs" role="navigation" aria-label={strings.page.view}>
        {tabs.map((name) => (
          <button type="button" key={name} aria-pressed={tab === name} onClick={() => chooseTab(name)}>
            <Icon name={name} />{strings.page.tabs[name]}{name === "facts" && facts > 0 && <i key={facts}>{facts}</i>}
          </button>
        ))}
      </div>
      <LateStart />
      <Toast />
    </div>
  );
}
