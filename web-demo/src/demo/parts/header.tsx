// The header: name, places, account, state of the connection, settings.
import { useEffect, useState } from "preact/hooks";
import { connection, disconnect, problem, reconnect, reopenSession, retryNow } from "../state/app.ts";
import { account, hasToken, loginHref, logOut, visitEnds } from "../state/login.ts";
import { count, milliseconds, moment, transportName, weekday } from "../state/format.ts";
import { route, settingsHref } from "../state/route.ts";
import { Icon } from "./icon.tsx";
import { Places } from "./places.tsx";

const closeReasons: Record<string, string> = { superseded: "opened elsewhere", deleted: "session deleted", auth_expired: "logged out" };

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

/** Shows the state of the stream, with a button that disconnects or reconnects it. */
function ConnectionStatus() {
  const state = connection.value;
  const seconds = useSecondsUntil(state?.retryAt ?? null);
  if (!state) return null;
  const { phase, transport, latencyMs, replayed, attempt, reason } = state;
  const [word, detail] =
    phase === "live" ? ["Live", `${transportName(transport)}${latencyMs === null ? "" : `, ${milliseconds(latencyMs)}`}`]
    : phase === "replaying" ? ["Catching up", count(replayed, "event")]
    : phase === "connecting" ? [attempt > 0 ? "Reconnecting" : "Connecting", attempt > 0 ? `attempt ${attempt + 1}` : ""]
    : phase === "waiting" ? ["Line lost", seconds > 0 ? `again in ${seconds} s` : "trying again"]
    : phase === "paused" ? ["Line cut", "by you"]
    : ["Closed", closeReasons[reason ?? ""] ?? ""];
  return (
    <div class="pill" data-phase={phase} data-transport={transport ?? ""}>
      <span class="lamp" aria-hidden="true" />
      <span role="status" aria-live="polite"><b>{word}</b></span>
      {detail && <span class="detail">{detail}</span>}
      {phase === "paused" ? <button type="button" onClick={reconnect}>Restore</button>
      : phase === "waiting" ? <button type="button" onClick={retryNow}>Try now</button>
      : phase === "closed" ? <button type="button" onClick={reopenSession}>Open again</button>
      : <button type="button" onClick={disconnect}>Cut the line</button>}
    </div>
  );
}

/** The user's name and the logout button. */
function AccountMenu() {
  const user = account.value;
  if (!user && !hasToken.value) return null;
  const leave = () => void logOut().catch(() => { problem.value = "You are still logged in: the server cannot be reached."; });
  const ends = visitEnds.value;
  if (ends) {
    return (
      <span class="person visitor">
        <b title={`Your data is deleted on ${moment(ends)} unless you use it before.`}>Visiting until {weekday(ends)}</b>
        <a class="quiet" href={loginHref()}>Log in</a>
        <button type="button" class="quiet" onClick={leave}>Leave</button>
      </span>
    );
  }
  return (
    <span class="person">
      <b>{user ? user.name ?? "Logged in" : "With a token"}</b>
      <button type="button" class="quiet" onClick={leave}>Log out</button>
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
      <a class="skip" href="#main" onClick={skipToMain}>Skip to the content</a>
      <button type="button" class="icon-button menu" aria-label="Sessions" aria-expanded={menuOpen} onClick={onMenu}><Icon name="menu" /></button>
      <a class="brand" href="#/" aria-label="Recall, start"><Icon name="mark" /><b>Recall</b></a>
      <Places />
      <span class="motto">memory that shows its work</span>
      <a class="quiet api" href="/graphql" title="GraphiQL: try the API">API</a>
      <AccountMenu />
      <ConnectionStatus />
      <a class="icon-button" href={settingsHref} aria-label="Settings" title="Settings" aria-current={route.value.page === "settings" ? "page" : undefined}><Icon name="settings" /></a>
    </header>
  );
}
