// States a fact: subject, relation, and an object or a value.
import type { EntityType } from "@relevantic/recall";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { mayWrite, sessions, useMemoryPage } from "../state/context.ts";
import type { Relation } from "../../common/state/context.ts";
import { useAction } from "../../state/action.ts";
import { titleOf } from "../../state/session-words.ts";
import type { Statement } from "../../state/statements.ts";
import { entityTypes } from "../../common/state/place.ts";
import { aType, nameOf, sentence, typeWord } from "../../common/state/words.ts";
import type { KnownFact, Named } from "../generated/operations.ts";
import { Combobox, selectText, type Option } from "../../common/parts/combobox.tsx";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { EntityField } from "../../common/parts/entity-field.tsx";
import { strings } from "./strings.ts";

/** A name as typed, and the entity if it was chosen from the suggestions. */
interface Side {
  text: string;
  entity: Named | null;
  /** The type if the entity is new. */
  type: EntityType | "";
}

const sideOf = (entity: Named | null): Side => ({ text: entity ? nameOf(entity) : "", entity, type: "" });
const nameForServer = ({ text, entity }: Side) => (entity?.isViewer ? "I" : text.trim());

interface Draft {
  subject: Side;
  relation: string;
  /** Text of the field of the relation. */
  relationText: string;
  object: Side;
  value: string;
  label: string;
}

function draftOf(fact: KnownFact | null): Draft {
  if (!fact) return { subject: sideOf(null), relation: "", relationText: "", object: sideOf(null), value: "", label: "" };
  return {
    subject: sideOf(fact.subject), relation: fact.relation, relationText: fact.phrase, object: sideOf(fact.object),
    value: fact.value?.text ?? "", label: fact.value?.label ?? "",
  };
}

/** The type that was chosen for a new name, if the relation takes it. */
const newType = ({ type }: Side, types: readonly EntityType[]) => (type && (types.length === 0 || types.includes(type)) ? type : "");

function statementOf({ subject, object, value, label }: Draft, relation: Relation): Statement {
  const typeOf = (side: Side, types: readonly EntityType[]) => side.entity?.type ?? (newType(side, types) || undefined);
  return {
    subject: nameForServer(subject), subjectType: typeOf(subject, relation.subjectTypes), relation: relation.name,
    ...(takesValue(relation) ? { value: { text: value.trim(), ...(label.trim() ? { label: label.trim() } : {}) } } : { object: nameForServer(object), objectType: typeOf(object, relation.objectTypes) }),
  };
}

const takesValue = (relation: Relation): boolean => relation.valueTypes.length > 0;

/** Sets the relation. What was typed on its other side stays, as a name or as a value. */
function withRelation(draft: Draft, relation: Relation | undefined, relationText: string): Draft {
  const { object, value } = draft;
  return {
    ...draft, relation: relation?.name ?? "", relationText,
    ...(relation && takesValue(relation) && value === "" && { value: object.text }),
    ...(relation && !takesValue(relation) && object.text === "" && { object: { ...sideOf(null), text: value } }),
  };
}

const valueExample: Record<Relation["valueTypes"][number], string> = strings.form.valueExamples;

/** "a place", "an event or a project". */
const typesText = (types: readonly EntityType[]): string => types.map((type) => aType(type)).join(strings.form.or);

const relationOption = (relation: Relation): Option<Relation> => ({ key: relation.name, label: relation.phrase, hint: relation.description, value: relation });

function findRelations(all: readonly Relation[], text: string): ReadonlyArray<Option<Relation>> {
  const words = text.toLowerCase();
  const starts = (r: Relation) => r.phrase.toLowerCase().startsWith(words);
  const matches = all.filter((r) => starts(r) || `${r.phrase} ${r.name} ${r.description}`.toLowerCase().replaceAll("_", " ").includes(words));
  return matches.sort((a, b) => Number(starts(b)) - Number(starts(a))).slice(0, 12).map(relationOption);
}

/** The name of one side, and its type if the memory does not know the name. */
function SideField({ label, side, types, shared, first, onChange }: { label: string; side: Side; types: readonly EntityType[]; shared: boolean; first: boolean; onChange: (side: Side) => void }) {
  const allowed = types.length > 0 ? types : entityTypes;
  const { entity } = side;
  return (
    <div class="side">
      <EntityField
        label={label} text={side.text} types={types} shared={shared} first={first} required placeholder={strings.form.name}
        onText={(text) => onChange({ ...side, text, entity: null })} onChoose={(entity) => onChange({ text: nameOf(entity), entity, type: "" })}
      />
      {side.text.trim() !== "" && side.text !== "you" && !side.entity && allowed.length > 1 && (
        <label class="kind">
          {strings.form.ifNew}
          <select value={newType(side, types)} onChange={(event) => onChange({ ...side, type: event.currentTarget.value as EntityType | "" })}>
            <option value="">{strings.form.chooseType}</option>
            {allowed.map((type) => <option key={type} value={type}>{typeWord[type]}</option>)}
          </select>
        </label>
      )}
      {entity && !allowed.includes(entity.type) && <p class="trouble" role="alert">{strings.form.wrongType(nameOf(entity), entity.isViewer, aType(entity.type), typesText(types))}</p>}
    </div>
  );
}

/** Which field gets the focus: the first one, or the other side of a fact that is corrected. */
type FirstField = "subject" | "object";

function StatementFields({ draft, shared, first, onChange }: { draft: Draft; shared: boolean; first: FirstField; onChange: (draft: Draft) => void }) {
  const relations = useMemoryPage().ontology.value;
  const relation = relations.find((r) => r.name === draft.relation);
  const find = async (text: string) => findRelations(relations, relation?.phrase === text ? "" : text);
  return (
    <div class="statement">
      <SideField label={strings.form.subject} side={draft.subject} types={relation?.subjectTypes ?? []} shared={shared} first={first === "subject"} onChange={(subject) => onChange({ ...draft, subject })} />
      <Combobox<Relation>
        label={strings.form.relation} text={draft.relationText} required placeholder={strings.form.relationExample} find={find}
        onText={(text) => onChange(withRelation(draft, relations.find((r) => r.phrase.toLowerCase() === text.trim().toLowerCase()), text))}
        onChoose={({ value }) => onChange(withRelation(draft, value, value.phrase))}
      />
      {relation && takesValue(relation) ? (
        <>
          <label>{strings.form.value}<input ref={first === "object" ? selectText : null} type="text" required autofocus={first === "object"} value={draft.value} placeholder={relation.valueTypes.map((type) => valueExample[type]).find(Boolean)} onInput={(event) => onChange({ ...draft, value: event.currentTarget.value })} /></label>
          <label>{strings.form.measure}<input type="text" value={draft.label} onInput={(event) => onChange({ ...draft, label: event.currentTarget.value })} /></label>
        </>
      ) : (
        <SideField label={strings.form.object} side={draft.object} types={relation?.objectTypes ?? []} shared={shared} first={first === "object"} onChange={(object) => onChange({ ...draft, object })} />
      )}
    </div>
  );
}

function FormDialog({ title, submit, draft, shared, first, onChange, onSave, onClose, children }: {
  title: string; submit: string; draft: Draft; shared: boolean; first: FirstField; onChange: (draft: Draft) => void; onSave: (statement: Statement) => Promise<void>; onClose: () => void; children: ComponentChildren;
}) {
  const relation = useMemoryPage().ontology.value.find((r) => r.name === draft.relation);
  const { busy, error, run } = useAction();
  const save = async (event: Event) => {
    event.preventDefault();
    if (relation && (await run(() => onSave(statementOf(draft, relation))))) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <StatementFields draft={draft} shared={shared} first={first} onChange={onChange} />
        {draft.relationText.trim() !== "" && !relation && <p class="soft">{strings.form.chooseRelation}</p>}
        {children}
        <Trouble text={error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>{strings.cancel}</button>
          <button type="submit" class="strong" disabled={busy || !relation}>{submit}</button>
        </footer>
      </form>
    </Dialog>
  );
}

/** `about`: starts with this entity as the subject. */
export function AddFact({ about = null, onClose }: { about?: Named | null; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const [draft, setDraft] = useState<Draft>({ ...draftOf(null), subject: sideOf(about) });
  const [session, setSession] = useState("");
  const writable = sessions.value.filter((s) => mayWrite(s.shared));
  const shared = writable.find((s) => s.id === session)?.shared ?? false;
  return (
    <FormDialog title={strings.add.title} submit={strings.add.add} first="subject" draft={draft} shared={shared} onChange={setDraft} onSave={(statement) => steer.add(statement, session || undefined)} onClose={onClose}>
      <details>
        <summary>{strings.add.where}</summary>
        <label>
          {strings.add.session}
          <select value={session} onChange={(event) => setSession(event.currentTarget.value)}>
            <option value="">{strings.add.openSession}</option>
            {writable.map((s) => <option key={s.id} value={s.id}>{strings.add.option(titleOf(s), s.shared)}</option>)}
          </select>
        </label>
      </details>
    </FormDialog>
  );
}

/** States the right fact and retracts the wrong one. */
export function CorrectFact({ fact, onClose }: { fact: KnownFact; onClose: () => void }) {
  const { steer } = useMemoryPage();
  const [draft, setDraft] = useState(() => draftOf(fact));
  const [reason, setReason] = useState("");
  return (
    <FormDialog title={strings.correct.title} submit={strings.correct.correct} first="object" draft={draft} shared={fact.shared} onChange={setDraft} onSave={(right) => steer.correct(fact, right, reason.trim())} onClose={onClose}>
      <p class="soft">{strings.correct.now[0]}<q>{sentence(fact)}</q>{strings.correct.now[1]}</p>
      <label>{strings.correct.reason}<textarea rows={2} value={reason} placeholder={strings.correct.reasonHint} onInput={(event) => setReason(event.currentTarget.value)} /></label>
    </FormDialog>
  );
}
