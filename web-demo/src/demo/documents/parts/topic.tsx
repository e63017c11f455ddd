// A topic: its documents, conversations, names and related topics. And the list of the largest topics.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { read } from "../../state/offline.ts";
import { handleError } from "../../state/problem.ts";
import { documentHref, documentsHref } from "../../state/route.ts";
import { GetTopic, Topics as TopicsQuery, type GetTopicResult, type TopicName } from "../generated/operations.ts";
import { own } from "../state/library.ts";
import { useReadingOnReturn } from "../state/return.ts";
import { Messages, Names, Topics } from "./about.tsx";
import { Unopened } from "../../common/parts/unopened.tsx";
import { strings } from "../strings.ts";

const MAX_LISTED = 12;
type Loaded = NonNullable<GetTopicResult["topic"]>;

/** Loads a topic, or the next messages of it. Returns null if it does not exist. */
async function load(id: string, before: Loaded | null): Promise<Loaded | null> {
  const { topic } = await read(GetTopic, { id, after: before?.messages.pageInfo.endCursor ?? null });
  return topic && { ...topic, messages: { ...topic.messages, nodes: [...(before?.messages.nodes ?? []), ...topic.messages.nodes] } };
}

function Content({ topic, onMore }: { topic: Loaded; onMore: () => void }) {
  const { documents, messages, entities, related } = topic;
  return (
    <div class="about">
      <h1>{topic.name}</h1>
      <p class="soft">{strings.topic.size(topic.size)}{topic.shared && <i class="badge">{strings.shared}</i>}</p>
      {documents.length > 0 && (
        <section aria-label={strings.topic.documents}>
          <h2>{strings.topic.documents}</h2>
          <ul class="said">
            {documents.map(({ id, filename, title, shared }) => (
              <li key={id}><a href={documentHref(id)}><b>{title || filename}</b>{shared && <i class="badge">{strings.shared}</i>}{title && title !== filename && <small>{filename}</small>}</a></li>
            ))}
          </ul>
        </section>
      )}
      {messages.nodes.length > 0 && (
        <section aria-label={strings.topic.conversations}>
          <h2>{strings.topic.conversations}</h2>
          <Messages messages={messages.nodes} label={strings.topic.messages} />
          {messages.pageInfo.hasNextPage && <button type="button" class="earlier" onClick={onMore}>{strings.topic.moreMessages}</button>}
        </section>
      )}
      {entities.length > 0 && <section aria-label={strings.topic.names}><h2>{strings.topic.names}</h2><Names entities={entities} /></section>}
      {related.length > 0 && <section aria-label={strings.topic.related}><h2>{strings.topic.related}</h2><Topics topics={related} label={strings.topic.related} /></section>}
    </div>
  );
}

export function TopicView({ id }: { id: string }) {
  const [topic, setTopic] = useState<Loaded | null>(null);
  const [missing, setMissing] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const show = (before: Loaded | null) => {
    setError(null);
    return load(id, before).then(
      (found) => { if (found) setTopic(found); else setMissing(true); },
      (cause: unknown) => {
        if ((cause as { code?: string }).code === "INVALID_ID") setMissing(true);
        else setError(handleError(cause));
      },
    );
  };
  useEffect(() => void show(null), [id]);
  useReadingOnReturn(() => { if (error !== null) void show(topic); });
  return (
    <div class="column" aria-busy={!topic && !missing && !error}>
      <a class="quiet back" href={documentsHref}><Icon name="back" />{strings.allDocuments}</a>
      {missing && <><h1>{strings.topic.missing}</h1><p class="soft">{strings.topic.missingWhy}</p></>}
      {error && (topic ? <p class="trouble" role="alert">{error}</p> : <Unopened what={strings.nouns.topic} why={error} />)}
      {topic && <Content topic={topic} onMore={() => void show(topic)} />}
    </div>
  );
}

/** The largest topics of the user's documents and conversations. */
export function TopicsList() {
  const [topics, setTopics] = useState<readonly TopicName[]>([]);
  // A document that is read may have brought topics.
  const ready = own.value.rows.filter((row) => row.status === "COMPLETED").length;
  useEffect(() => {
    let stale = false;
    // Without topics the page is complete, too.
    read(TopicsQuery, { first: MAX_LISTED }).then(({ topics: found }) => { if (!stale) setTopics(found.nodes); }, () => {});
    return () => { stale = true; };
  }, [ready]);
  if (topics.length === 0) return null;
  return <section aria-label={strings.topic.topics}><h2>{strings.topic.topics}</h2><Topics topics={topics} label={strings.topic.topicsLabel} /></section>;
}
