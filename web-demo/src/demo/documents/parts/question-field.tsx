// A field for a question about documents, which says when the question is too long.
import type { ComponentChildren } from "preact";
import { lengthOf, TooLong } from "../../parts/too-long.tsx";
import { strings } from "../strings.ts";

/** The server takes 4 KiB, and a character has up to 4 bytes. */
const MOST_CHARACTERS = 1000;
export const isTooLong = (question: string): boolean => lengthOf(question.trim(), MOST_CHARACTERS) > MOST_CHARACTERS;

interface QuestionFieldProps {
  id: string;
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  /** Buttons next to the field. */
  children: ComponentChildren;
}

export function QuestionField({ id, label, placeholder, value, onChange, children }: QuestionFieldProps) {
  const tooLong = isTooLong(value);
  return (
    <>
      <div class="field">
        <input
          type="text" value={value} aria-label={label} placeholder={placeholder} aria-invalid={tooLong} aria-describedby={tooLong ? id : undefined}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
        {children}
      </div>
      {tooLong && <TooLong id={id} noun={strings.ask.noun} most={MOST_CHARACTERS} length={lengthOf(value.trim(), MOST_CHARACTERS)} advice={strings.ask.shorten} />}
    </>
  );
}
