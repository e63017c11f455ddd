// One fact: why the memory believes it, what contradicts it, how it came about, and what the reader can do about it.
import { useEffect, useRef, useState } from "preact/hooks";
import { showEvidence, sureness } from "../../parts/evidence.tsx";
import { day, weightText } from "../../state/format.ts";
import { quoteOf, sayings, wasAsserted } from "../../state/statements.ts";
import { FactEvidencePage, FactStory, type FactEvidencePageResult, type FactStoryResult, type KnownFact, type Named } from "../generated/operations.ts";
import { handleError, mayChange, problem, read, useMemoryPage } from "../state/context.ts";
import { useAction } from "../../state/action.ts";
import { Triple } from "../../common/parts/fact-line.tsx";
import { BeliefBar } from "../../parts/facts.tsx";
import { useLoaded } from "../../common/state/hooks.ts";
import { isBy } from "../../common/state/day.ts";
import { placeHref, type Place } from "../../common/state/place.ts";
import { nameOf, otherSide, percent, sentence, statusWord } from "../../common/state/words.ts";
import { LazyDialog } from "./lazy-dialog.tsx";
import { Gone, Story, Unchangeable } from "./pane.tsx";
import { timesOf } from "../state/times.ts";
import { PastVerdict } from "./past.tsx";
import { strings } from "../strings.ts";

type Loaded = NonNullable<FactStoryResult["fact"]>;
type EvidencePage = NonNullable<FactEvidencePageResult["fact"]>["evidence"];
type Item = EvidencePage["nodes"][number];

const loadEvidence = async (id: string, after: string | null): Promise<EvidencePage> =>
  (await read(FactEvidencePage, { id, after })).fact?.evidence ?? { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

async function loadStory(id: string): Promise<{ fact: Loaded; evidence: EvidencePage } | null> {
  const [{ fact }, evidence] = await Promise.all([read(FactStory, { id }), loadEvidence(id, null)]);
  return fact && { fact, evidence };
}

function Verdict({ fact, evidence }: { fact: Loaded; evidence: EvidencePage }) {
  const said = evidence.nodes.filter((e) => e.stance === "SUPPORTS").length;
  const against = evidence.nodes.length - said;
  const [sure, belief] = strings.fact.isSure;
  const [notCounted, end] = strings.fact.doesNotCount;
  return (
    <div class="verdict">
      <BeliefBar fact={fact} />
      <p>
        {fact.status === "ACTIVE" ? <>{sure}<b>{sureness(fact.belief)}</b>{belief(percent(fact.belief))}</> : <>{notCounted}<b>{statusWord[fact.status]}</b>{end}</>}
        {strings.fact.said(said, against, evidence.pageInfo.hasNextPage)}
        {fact.flagged && strings.fact.flagged}
      </p>
    </div>
  );
}

function Actions({ fact }: { fact: KnownFact }) {
  const { steer } = useMemoryPage();
  const [dialog, setDialog] = useState<"correct" | "forget" | null>(null);
  const close = () => setDialog(null);
  const { busy, error, run } = useAction();
  const buttons = useRef<HTMLDivElement>(null);
  /** The button that acts. */
  const pressed = useRef<HTMLButtonElement | null>(null);
  const holds = fact.status === "ACTIVE";
  // The button that had the focus is disabled meanwhile, and may be gone when the fact is read again.
  useEffect(() => {
    if (busy || !pressed.current) return;
    const isThere = pressed.current.isConnected;
    if (document.activeElement === document.body) (isThere ? pressed.current : buttons.current?.querySelector("button"))?.focus();
    if (!isThere || document.activeElement !== pressed.current) pressed.current = null;
  }, [busy, holds]);
  const act = (event: { currentTarget: HTMLButtonElement }, work: () => Promise<unknown>) => {
    pressed.current = event.currentTarget;
    void run(work);
  };
  if (!mayChange(fact.shared)) return <Unchangeable shared={fact.shared} />;
  return (
    <div class="actions" ref={buttons}>
      <button type="button" class="plain" disabled={busy} onClick={(event) => act(event, () => (holds ? steer.confirm(fact) : steer.restore(fact)))}>{holds ? sayings.confirm[0] : strings.fact.restore}</button>
      <button type="button" class="plain" disabled={busy} onClick={() => setDialog("correct")}>{strings.fact.correct}</button>
      {holds && (
        <>
          <button type="button" class="plain" disabled={busy} onClick={(event) => act(event, () => steer.deny(fact))}>{sayings.deny[0]}</button>
          <button type="button" class="plain" disabled={busy} onClick={(event) => act(event, () => steer.end(fact))}>{sayings.end[0]}</button>
          <button type="button" class="plain" disabled={busy} onClick={(event) => act(event, () => steer.retract([fact]))}>{sayings.retract[0]}</button>
        </>
      )}
      <button type="button" class="plain" disabled={busy} onClick={() => setDialog("forget")}>{strings.forget}</button>
      {holds && (
        <details class="sayings">
          <summary>{strings.fact.whatTheseDo}</summary>
          <dl>{Object.values(sayings).map(([word, meaning]) => <><dt>{word}</dt><dd>{meaning}</dd></>)}</dl>
        </details>
      )}
      {error && <p class="trouble" role="alert">{error}</p>}
      {dialog === "correct" && <LazyDialog onClose={close} render={({ CorrectFact }) => <CorrectFact fact={fact} onClose={close} />} />}
      {dialog === "forget" && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={strings.fact.forget} target={{ factIds: [fact.id] }} onClose={close} />} />}
    </div>
  );
}

function Rivals({ fact }: { fact: Loaded }) {
  if (fact.rivals.length === 0) return null;
  return (
    <section>
      <h3>{strings.fact.rivals}</h3>
      <ul class="rival-list">
        {[fact, ...fact.rivals].map((rival) => (
          <li key={rival.id} data-own={rival.id === fact.id || undefined}>
            {rival.id === fact.id ? <b>{otherSide(rival)}</b> : <a href={placeHref({ view: "facts", id: rival.id })}>{rival.relation === fact.relation ? otherSide(rival) : sentence(rival)}</a>}
            <span class="bar" aria-hidden="true"><i style={{ width: `${rival.relativeWeight * 100}%` }} /></span>
            <span><span class="unseen">{strings.fact.share}</span>{percent(rival.relativeWeight)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function sourceOf({ message }: Item): string {
  const { chunk, session, speaker } = message;
  if (chunk) return [chunk.document.filename, chunk.heading, chunk.pages && strings.fact.page(chunk.pages.first)].filter(Boolean).join(", ");
  return [speaker && strings.fact.saidBy(speaker), session.title ?? strings.untitled].filter(Boolean).join(", ");
}

function EvidenceItem({ item, writable }: { item: Item; writable: boolean }) {
  const [forgetting, setForgetting] = useState(false);
  const close = () => setForgetting(false);
  const { message, stance } = item;
  const quote = quoteOf(item);
  return (
    <li data-stance={stance}>
      <p class="what"><b>{strings.fact.stances[stance]}{wasAsserted(item.message) && strings.fact.byYou}</b> <time dateTime={message.sentAt}>{day(message.sentAt)}</time>{strings.fact.source(sourceOf(item))}</p>
      <p>{quote ? <q>{quote}</q> : strings.forgotten}</p>
      <p class="links">
        <button type="button" onClick={() => showEvidence(message, item.excerpt)}>{message.chunk ? strings.showPassage : strings.showMessage}</button>
        {writable && !message.chunk && quote && <button type="button" onClick={() => setForgetting(true)}>{strings.fact.removeMessage}</button>}
      </p>
      {forgetting && <LazyDialog onClose={close} render={({ ForgetDialog }) => <ForgetDialog title={strings.removeMessage} target={{ messageIds: [message.id] }} messageId={message.id} onClose={close} />} />}
    </li>
  );
}

/** What happened to the fact, latest first. */
function History({ fact, first, writable }: { fact: Loaded; first: EvidencePage; writable: boolean }) {
  const [more, setMore] = useState<EvidencePage | null>(null);
  const { pageInfo } = more ?? first;
  const loadMore = () => void loadEvidence(fact.id, pageInfo.endCursor).then(
    (page) => setMore({ nodes: [...(more?.nodes ?? []), ...page.nodes], pageInfo: page.pageInfo }),
    (error: unknown) => { problem.value = handleError(error); },
  );
  return (
    <section>
      <h3>{strings.fact.history}</h3>
      <ol class="history">
        {fact.status === "RETRACTED" && <li data-stance="ENDS"><p class="what"><b>{strings.fact.retracted}</b> <time dateTime={fact.updatedAt}>{day(fact.updatedAt)}</time></p></li>}
        {[...first.nodes, ...(more?.nodes ?? [])].map((item) => <EvidenceItem key={`${item.message.id} ${item.stance}`} item={item} writable={writable} />)}
        {!pageInfo.hasNextPage && <li><p class="what">{strings.fact.firstRecorded}<time dateTime={fact.createdAt}>{day(fact.createdAt)}</time></p></li>}
      </ol>
      {pageInfo.hasNextPage && <button type="button" class="plain" onClick={loadMore}>{strings.fact.earlier}</button>}
    </section>
  );
}

const Side = ({ entity }: { entity: Named }) => <a href={placeHref({ view: "things", id: entity.id })}>{nameOf(entity)}</a>;

function Details({ fact, isPast }: { fact: Loaded; isPast: boolean }) {
  const halfLife = useMemoryPage().ontology.value.find((r) => r.name === fact.relation)?.halfLifeDays;
  return (
    <dl class="details">
      <dt>{strings.fact.about}</dt><dd><Side entity={fact.subject} />{fact.object && <>, <Side entity={fact.object} /></>}</dd>
      {timesOf(fact).map(([word, iso, text]) => <><dt>{word}</dt><dd><time dateTime={iso}>{text}</time></dd></>)}
      {!isPast && fact.status === "ACTIVE" && <><dt>{strings.fact.weight}</dt><dd>{weightText(fact.weight, halfLife)}</dd></>}
    </dl>
  );
}

/** In the past, the page offers nothing that would change the fact of today. */
export function FactDetail({ id, place }: { id: string; place: Place }) {
  const story = useLoaded(id, () => loadStory(id));
  const { asOf } = place.filters;
  return (
    <Story loaded={story} gone={<Gone title={strings.fact.gone} text={strings.fact.goneWhy} />}>
      {({ fact, evidence }) => (
        <article class="fact-detail" data-status={asOf ? undefined : fact.status}>
          <h2 tabIndex={-1}><Triple fact={fact} /></h2>
          {fact.shared && <p><span class="badge">{strings.shared}</span> <span class="soft">{strings.fact.isShared}</span></p>}
          {asOf ? <PastVerdict fact={fact} place={place} wasStated={evidence.nodes.some(({ stance, message }) => stance === "SUPPORTS" && isBy(message.sentAt, asOf))} /> : (
            <>
              <Verdict fact={fact} evidence={evidence} />
              <Actions fact={fact} />
              <Rivals fact={fact} />
            </>
          )}
          <History key={fact.id} fact={fact} first={evidence} writable={!asOf && mayChange(fact.shared)} />
          <Details fact={fact} isPast={asOf !== ""} />
        </article>
      )}
    </Story>
  );
}
