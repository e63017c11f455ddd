// The theme and the style of dates. Both apply at once and stay in this browser.
import { moment } from "../../state/format.ts";
import { dateStyle, theme, type DateStyle, type Preference } from "../../state/preferences.ts";

const EXAMPLE = new Date(2026, 0, 31, 14, 5);
const themeNames = { system: "Like the system", light: "Light", dark: "Dark" } as const;
const languages: Record<DateStyle, string> = { system: "Like the browser", "en-GB": "British English", "en-US": "American English", "de-DE": "German", "fr-FR": "French", iso: "ISO 8601" };

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
    <Choices name="Theme" preference={theme} label={(choice) => themeNames[choice]} />
    <Choices name="Dates" preference={dateStyle} label={(style) => `${languages[style]}: ${moment(EXAMPLE, style)}`} />
  </>
);
