// What is known about a document besides its text: a summary, topics, names, and the messages that have to do with it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { showMessage } from "../../state/current-session.ts";
import { day } from "../../state/format.ts";
import { entityHref, sessionHref, topicHref } from "../../state/route.ts";
import type { EntityName, Said, TopicName } from "../generated/operations.ts";
import { isUnfinished, type OpenedDocument } from "../state/library.ts";
import { strings } from "../strings.ts";

/** As wide as the layout with two columns. On a phone, open groups would push the text down. */
const hasTwoColumns = () => matchMedia("(min-width: 1100px)").matches;

export function Topics({ topics, label }: { topics: readonly TopicName[]; label: string }) {
  return (
    <ul class="topics" aria-label={label}>
      {topics.map((topic) => <li key={topic.id}><a href={topicHref(topic.id)}>{topic.name}{topic.shared && <small>{strings.about.sharedTopic}</small>}</a></li>)}
    </ul>
  );
}

export function Names({ entities }: { entities: readonly EntityName[] }) {
  return (
    <ul class="names" aria-label={strings.about.names}>
      {entities.map(({ id, name, type, isViewer }) => <li key={id}><a href={entityHref(id)} data-type={type.toLowerCase()}>{isViewer ? strings.about.viewer : name}</a></li>)}
    </ul>
  );
}

/** Messages with their conversations. */
export function Messages({ messages, label }: { messages: readonly Said[]; label: string }) {
  return (
    <ul class="said" aria-label={label}>
      {messages.map(({ id, text, sentAt, session }) => (
        <li key={id}>
          <a href={sessionHref(session.id)} onClick={(event) => { event.preventDefault(); void showMessage(id); }}>
            <q>{text}</q>
            <small>{[day(sentAt), session.title].filter(Boolean).join(", ")}</small>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Group({ title, count, keepsPlace, children }: { title: string; count: number; keepsPlace: boolean; children: ComponentChildren }) {
  const [isOpen] = useState(hasTwoColumns);
  if (count === 0 && !keepsPlace) return null;
  return (
    <details open={isOpen}>
      <summary>{strings.about.group(title, count)}</summary>
      {count === 0 ? <p class="soft">{strings.about.noneYet}</p> : children}
    </details>
  );
}

export function About({ row }: { row: OpenedDocument }) {
  // What is found while the user reads must not move the text.
  const [keepsPlace] = useState(isUnfinished(row));
  const [entities, questions, references] = [row.entities.nodes, row.questions.nodes, row.references.nodes];
  return (
    <section class="about" aria-label={strings.about.label}>
      {(row.summary || keepsPlace) && <><h2>{strings.about.summary}</h2><p class={row.summary ? undefined : "soft"}>{row.summary ?? strings.about.noSummary}</p></>}
      <Group title={strings.about.topics} count={row.topics.length} keepsPlace={keepsPlace}><Topics topics={row.topics} label={strings.about.topicsLabel} /></Group>
      <Group title={strings.about.names} count={entities.length} keepsPlace={keepsPlace}><Names entities={entities} /></Group>
      <Group title={strings.about.questions} count={questions.length} keepsPlace={false}><Messages messages={questions} label={strings.about.questionsLabel} /></Group>
      <Group title={strings.about.references} count={references.length} keepsPlace={false}><Messages messages={references} label={strings.about.referencesLabel} /></Group>
    </section>
  );
}
