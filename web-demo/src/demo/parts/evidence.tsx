// "How do you know?": the messages that support or oppose a fact, and the resulting belief.
import { useEffect, useState } from "preact/hooks";
import { FactEvidence, type FactEvidenceResult } from "../generated/operations.ts";
import { retract, showMessage } from "../state/current-session.ts";
import { count, day, formatDays } from "../state/format.ts";
import { type Fact, placeLabel, valueText } from "../state/model.ts";
import { knownAt, NOT_KEPT, read } from "../state/offline.ts";
import { openPassage } from "../state/passages.ts";
import { mayWrite, relations } from "../state/viewer.ts";

type Loaded = NonNullable<FactEvidenceResult["fact"]>;
const targetName = (fact: Pick<Loaded, "object" | "value">) => valueText(fact.value) ?? fact.object?.name ?? "";
const stances = { SUPPORTS: ["for", "✓"], OPPOSES: ["against", "✗"], ENDS: ["ends it", "⊘"] } as const;

/** Shows a message, or a passage with the words that count. */
export function showEvidence({ id, chunk }: { id: string; chunk: { document: { id: string } } | null }, excerpt: string | null) {
  if (chunk) openPassage(chunk.document.id, id, excerpt ?? undefined);
  else void showMessage(id);
}

export const sureness = (belief: number): string => (belief >= 0.7 ? "quite sure" : belief >= 0.55 ? "fairly sure" : belief > 0.45 ? "undecided" : "doubtful");

function summary(fact: Loaded): string {
  const said = fact.evidence.nodes.filter((e) => e.stance === "SUPPORTS").length;
  const against = fact.evidence.nodes.length - said;
  return `${said === 0 ? "Never stated outright" : `Stated ${said === 1 ? "once" : count(said, "time")}`}${against > 0 ? `, contradicted ${against === 1 ? "once" : count(against, "time")}` : ""}. That makes me ${sureness(fact.belief)}: belief ${Math.round(fact.belief * 100)} %.`;
}

function Retract({ factId }: { factId: string }) {
  const [confirming, setConfirming] = useState(false);
  // The fact leaves the list with the button. The next one gets the focus.
  const act = async (button: HTMLElement) => {
    const item = button.closest(".fact");
    const next = (item?.nextElementSibling ?? item?.previousElementSibling)?.querySelector("button") ?? document.getElementById("main");
    if (await retract(factId) && [button, document.body].includes(document.activeElement as HTMLElement)) next?.focus();
  };
  if (!confirming) return <button type="button" class="retract" onClick={() => setConfirming(true)}>This is wrong</button>;
  return <button type="button" class="retract sure" onBlur={() => setConfirming(false)} onClick={(event) => void act(event.currentTarget)}>Retract the fact?</button>;
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

  if (loaded === null) return <div class="evidence" aria-busy="true"><p class="soft">Loading…</p></div>;
  if (loaded === "failed") return <div class="evidence">{isOffline ? <p class="soft">{NOT_KEPT}</p> : <p class="trouble">The evidence could not be loaded.</p>}</div>;
  const halfLife = relations.value.get(loaded.relation)?.halfLifeDays;
  return (
    <div class="evidence">
      <h3>How do I know?</h3>
      <p>{summary(loaded)}</p>
      <ul>
        {loaded.evidence.nodes.map((item) => {
          const [word, mark] = stances[item.stance];
          return (
            <li key={`${item.message.id}${item.createdAt}`} data-stance={item.stance}>
              <button type="button" onClick={() => showEvidence(item.message, item.excerpt)} title={item.message.chunk ? "Show the passage" : "Show the message"}>
                <i aria-label={word}>{mark}</i>
                <q>{item.excerpt ?? item.message.text}</q>
                {item.message.chunk ? <cite>{placeLabel({ filename: item.message.chunk.document.filename, pages: item.message.chunk.pages })}</cite> : <time dateTime={item.message.sentAt}>{day(item.message.sentAt)}</time>}
              </button>
            </li>
          );
        })}
      </ul>
      {loaded.rivals.length > 0 && (
        <ul class="rivals" aria-label="Rivals">
          {[{ id: loaded.id, name: targetName(loaded), share: loaded.relativeWeight, own: true },
            ...loaded.rivals.map((r) => ({ id: r.id, name: valueText(r.value) ?? r.object?.name ?? "", share: r.relativeWeight, own: false }))].map((r) => (
            <li key={r.id} class={r.own ? "own" : ""}><span>{r.name}</span><span class="bar"><i style={{ width: `${r.share * 100}%` }} /></span><span>{Math.round(r.share * 100)} %</span></li>
          ))}
        </ul>
      )}
      {mayWrite(loaded.shared) && <Retract factId={loaded.id} />}
      {halfLife != null && loaded.status === "ACTIVE" && <p class="soft">Unless it is said again, its weight halves every {formatDays(halfLife)}.</p>}
    </div>
  );
}
