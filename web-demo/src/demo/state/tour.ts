// The tour: suggestions for new users. A step is complete when the user has done it, not when it was shown.
import { signal } from "@preact/signals";
import type { Fact } from "./model.ts";
import { correctionOf, questionAbout, questionOf, sentenceOf, suggestingFacts, type Entities } from "./suggestions.ts";

const steps = ["tell", "why", "ask", "correct", "forget"] as const;
export type Step = (typeof steps)[number];

/** What a suggestion does: sends a sentence, opens a fact, or opens a fact on the Memory page. */
export type SuggestedAction = { readonly say: string } | { readonly openFact: string } | { readonly manageFact: string };

export interface Suggestion {
  readonly step: Step;
  readonly title: string;
  readonly text: string;
  readonly hint: string;
  readonly action: SuggestedAction;
}

export interface Sample {
  readonly title: string;
  readonly say: string;
  readonly hint: string;
}

/** Shown in an empty session. */
export const samples: readonly Sample[] = [
  { title: "About yourself", say: "I work at Siemens.", hint: "A fact appears, with the sentence that it rests on." },
  { title: "About someone else", say: "John likes Mary.", hint: "Say it again, and Recall is more certain." },
  { title: "About a change", say: "I no longer use React, I switched to Vue.", hint: "The old fact ends, it is not erased." },
];

/** After this many messages of their own, users get no more sample sentences. */
const OWN_MESSAGES = 3;
const sampleTexts: ReadonlySet<string> = new Set(samples.map(({ say }) => say));

export interface Conversation {
  readonly facts: Iterable<Fact>;
  readonly entities: Entities;
  /** What the user wrote. */
  readonly texts: readonly string[];
}

function ask(facts: readonly Fact[], entities: Entities): string | null {
  const [newest] = facts;
  const subject = newest && entities.get(newest.subject);
  if (!newest || !subject) return null;
  // A question about a person shows more than the one fact.
  return subject.type === "person" && !subject.isViewer ? questionAbout(subject) : questionOf(newest, entities);
}

/** Suggestions that follow from what was said. */
export function openSuggestions({ facts, entities, texts }: Conversation, tried: ReadonlySet<Step>): Suggestion[] {
  const known = suggestingFacts(facts);
  const [newest] = known;
  const open: Suggestion[] = [];
  const [, sample] = samples;
  if (!newest && sample && texts.filter((text) => !sampleTexts.has(text)).length < OWN_MESSAGES) {
    open.push({ step: "tell", title: "Tell something", text: sample.say, hint: sample.hint, action: { say: sample.say } });
  }
  if (newest) {
    open.push({ step: "why", title: "Why do you believe that?", text: sentenceOf(newest, entities), hint: "Shows the sentences that the fact rests on.", action: { openFact: newest.id } });
  }
  const question = ask(known, entities);
  if (question) open.push({ step: "ask", title: "Ask", text: question, hint: "The answer cites where it comes from.", action: { say: question } });
  const [correction] = known.flatMap((fact) => correctionOf(fact, entities) ?? []);
  if (correction) open.push({ step: "correct", title: "Correct it", text: correction, hint: "The fact ends, it is not erased.", action: { say: correction } });
  if (newest) open.push({ step: "forget", title: "Forget it", text: sentenceOf(newest, entities), hint: "Opens the fact on the Memory page, which can forget it.", action: { manageFact: newest.id } });
  return open.filter(({ step }) => !tried.has(step));
}

const KEY = "recall.tour";
const read = (): Step[] => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? steps.filter((step) => stored.includes(step)) : [];
  } catch {
    return [];
  }
};
const write = (done: Iterable<Step>) => {
  try {
    localStorage.setItem(KEY, JSON.stringify([...done]));
  } catch {
    // Storage is full or forbidden. The hints return after a page load.
  }
};

export const completedSteps = signal<ReadonlySet<Step>>(new Set(read()));
export const progress = (): ReadonlyArray<readonly [Step, boolean]> => steps.map((step) => [step, completedSteps.value.has(step)]);

export function completeStep(step: Step): void {
  if (completedSteps.value.has(step)) return;
  completedSteps.value = new Set([...completedSteps.value, step]);
  write(completedSteps.value);
}

export const skipTour = (): void => {
  completedSteps.value = new Set(steps);
  write(steps);
};
