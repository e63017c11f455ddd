// One entity: its names, facts and mentions, and how to rename, retype, merge, split or forget it.
import { useState } from "preact/hooks";
import { showMessage } from "../../state/current-session.ts";
import { day } from "../../state/format.ts";
import { graphHref, navigate } from "../../state/route.ts";
import { mayChange } from "../state/context.ts";
import { Triple } from "../../common/parts/fact-line.tsx";
import { useLoaded } from "../../common/state/hooks.ts";
import { noFilters, placeHref } from "../../common/state/place.ts";
import { lower, percent, statusWord, typeWord } from "../../common/state/words.ts";
import { factCount, loadThing, type LoadedThing, type Namesake } from "../state/things.ts";
import { LazyDialog } from "./lazy-dialog.tsx";
import { Gone, Story, Unchangeable } from "./pane.tsx";
import { strings } from "../strings.ts";

const SHOWN_FACTS = 12;
const NothingKnown = () => <Gone title={strings.thing.gone} text={strings.thing.goneWhy} />;

function Actions({ thing }: { thing: LoadedThing }) {
  const [dialog, setDialog] = useState<"add" | "rename" | "retype" | "merge" | "split" | "forget" | null>(null);
  // Chosen in the dialog for a new name.
  const [namesake, setNamesake] = useState<Namesake | null>(null);
  const close = () => { setDialog(null); setNamesake(null); };
  if (!mayChange(thing.shared)) return <Unchangeable shared={thing.shared} />;
  return (
    <div class="actions">
      <button type="button" class="plain" onClick={() => setDialog("add")}>{strings.thing.addFact}</button>
      <button type="button" class="plain" onClick={() => setDialog("rename")}>{strings.thing.rename}</button>
      {!thing.isViewer && <button type="button" class="plain" onClick={() => setDialog("retype")}>{strings.thing.retype}</button>}
      <button type="button" class="plain" onClick={() => setDialog("merge")}>{strings.thing.merge}</button>
      {(thing.aliases.length > 0 || thing.merged.length > 0) && <button type="button" class="plain" onClick={() => setDialog("split")}>{strings.thing.split}</button>}
      <button type="button" class="plain" onClick={() => setDialog("forget")}>{strings.forget}</button>
      {dialog && <LazyDialog onClose={close} render={(dialogs) => {
        switch (dialog) {
          case "add": return <dialogs.AddFact about={thing} onClose={close} />;
          case "rename": return <dialogs.RenameDialog thing={thing} onClose={close} onMerge={(other) => { setNamesake(other); setDialog("merge"); }} />;
          case "retype": return <dialogs.RetypeDialog thing={thing} onClose={close} />;
          case "merge": return <dialogs.MergeDialog thing={thing} namesake={namesake} onClose={close} onMerged={(id) => { if (id !== thing.id) navigate(placeHref({ view: "things", id })); }} />;
          case "split": return <dialogs.SplitDialog thing={thing} first={null} onClose={close} />;
          case "forget": return <dialogs.ForgetDialog title={strings.thing.forget(thing.isViewer ? strings.viewer : thing.name)} target={{ entityIds: [thing.id] }} onClose={close} />;
        }
      }} />}
    </div>
  );
}

function Merged({ thing }: { thing: LoadedThing }) {
  const [splitting, setSplitting] = useState<string | null>(null);
  const close = () => setSplitting(null);
  if (thing.merged.length === 0) return null;
  return (
    <section>
      <h3>{strings.thing.merged}</h3>
      <ul class="merged">
        {thing.merged.map((merged) => (
          <li key={merged.id}><span><b>{merged.name}</b> <span class="soft">{strings.thing.mergedWhen(day(merged.mergedAt), merged.reason)}</span></span>{mayChange(thing.shared) && <button type="button" class="plain" aria-label={strings.thing.splitName(merged.name)} onClick={() => setSplitting(merged.id)}>{strings.thing.split}</button>}</li>
        ))}
      </ul>
      {splitting && <LazyDialog onClose={close} render={({ SplitDialog }) => <SplitDialog thing={thing} first={splitting} onClose={close} />} />}
    </section>
  );
}

export function ThingDetail({ id }: { id: string }) {
  const loaded = useLoaded(id, () => loadThing(id));
  return <Story loaded={loaded} gone={<NothingKnown />}>{(thing) => <Thing thing={thing} />}</Story>;
}

function Thing({ thing }: { thing: LoadedThing }) {
  // The server still returns what was forgotten by its id, until the time for an undo is over.
  if (thing.mentionCount === 0 && factCount(thing) === 0) return <NothingKnown />;
  const facts = [...thing.facts.nodes, ...thing.notes.nodes];
  const total = factCount(thing);
  return (
    <article class="thing-detail">
      <h2 tabIndex={-1}>{thing.isViewer ? strings.viewerTitle : thing.name} <span class="type" data-type={lower(thing.type)}>{typeWord[thing.type]}</span></h2>
      <p class="soft">{strings.thing.about(thing.description, thing.mentionCount, day(thing.createdAt), thing.aliases)}</p>
      <p class="links"><a href={graphHref(thing.id)}>{strings.thing.inGraph}</a></p>
      <Actions thing={thing} />
      <Merged thing={thing} />
      <section>
        <h3>{strings.facts(total)}</h3>
        <ul class="short-facts">
          {facts.slice(0, SHOWN_FACTS).map((fact) => (
            <li key={fact.id} data-status={fact.status}><a href={placeHref({ view: "facts", id: fact.id })}><Triple fact={fact} /><span class="soft">{fact.status === "ACTIVE" ? percent(fact.belief) : statusWord[fact.status]}</span></a></li>
          ))}
        </ul>
        {total > SHOWN_FACTS && <p><a href={placeHref({ view: "facts", filters: { ...noFilters, entity: thing.id } })}>{strings.thing.allFacts(total)}</a></p>}
      </section>
      {thing.mentions.nodes.length > 0 && (
        <section>
          <h3>{strings.thing.lastMentioned}</h3>
          <ol class="history">
            {thing.mentions.nodes.map((message) => (
              <li key={message.id}>
                <p class="what"><time dateTime={message.sentAt}>{day(message.sentAt)}</time>{strings.thing.inSession(message.session.title ?? strings.untitled)}</p>
                <p><q>{message.text}</q></p>
                <p class="links"><button type="button" onClick={() => void showMessage(message.id)}>{strings.showMessage}</button></p>
              </li>
            ))}
          </ol>
        </section>
      )}
    </article>
  );
}
