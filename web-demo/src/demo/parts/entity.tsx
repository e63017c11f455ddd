// The page of one entity: its facts in all sessions, and its mentions.
import { useEffect, useState } from "preact/hooks";
import { Unopened } from "../common/parts/unopened.tsx";
import { EntityPage, type EntityPageResult } from "../generated/operations.ts";
import { memory, sessionId, showMessage } from "../state/current-session.ts";
import { day } from "../state/format.ts";
import { knownAt, read } from "../state/offline.ts";
import { handleError } from "../state/problem.ts";
import { graphHref, sessionHref } from "../state/route.ts";
import { noMemory } from "../state/viewer.ts";
import { FactItem } from "./facts.tsx";
import { Icon } from "./icon.tsx";
import { strings } from "../strings.ts";

type Loaded = NonNullable<EntityPageResult["entity"]>;

export function EntityView({ id }: { id: string }) {
  // A user with documents alone has entities, too.
  const known = memory.value ?? noMemory.value;
  const version = known.version.value;
  const [entity, setEntity] = useState<Loaded | "missing" | null>(null);
  const [error, setError] = useState<string | null>(null);
  const isOffline = knownAt.value !== null;
  useEffect(() => {
    let stale = false;
    const show = (found: Loaded | "missing") => {
      if (stale) return;
      setEntity(found);
      setError(null);
    };
    // What is shown stays when it cannot be read again.
    read(EntityPage, { id }).then(
      (result) => show(result.entity ?? "missing"),
      (cause: unknown) => {
        if ((cause as { code?: string }).code === "INVALID_ID") show("missing");
        else if (!stale) setError(handleError(cause));
      },
    );
    return () => { stale = true; };
    // Reload when the open session changes: a new fact may be about this entity.
  }, [id, version, isOffline]);

  const back = <a class="quiet back" href={sessionId.value ? sessionHref(sessionId.value) : "#/"}><Icon name="back" />{strings.entity.back}</a>;
  if (entity === null) return <div class="page" aria-busy={!error}>{back}{error ? <Unopened what={strings.entity.noun} why={error} /> : <h1 class="unseen">{strings.entity.title}</h1>}</div>;
  if (entity === "missing") return <div class="page">{back}<h1>{strings.entity.missing}</h1><p class="soft">{strings.entity.missingWhy}</p></div>;
  // Convert facts of other sessions for display without adding them to this session.
  const facts = [...entity.facts.nodes, ...entity.notes.nodes].filter((f) => f.status !== "RETRACTED").map((row) => known.facts.get(row.id) ?? known.toFact(row));
  return (
    <div class="page entity">
      {back}
      {error && <p class="trouble" role="alert">{error}</p>}
      <header>
        <span class="avatar" data-type={entity.type.toLowerCase()} aria-hidden="true">{(entity.isViewer ? strings.viewer : entity.name).slice(0, entity.isViewer ? 3 : 1)}</span>
        <div>
          <h1>{entity.isViewer ? strings.viewerTitle : entity.name}</h1>
          <p class="soft"><span class="type" data-type={entity.type.toLowerCase()}>{entity.type.toLowerCase()}</span>{strings.entity.mentioned(entity.mentionCount, day(entity.createdAt))}</p>
          {entity.aliases.length > 0 && <p class="soft">{strings.entity.aliases(entity.aliases.join(", "))}</p>}
          {entity.description && <p>{entity.description}</p>}
          <p><a class="quiet" href={graphHref(entity.id)}>{strings.entity.inGraph}</a></p>
        </div>
      </header>
      <h2>{strings.entity.facts(facts.length)}</h2>
      <ul class="fact-list">{facts.map((fact) => <FactItem key={fact.id} fact={fact} known={known} />)}</ul>
      <h2>{strings.entity.mentionedIn}</h2>
      <ul class="mentions">
        {entity.mentions.nodes.map((message) => (
          <li key={message.id}>
            <a href={sessionHref(message.session.id)} onClick={(event) => { event.preventDefault(); void showMessage(message.id); }}>
              <q>{message.text}</q>
              <time dateTime={message.sentAt}>{day(message.sentAt)}{message.session.id !== sessionId.value && message.session.title ? strings.entity.inSession(message.session.title) : ""}</time>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
