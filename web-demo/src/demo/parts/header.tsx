// The header: name, places, account, state of the connection, settings.
import { useEffect, useState } from "preact/hooks";
import { leave } from "../state/boot.ts";
import { connection } from "../state/current-session.ts";
import { account, hasToken, loginHref, visitEnds } from "../state/login.ts";
import { moment, weekday } from "../state/format.ts";
import { knownAt, watch } from "../state/offline.ts";
import { reopenSession } from "../state/opening.ts";
import { route, settingsHref } from "../state/route.ts";
import { reconnect, retryNow } from "../state/stream.ts";
import { Icon } from "./icon.tsx";
import { Places } from "./places.tsx";
import { strings } from "../strings.ts";

const words = strings.header;

function useSecondsUntil(time: number | null): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (time === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [time]);
  return time === null ? 0 : Math.max(0, Math.ceil((time - now) / 1000));
}

/** State of the line: a lamp while all is well, else words and a button. */
function ConnectionStatus() {
  const state = connection.value;
  const isMissing = state === null && watch.active.value;
  const seconds = useSecondsUntil(isMissing ? watch.retryAt.value : (state?.retryAt ?? null));
  if (!state && !isMissing) return null;
  const { phase, transport, attempt, reason } = state ?? { phase: "waiting", transport: null, attempt: 0, reason: null };
  const isQuiet = phase === "live" || phase === "replaying" || (phase === "connecting" && attempt === 0);
  const [word, detail] =
    phase === "live" ? [words.live, ""]
    : phase === "replaying" ? [words.catchingUp, ""]
    : phase === "connecting" ? [attempt > 0 ? words.reconnecting : words.connecting, ""]
    : phase === "waiting" ? [knownAt.value === null ? words.lineLost : words.offline, seconds > 0 ? words.againIn(seconds) : words.tryingAgain]
    : phase === "paused" ? [words.lineCut, words.byYou]
    : [words.closed, words.closeReasons[reason ?? ""] ?? ""];
  return (
    <div class="pill" data-phase={phase} data-quiet={isQuiet || undefined} data-transport={transport ?? ""} title={isQuiet ? word : undefined}>
      <span class="lamp" aria-hidden="true" />
      <span role="status" aria-live="polite" class={isQuiet ? "unseen" : undefined}><b>{word}</b></span>
      {detail && <span class="detail">{detail}</span>}
      {phase === "paused" ? <button type="button" onClick={reconnect}>{words.restore}</button>
      : phase === "waiting" ? <button type="button" onClick={retryNow}>{words.tryNow}</button>
      : phase === "closed" ? <button type="button" onClick={reopenSession}>{words.openAgain}</button> : null}
    </div>
  );
}

/** The user's name and the logout button. */
function AccountMenu() {
  const user = account.value;
  if (!user && !hasToken.value) return null;
  const ends = visitEnds.value;
  if (ends) {
    return (
      <span class="person visitor">
        <b title={words.visitEnds(moment(ends))}>{words.visiting(weekday(ends))}</b>
        <a class="quiet" href={loginHref()}>{words.logIn}</a>
        <button type="button" class="quiet" onClick={() => void leave()}>{words.leave}</button>
      </span>
    );
  }
  return (
    <span class="person">
      <b>{user ? user.name ?? words.loggedIn : words.withToken}</b>
      <button type="button" class="quiet" onClick={() => void leave()}>{words.logOut}</button>
    </span>
  );
}

/** Moves the focus without changing the URL, whose hash holds the route. */
function skipToMain(event: Event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

export function Header({ onMenu, menuOpen }: { onMenu: () => void; menuOpen: boolean }) {
  return (
    <header>
      <a class="skip" href="#main" onClick={skipToMain}>{words.skip}</a>
      <button type="button" class="icon-button menu" aria-label={words.sessions} aria-expanded={menuOpen} onClick={onMenu}><Icon name="menu" /></button>
      <a class="brand" href="#/" aria-label={words.start}><Icon name="mark" /><b>{strings.brand}</b></a>
      <Places />
      <span class="motto">{words.motto}</span>
      <a class="quiet api" href="/graphql" title={words.apiTitle}>{words.api}</a>
      <AccountMenu />
      <ConnectionStatus />
      <a class="icon-button" href={settingsHref} aria-label={words.settings} title={words.settings} aria-current={route.value.page === "settings" ? "page" : undefined}><Icon name="settings" /></a>
    </header>
  );
}
