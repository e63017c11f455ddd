// What a first visitor may try, one step after the other. A step counts as seen when it really happened.
import { signal } from "@preact/signals";

export type Step = "tell" | "again" | "ask" | "why" | "change" | "cut" | "replay";

export interface Suggestion {
  step: Step;
  title: string;
  /** Text to send; without it the step is done with the mouse or keyboard. */
  say?: string;
  hint: string;
}

export const suggestions: Suggestion[] = [
  { step: "tell", title: "Tell something", say: "John likes Mary.", hint: "A fact appears, pushed over WebRTC." },
  { step: "again", title: "Say it again", say: "John likes Mary.", hint: "Its weight grows, and doubt shrinks." },
  { step: "ask", title: "Ask", say: "Who does John like?", hint: "The answer cites where it comes from." },
  { step: "why", title: "How do you know?", hint: "Press a fact to see its evidence." },
  { step: "change", title: "Change your mind", say: "I no longer use React, I switched to Vue.", hint: "The old fact ends, it is not erased." },
  { step: "cut", title: "Cut the line", say: "Sarah works on Phoenix.", hint: "Then say this: Recall learns without you." },
  { step: "replay", title: "Restore it", hint: "What you missed is replayed, each event once." },
];

/** Own messages after which somebody no longer follows the tour, and needs no sentences about John. */
const OWN_WORDS = 3;
const told = new Set(suggestions.map((s) => s.say));

/** What to try next in a conversation with these own messages: with words of one's own, no more sentences are offered. */
export function openSuggestions(own: readonly string[], tried: ReadonlySet<Step>, cut: boolean): Suggestion[] {
  const talks = own.filter((text) => !told.has(text)).length >= OWN_WORDS;
  // Cut, the step "cut" would send its sentence; before that it is the button.
  return suggestions.filter((s) => !tried.has(s.step) && (s.step !== "replay" || cut) && !(talks && s.say && (s.step !== "cut" || cut)));
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
    // Without storage the hints come again on the next visit.
  }
};

export const seen = signal<ReadonlySet<Step>>(new Set(read()));

export function note(step: Step): void {
  if (seen.value.has(step)) return;
  seen.value = new Set([...seen.value, step]);
  write([...seen.value]);
}

export const skipTour = (): void => {
  seen.value = new Set(suggestions.map((s) => s.step));
  write([...seen.value]);
};
