// The list of sessions: open one, start one, delete one (asked twice).
import { useState } from "preact/hooks";
import { deleteSession, mayWrite, memory, newSession, sessionId, sessions, type SessionItem } from "../state/app.ts";
import { sessionHref } from "../state/route.ts";
import { ago, count } from "../state/words.ts";
import { Icon } from "./icon.tsx";

const titleOf = (session: SessionItem, own: string | undefined) => session.title || session.messages.nodes[0]?.text || own || "New session";

export function Sessions({ onChoose }: { onChoose: () => void }) {
  const [asked, setAsked] = useState<string | null>(null);
  const current = memory.value;
  void current?.version.value;
  const firstOwn = current?.messages.values().next().value?.text;
  return (
    <nav aria-label="Sessions">
      <button type="button" class="new" onClick={() => { void newSession(); onChoose(); }}><Icon name="plus" />New session</button>
      {mayWrite(true) && <button type="button" class="new shared" title="Everybody who has signed in reads it; administrators write it" onClick={() => { void newSession(true); onChoose(); }}>New shared session</button>}
      <ul>
        {sessions.value.map((session) => {
          const on = session.id === sessionId.value;
          const title = titleOf(session, on ? firstOwn : undefined);
          const facts = on && current ? current.counts().active : (session.facts.totalCount ?? 0);
          return (
            <li key={session.id} class={on ? "on" : ""}>
              <a href={sessionHref(session.id)} aria-current={on ? "page" : undefined} onClick={onChoose}>
                <span>{title}</span>
                <small>{session.shared && <i class="badge">shared</i>}{facts > 0 ? `${count(facts, "fact")}, ` : ""}{ago(session.updatedAt)}</small>
              </a>
              {!mayWrite(session.shared) ? null : asked === session.id ? (
                <button type="button" class="sure" onBlur={() => setAsked(null)} onClick={() => { setAsked(null); void deleteSession(session.id); }}>Delete?</button>
              ) : (
                <button type="button" class="icon-button" aria-label={`Delete session ${title}`} onClick={() => setAsked(session.id)}><Icon name="trash" /></button>
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
