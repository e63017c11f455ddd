// What the open conversation is about: a summary and its topics. They are loaded when the user asks for them.
import { useEffect, useState } from "preact/hooks";
import { SessionAbout as Query, type SessionAboutResult } from "../generated/operations.ts";
import { client } from "../state/login.ts";
import { handleError } from "../state/problem.ts";
import { topicHref } from "../state/route.ts";
import { strings } from "../strings.ts";

/** New messages come in bursts: a question, its facts and its answer. */
const SETTLED_MS = 600;

/** `version`: changes with the conversation. */
export function SessionAbout({ id, version }: { id: string; version: number }) {
  const [isOpen, setOpen] = useState(false);
  const [about, setAbout] = useState<SessionAboutResult["session"]>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    if (!isOpen) return;
    let stale = false;
    const load = () => client.graphql(Query, { id }).then(
      ({ session }) => { if (!stale) { setAbout(session); setError(null); } },
      (cause: unknown) => { if (!stale) setError(handleError(cause)); },
    );
    const timer = setTimeout(() => void load(), about ? SETTLED_MS : 0);
    return () => { stale = true; clearTimeout(timer); };
  }, [id, isOpen, version]);
  return (
    <details class="session-about" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{strings.session.about}</summary>
      <div aria-busy={!about && !error}>
        {error && <p class="trouble" role="alert">{error}</p>}
        {about && <p class={about.summary ? undefined : "soft"}>{about.summary ?? strings.session.noSummary}</p>}
        {about && about.topics.length > 0 && (
          <ul class="topics" aria-label={strings.session.topics}>{about.topics.map((topic) => <li key={topic.id}><a href={topicHref(topic.id)}>{topic.name}</a></li>)}</ul>
        )}
      </div>
    </details>
  );
}
