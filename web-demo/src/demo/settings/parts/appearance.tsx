// The theme and the style of dates. Both apply at once and stay in this browser.
import { moment } from "../../state/format.ts";
import { dateStyle, theme, type Preference } from "../../state/preferences.ts";
import { strings } from "../strings.ts";

const EXAMPLE = new Date(2026, 0, 31, 14, 5);
const words = strings.appearance;

function Choices<Choice extends string>({ name, preference, label }: { name: string; preference: Preference<Choice>; label: (choice: Choice) => string }) {
  return (
    <fieldset>
      <legend>{name}</legend>
      {preference.choices.map((choice) => (
        <label key={choice} class="choice">
          <input type="radio" name={name} checked={preference.current.value === choice} onChange={() => preference.choose(choice)} />{label(choice)}
        </label>
      ))}
    </fieldset>
  );
}

export const Appearance = () => (
  <>
    <Choices name={words.theme} preference={theme} label={(choice) => words.themes[choice]} />
    <Choices name={words.dates} preference={dateStyle} label={(style) => words.dateStyle(words.dateStyles[style], moment(EXAMPLE, style))} />
  </>
);
