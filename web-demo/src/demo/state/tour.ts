// The tour: suggestions for new users. A step is complete when the user has done it, not when it was shown.
import { signal } from "@preact/signals";

export type Step = "tell" | "again" | "ask" | "why" | "change" | "cut" | "replay";

export interface Suggestion {
  step: Step;
  title: string;
  /** Text to send. Absent: the step is a click or key press. */
  say?: string;
  hint: string;
}

export const suggestions: Suggestion[] = [
  { step: "tell", title: "Tell something", say: "John likes Mary.", hint: "A fact appears, pushed over WebRTC." },
  { step: "again", title: "Say it again", say: "John likes Mary.", hint: "Its weight grows, and doubt shrinks." },
  { step: "ask", title: "Ask", say: "Who does John like?", hint: "The answer cites where it comes from." },
  { step: "why", title: "How do you know?", hint: "Press a fact to see its evidence." },
  { step: "change", title: "Change your mind", say: "I no longer use React, I switched to Vue.", hint: "The old fact ends, it is not erased." },
  { step: "cut", title: "Cut the line", say: "Sarah works on Phoenix.", hint: "Then say this: Recall still learns." },
  { step: "replay", title: "Restore it", hint: "What you missed is replayed, each event once." },
];

/** After this many messages of their own, users get no more sample sentences. */
const OWN_MESSAGES = 3;
const sampleTexts = new Set(suggestions.map((s) => s.say));

/** Suggestions for a conversation with these user messages. */
export function openSuggestions(texts: readonly string[], tried: ReadonlySet<Step>, paused: boolean): Suggestion[] {
  const independent = texts.filter((text) => !sampleTexts.has(text)).length >= OWN_MESSAGES;
  // The step "cut" sends a sample sentence only while the stream is paused. Before that it is a button.
  return suggestions.filter((s) => !tried.has(s.step) && (s.step !== "replay" || paused) && !(independent && s.say && (s.step !== "cut" || paused)));
}

const KEY = "recall.tour";
const read = (): Step[] => {
  try {
    const steps: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(steps) ? (steps as Step[]) : [];
  } catch {
    return [];
  }
};
const write = (steps: readonly Step[]) => {
  try {
    localStorage.setItem(KEY, JSON.stringify(steps));
  } catch {
    // Storage is full or forbidden. The hints return after a page load.
  }
};

export const completedSteps = signal<ReadonlySet<Step>>(new Set(read()));

export function completeStep(step: Step): void {
  if (completedSteps.value.has(step)) return;
  completedSteps.value = new Set([...completedSteps.value, step]);
  write([...completedSteps.value]);
}

export const skipTour = (): void => {
  completedSteps.value = new Set(suggestions.map((s) => s.step));
  write([...completedSteps.value]);
};
