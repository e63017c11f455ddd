// Sentences that a fact suggests: a question whose answer it is, and a correction. Pure functions, with phrases of the ontology.
import { phraseFor } from "./format.ts";
import type { Entity, Fact } from "./model.ts";

export type Entities = ReadonlyMap<string, Entity>;

/** Questions that do not follow from the relation's phrase. `{do}`: "do" or "does". null: the server answers only what it knows of the object. */
const QUESTIONS: Readonly<Record<string, string | null>> = {
  WORKS_FOR: "Where {do} {who} work?", LIVES_IN: "Where {do} {who} live?", LOCATED_IN: "Where {be} {who}?", FAMILY_OF: null,
};
/** Relations that do not end. */
const LASTING = new Set(["FAMILY_OF"]);

const isCopula = (phrase: string) => phrase.startsWith("is ");
/** "likes", "works with": not "visited", "has the birthday" or "note:". */
const isPresent = (phrase: string) => !phrase.startsWith("has ") && /^\w*[^\Ws]s\b/.test(phrase);
const isName = (name: string) => /^\p{Lu}/u.test(name);
/** "the office": people write names of things in lower case with an article. */
const subjectName = ({ name, type }: Entity) => (type === "person" || isName(name) ? name : `the ${name}`);
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const targetOf = (fact: Fact, entities: Entities): string => {
  const object = entities.get(fact.object);
  return fact.value ?? (object?.isViewer ? "you" : (object?.name ?? ""));
};

/** "You work for Siemens" */
export function sentenceOf(fact: Fact, entities: Entities): string {
  const subject = entities.get(fact.subject);
  if (!subject) return "";
  return `${subject.isViewer ? "You" : capitalize(subjectName(subject))} ${phraseFor(fact.phrase, subject.isViewer)} ${targetOf(fact, entities)}`;
}

/** "What do you know about Leo?" */
export const questionAbout = (entity: Entity): string => `What do you know about ${subjectName(entity)}?`;

function patternOf({ phrase, relation, value }: Fact, object: Entity | undefined): string | null {
  const known = QUESTIONS[relation];
  if (known !== undefined) return known;
  const asked = value === null && object?.type === "person" ? "Who" : "What";
  if (phrase.startsWith("has the ")) return `What is {whose} ${phrase.slice("has the ".length)}?`;
  if (isCopula(phrase)) return `${asked} {be} {who} ${phrase.slice("is ".length)}?`;
  return isPresent(phrase) ? `${asked} {do} {who} ${phraseFor(phrase, true)}?` : null;
}

/** A question that the fact answers: "Where do I work?". null: none is known. */
export function questionOf(fact: Fact, entities: Entities): string | null {
  const [subject, object] = [entities.get(fact.subject), entities.get(fact.object)];
  if (!subject) return null;
  const pattern = patternOf(fact, object);
  if (pattern === null) return object && object !== subject && !object.isViewer ? questionAbout(object) : null;
  const words: Record<string, string> = subject.isViewer
    ? { do: "do", be: "am", who: "I", whose: "my" } : { do: "does", be: "is", who: subjectName(subject), whose: `${subjectName(subject)}'s` };
  return pattern.replace(/\{(\w+)\}/g, (_, word: string) => words[word] ?? "");
}

/** "I no longer work for Siemens." null: the fact does not end, or its phrase has no such form. */
export function correctionOf(fact: Fact, entities: Entities): string | null {
  const [subject, object] = [entities.get(fact.subject), entities.get(fact.object)];
  const { phrase, relation, value } = fact;
  if (!subject || !object || object.isViewer || value !== null || fact.status !== "active" || LASTING.has(relation)) return null;
  if (isCopula(phrase)) return `${subject.isViewer ? "I am" : `${capitalize(subjectName(subject))} is`} no longer ${phrase.slice("is ".length)} ${object.name}.`;
  if (!isPresent(phrase)) return null;
  return `${subject.isViewer ? "I" : capitalize(subjectName(subject))} no longer ${phraseFor(phrase, subject.isViewer)} ${object.name}.`;
}

/** Facts that suggestions may be about, latest change first. */
export const suggestingFacts = (facts: Iterable<Fact>): Fact[] => [...facts].filter((fact) => fact.status === "active" && fact.relation !== "NOTE").sort((a, b) => b.order - a.order);
