// Says that a text is too long to be sent. Nothing is cut: the writer decides what goes.

/** Code points of a text, counted only if they may be more than `most`. */
export const lengthOf = (text: string, most: number): number => (text.length > most ? [...text].length : text.length);

interface TooLongProps {
  /** For `aria-describedby` of the field. */
  id: string;
  noun: "message" | "question";
  most: number;
  length: number;
  advice: string;
}

/** The count is not announced with each key. */
export function TooLong({ id, noun, most, length, advice }: TooLongProps) {
  return (
    <div id={id} class="trouble">
      <p role="alert">The {noun} is too long to be sent. A {noun} has at most {most.toLocaleString()} characters: {advice}.</p>
      <p>Now it has {length.toLocaleString()} characters, {(length - most).toLocaleString()} too many.</p>
    </div>
  );
}
