// What is known about a document besides its text: a summary, topics, names, and the messages that have to do with it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { showMessage } from "../../state/current-session.ts";
import { day } from "../../state/format.ts";
import { entityHref, sessionHref, topicHref } from "../../state/route.ts";
import type { EntityName, Said, TopicName } from "../generated/operations.ts";
import { isUnfinished, type OpenedDocument } from "../state/library.ts";

/** As wide as the layout with two columns. On a phone, open groups would push the text down. */
const hasTwoColumns = () => matchMedia("(min-width: 1100px)").matches;

export function Topics({ topics, label }: { topics: readonly TopicName[]; label: string }) {
  return (
    <ul class="topics" aria-label={label}>
      {topics.map((topic) => <li key={topic.id}><a href={topicHref(topic.id)}>{topic.name}{topic.shared && <small> (shared)</small>}</a></li>)}
    </ul>
  );
}

export function Names({ entities }: { entities: readonly EntityName[] }) {
  return (
    <ul class="names" aria-label="Names">
      {entities.map(({ id, name, type, isViewer }) => <li key={id}><a href={entityHref(id)} data-type={type.toLowerCase()}>{isViewer ? "You" : name}</a></li>)}
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
      <summary>{title} ({count})</summary>
      {count === 0 ? <p class="soft">None yet.</p> : children}
    </details>
  );
}

export function About({ row }: { row: OpenedDocument }) {
  // What is found while the user reads must not move the text.
  const [keepsPlace] = useState(isUnfinished(row));
  const [entities, questions, references] = [row.entities.nodes, row.questions.nodes, row.references.nodes];
  return (
    <section class="about" aria-label="About this document">
      {(row.summary || keepsPlace) && <><h2>Summary</h2><p class={row.summary ? undefined : "soft"}>{row.summary ?? "It appears here when the document is read."}</p></>}
      <Group title="Topics" count={row.topics.length} keepsPlace={keepsPlace}><Topics topics={row.topics} label="Topics of this document" /></Group>
      <Group title="Names" count={entities.length} keepsPlace={keepsPlace}><Names entities={entities} /></Group>
      <Group title="Questions it answered" count={questions.length} keepsPlace={false}><Messages messages={questions} label="Questions that this document answered" /></Group>
      <Group title="Messages that refer to it" count={references.length} keepsPlace={false}><Messages messages={references} label="Messages that refer to this document" /></Group>
    </section>
  );
}
