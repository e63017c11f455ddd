// Says above the message field that others read the session, that remembering is paused, or that the session is archived.
import { sessionId } from "../state/current-session.ts";
import { changeSession, pauseAll, pauseOf, reportingProblems } from "../state/session-actions.ts";
import { sessions, type SessionItem } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";
import { strings } from "../strings.ts";

/** Says who reads a shared session. */
export const SharedNotice = () => (
  <p class="session-notice">{strings.session.isShared}</p>
);

/** The button is gone after its action. The user goes on to write. */
function focusWriting() {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

function StateNotice({ session }: { session: SessionItem }) {
  const pause = pauseOf(session);
  if (!pause && !session.archived) return null;
  const { id } = session;
  const end = () => (pause === "all" ? pauseAll(false) : changeSession(id, pause ? { paused: false } : { archived: false }));
  return (
    <p class="session-notice" role="status">
      <span>{pause ? strings.session.paused(pause) : strings.session.isArchived}</span>
      <button type="button" onClick={() => void reportingProblems(end()).then(focusWriting)}>{pause ? strings.session.resume : strings.session.unarchive}</button>
    </p>
  );
}

export function SessionNotice() {
  const session = sessions.value.find((s) => s.id === sessionId.value);
  if (!session) return null;
  return (
    <>
      {session.shared && <SharedNotice />}
      {mayWrite(session.shared) && <StateNotice session={session} />}
    </>
  );
}
