// What the reader chose for this browser: the theme and the style of dates.
import { effect, signal, type ReadonlySignal } from "@preact/signals";

export interface Preference<Choice extends string> {
  readonly choices: readonly Choice[];
  readonly current: ReadonlySignal<Choice>;
  choose(choice: Choice): void;
  /** Takes over a choice from another tab. */
  reload(): void;
}

/** A choice in localStorage. The first one is the default. */
function storedPreference<Choice extends string>(key: string, choices: readonly [Choice, ...Choice[]]): Preference<Choice> {
  const read = (): Choice => {
    try {
      return choices.find((c) => c === localStorage.getItem(key)) ?? choices[0];
    } catch {
      return choices[0];
    }
  };
  const current = signal(read());
  return {
    choices,
    current,
    choose(choice) {
      current.value = choice;
      try {
        localStorage.setItem(key, choice);
      } catch {
        // Storage is full or forbidden. The choice lasts until the page closes.
      }
    },
    reload() { current.value = read(); },
  };
}

export type DateStyle = "system" | "en-GB" | "en-US" | "de-DE" | "fr-FR" | "iso";
export const dateStyle = storedPreference<DateStyle>("recall.dates", ["system", "en-GB", "en-US", "de-DE", "fr-FR", "iso"]);
/** theme.js applies the stored theme before the first paint. */
export const theme = storedPreference("recall.theme", ["system", "light", "dark"]);

/** Applies the theme, now and after each change, and follows the choices of other tabs. */
export function applyPreferences(): void {
  effect(() => { document.documentElement.dataset["theme"] = theme.current.value; });
  addEventListener("storage", () => {
    theme.reload();
    dateStyle.reload();
  });
}
