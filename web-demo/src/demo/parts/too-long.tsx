// Says that a text is too long to be sent. Nothing is cut: the writer decides what goes.
import { strings } from "../strings.ts";

/** Code points of a text, counted only if they may be more than `most`. */
export const lengthOf = (text: string, most: number): number => (text.length > most ? [...text].length : text.length);

interface TooLongProps {
  /** For `aria-describedby` of the field. */
  id: string;
  /** What the text is. */
  noun: string;
  most: number;
  length: number;
  advice: string;
}

/** The count is not announced with each key. */
export function TooLong({ id, noun, most, length, advice }: TooLongProps) {
  return (
    <div id={id} class="trouble">
      <p role="alert">{strings.composer.tooLong(noun, most, advice)}</p>
      <p>{strings.composer.length(length, most)}</p>
    </div>
  );
}
