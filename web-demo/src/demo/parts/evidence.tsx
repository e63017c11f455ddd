// "How do you know?": the messages a fact rests on, word for word, and how sure that makes it.
import { useEffect, useState } from "preact/hooks";
import { client, mayWrite, relations, retract, showMessage } from "../state/app.ts";
import { FactEvidence, type FactEvidenceResult } from "../generated/operations.ts";
import type { Fact } from "../state/model.ts";
import { count, day, span } from "../state/words.ts";

type Loaded = NonNullable<FactEvidenceResult["fact"]>;
const stances = { SUPPORTS: ["for", "✓"], OPPOSES: ["against", "✗"], ENDS: ["ends it", "⊘"] } as const;

function summary(fact: Loaded): string {
  const said = fact.evidence.nodes.filter((e) => e.stance === "SUPPORTS").length;
  const against = fact.evidence.nodes.length - said;
  const sure = fact.belief >= 0.7 ? "quite sure" : fact.belief >= 0.55 ? "fairly sure" : fact.belief > 0.45 ? "undecided" : "doubtful";
  return `${said === 0 ? "Never stated outright" : `Stated ${said === 1 ? "once" : count(said, "time")}`}${against > 0 ? `, spoken against ${against === 1 ? "once" : count(against, "time")}` : ""}. That makes me ${sure}: belief ${Math.round(fact.belief * 100)} %.`;
}

function Retract({ factId }: { factId: string }) {
  const [asked, setAsked] = useState(false);
  if (!asked) return <button type="button" class="retract" onClick={() => setAsked(true)}>This is wrong</button>;
  return <button type="button" class="retract sure" onBlur={() => setAsked(false)} onClick={() => void retract(factId)}>Take the fact back?</button>;
}

export function Evidence({ fact }: { fact: Fact }) {
  const [loaded, setLoaded] = useState<Loaded | "failed" | null>(null);
  useEffect(() => {
    let stale = false;
    client.graphql(FactEvidence, { id: fact.id }).then(
      (result) => { if (!stale) setLoaded(result.fact ?? "failed"); },
      () => { if (!stale) setLoaded("failed"); },
    );
    return () => { stale = true; };
  }, [fact.id, fact.pulse.count]);

  if (loaded === null) return <div class="evidence" aria-busy="true"><p class="soft">Looking it up…</p></div>;
  if (loaded === "failed") return <div class="evidence"><p class="trouble">The evidence cannot be fetched now.</p></div>;
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
              <button type="button" onClick={() => void showMessage(item.message.id)} title="Show the message">
                <i aria-label={word}>{mark}</i>
                <q>{item.excerpt ?? item.message.text}</q>
                <time dateTime={item.message.sentAt}>{day(item.message.sentAt)}</time>
              </button>
            </li>
          );
        })}
      </ul>
      {loaded.rivals.length > 0 && (
        <ul class="rivals" aria-label="Rivals">
          {[{ id: loaded.id, name: loaded.object.name, share: loaded.relativeWeight, own: true },
            ...loaded.rivals.map((r) => ({ id: r.id, name: r.object.name, share: r.relativeWeight, own: false }))].map((r) => (
            <li key={r.id} class={r.own ? "own" : ""}><span>{r.name}</span><span class="bar"><i style={{ width: `${r.share * 100}%` }} /></span><span>{Math.round(r.share * 100)} %</span></li>
          ))}
        </ul>
      )}
      {mayWrite(loaded.shared) && <Retract factId={loaded.id} />}
      {halfLife != null && loaded.status === "ACTIVE" && <p class="soft">Unless it is said again, half of its weight fades every {span(halfLife)}.</p>}
    </div>
  );
}
