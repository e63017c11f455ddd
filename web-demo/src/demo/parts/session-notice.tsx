// Says above the message field that others read the session, that remembering is paused, or that the session is archived.
import { sessionId } from "../state/current-session.ts";
import { changeSession, pauseAll, pauseOf, reportingProblems } from "../state/session-actions.ts";
import { sessions, type SessionItem } from "../state/session-list.ts";
import { mayWrite } from "../state/viewer.ts";

/** Says who reads a shared session. */
export const SharedNotice = () => (
  <p class="session-notice">This session is shared: all users except visitors can read it. Answers here do not use your own memory.</p>
);

/** The button is gone after its action. The user goes on to write. */
function focusWriting() {
  if (document.activeElement === document.body) document.querySelector<HTMLElement>(".composer textarea")?.focus();
}

function StateNotice({ session }: { session: SessionItem }) {
  const pause = pauseOf(session);
  if (!pause && !session.archived) return null;
  const { id } = session;
  const end = () => (pause === "all sessions" ? pauseAll(false) : changeSession(id, pause ? { paused: false } : { archived: false }));
  return (
    <p class="session-notice" role="status">
      <span>{pause ? `Remembering is paused in ${pause}. What you write is stored, but nothing is learned from it.` : "This session is archived."}</span>
      <button type="button" onClick={() => void reportingProblems(end()).then(focusWriting)}>{pause ? "Resume" : "Unarchive"}</button>
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
