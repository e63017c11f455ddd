// Facts, entities and counts in words.
import { phraseFor } from "../../state/format.ts";
import { valueText } from "../../state/model.ts";
import type { KnownFact, Named } from "../generated/operations.ts";

type FactWords = Pick<KnownFact, "phrase" | "value"> & { subject: Pick<Named, "name" | "isViewer">; object: Pick<Named, "name" | "isViewer"> | null };

export const nameOf = (entity: Pick<Named, "name" | "isViewer"> | null): string => (entity?.isViewer ? "you" : (entity?.name ?? "?"));
export const otherSide = (fact: FactWords): string => valueText(fact.value) ?? nameOf(fact.object);
/** Whether the fact is a note. The phrase of notes ends with a colon, and their words name the subject themselves. */
export const isNote = (fact: Pick<FactWords, "phrase" | "value">): boolean => fact.value !== null && fact.phrase.endsWith(":");
/** "Sarah lives in Ghent". */
export const sentence = (fact: FactWords): string => isNote(fact) ? otherSide(fact).replace(/\.$/, "") : `${nameOf(fact.subject)} ${phraseFor(fact.phrase, fact.subject.isViewer)} ${otherSide(fact)}`;
export const lower = <T extends string>(text: T) => text.toLowerCase() as Lowercase<T>;

export const statusWord = { ACTIVE: "holds", ENDED: "ended", RETRACTED: "retracted" } as const;
/** What happened to a fact since a past day, by its status of today. */
export const changeWord = { ...statusWord, ACTIVE: "learned" } as const;
export const typeWord = {
  PERSON: "person", ORGANIZATION: "organization", PLACE: "place", PROJECT: "project", TOOL: "tool", CONCEPT: "concept", EVENT: "event", THING: "thing",
} as const;
/** "a person", "an event". */
export const aType = (type: keyof typeof typeWord): string => `${/^[aeiou]/.test(typeWord[type]) ? "an" : "a"} ${typeWord[type]}`;

export { count as manyOf, factsAndMessages, percent } from "../../state/format.ts";
