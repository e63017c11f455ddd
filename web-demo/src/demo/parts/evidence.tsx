// "How do you know?": the messages that support or oppose a fact, and the resulting belief.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { FactEvidence, type FactEvidenceResult } from "../generated/operations.ts";
import { retract, showMessage } from "../state/current-session.ts";
import { day, percent, weightText } from "../state/format.ts";
import { type Fact, placeLabel, valueText } from "../state/model.ts";
import { knownAt, NOT_KEPT, read } from "../state/offline.ts";
import { openPassage } from "../state/passages.ts";
import { useAction } from "../state/action.ts";
import { client } from "../state/login.ts";
import { assertKnown, quoteOf, sayings, sessionOf } from "../state/statements.ts";
import { mayWrite, relations } from "../state/viewer.ts";
import { strings } from "../strings.ts";

type Loaded = NonNullable<FactEvidenceResult["fact"]>;
const targetName = (fact: Pick<Loaded, "object" | "value">) => valueText(fact.value) ?? fact.object?.name ?? "";
const { stances, sureness: words } = strings.evidence;

/** Shows a message, or a passage with the words that count. */
export function showEvidence({ id, chunk }: { id: string; chunk: { document: { id: string } } | null }, excerpt: string | null) {
  if (chunk) openPassage(chunk.document.id, id, excerpt ?? undefined);
  else void showMessage(id);
}

export const sureness = (belief: number): string => (belief >= 0.7 ? words.sure : belief >= 0.55 ? words.fairlySure : belief > 0.45 ? words.undecided : words.doubtful);

function summary(fact: Loaded): string {
  const said = fact.evidence.nodes.filter((e) => e.stance === "SUPPORTS").length;
  const against = fact.evidence.nodes.length - said;
  return strings.evidence.summary(said, against, sureness(fact.belief), percent(fact.belief));
}

/** What the user can say against a fact, each with what it does. */
function Objections({ fact }: { fact: Loaded }) {
  const [isOpen, setOpen] = useState(false);
  const { busy, error, run } = useAction();
  const box = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(false);
  // The button that was pressed is gone.
  useEffect(() => {
    if (isOpen !== wasOpen.current) box.current?.querySelector("button")?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  // A fact that has ended has no objections. The reader goes on at the fact.
  useLayoutEffect(() => {
    const { current: node } = box;
    const line = node?.closest(".fact")?.querySelector<HTMLElement>(".fact-line");
    return () => {
      if (node?.contains(document.activeElement)) setTimeout(() => { if (document.activeElement === document.body) line?.focus(); });
    };
  }, []);
  const say = (stance: "OPPOSES" | "ENDS") => () => {
    // Not disabled meanwhile: a disabled button loses the focus.
    if (busy) return;
    void run(async () => {
      await assertKnown(client, fact, await sessionOf(fact.evidence.nodes, fact.shared), stance);
      setOpen(false);
    });
  };
  const choices = [
    [...sayings.deny, say("OPPOSES")], [...sayings.end, say("ENDS")], [strings.evidence.retract, sayings.retract[1], () => void retract(fact.id)],
  ] as const;
  return (
    <div class="objections" ref={box}>
      {isOpen ? (
        <div role="group" aria-label={strings.evidence.whatIsWrong}>
          {choices.map(([word, meaning, act]) => <button type="button" key={word} class="choice" onClick={act}><b>{word}</b> <span>{meaning}</span></button>)}
          {error && <p class="trouble" role="alert">{error}</p>}
          <button type="button" class="retract" onClick={() => setOpen(false)}>{strings.evidence.leave}</button>
        </div>
      ) : <button type="button" class="retract" onClick={() => setOpen(true)}>{strings.evidence.wrong}</button>}
    </div>
  );
}

export function Evidence({ fact }: { fact: Fact }) {
  const [loaded, setLoaded] = useState<Loaded | "failed" | null>(null);
  const isOffline = knownAt.value !== null;
  useEffect(() => {
    let stale = false;
    read(FactEvidence, { id: fact.id }).then(
      (result) => { if (!stale) setLoaded(result.fact ?? "failed"); },
      () => { if (!stale) setLoaded("failed"); },
    );
    return () => { stale = true; };
  }, [fact.id, fact.pulse.count, isOffline]);

  if (loaded === null) return <div class="evidence" aria-busy="true"><p class="soft">{strings.loading}</p></div>;
  if (loaded === "failed") return <div class="evidence">{isOffline ? <p class="soft">{NOT_KEPT}</p> : <p class="trouble">{strings.evidence.failed}</p>}</div>;
  const halfLife = relations.value.get(loaded.relation)?.halfLifeDays;
  return (
    <div class="evidence">
      <h3>{strings.evidence.title}</h3>
      <p>{summary(loaded)}</p>
      <ul>
        {loaded.evidence.nodes.map((item) => {
          const [word, mark] = stances[item.stance];
          return (
            <li key={`${item.message.id}${item.createdAt}`} data-stance={item.stance}>
              <button type="button" onClick={() => showEvidence(item.message, item.excerpt)} title={item.message.chunk ? strings.evidence.showPassage : strings.evidence.showMessage}>
                <i aria-label={word}>{mark}</i>
                {quoteOf(item) ? <q>{quoteOf(item)}</q> : <span>{strings.forgotten}</span>}
                {item.message.chunk ? <cite>{placeLabel({ filename: item.message.chunk.document.filename, pages: item.message.chunk.pages })}</cite> : <time dateTime={item.message.sentAt}>{day(item.message.sentAt)}</time>}
              </button>
            </li>
          );
        })}
      </ul>
      {loaded.rivals.length > 0 && (
        <ul class="rivals" aria-label={strings.evidence.rivals}>
          {[{ id: loaded.id, name: targetName(loaded), share: loaded.relativeWeight, own: true },
            ...loaded.rivals.map((r) => ({ id: r.id, name: valueText(r.value) ?? r.object?.name ?? "", share: r.relativeWeight, own: false }))].map((r) => (
            <li key={r.id} class={r.own ? "own" : ""}><span>{r.name}</span><span class="bar"><i style={{ width: `${r.share * 100}%` }} /></span><span><span class="unseen">{strings.evidence.share}</span>{percent(r.share)}</span></li>
          ))}
        </ul>
      )}
      {mayWrite(loaded.shared) && loaded.status === "ACTIVE" && !isOffline && <Objections fact={loaded} />}
      {loaded.status === "ACTIVE" && <p class="soft">{strings.evidence.weight(weightText(loaded.weight, halfLife))}</p>}
    </div>
  );
}
