// Widths of the texts of a drawing, each measured once. They depend on the font, which is that of the system if Figtree is late.

export class TextWidths {
  readonly #known = new Map<string, number>();

  /** Width in pixels at scale 1. `kind`: texts of one kind have the same size and weight. `letter`: size of the letters at the moment. */
  of(text: SVGTextElement, kind: string, letter: number): number {
    const key = `${kind} ${text.textContent ?? ""}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const width = text.getComputedTextLength() / letter;
    this.#known.set(key, width);
    return width;
  }

  /** The font has changed. */
  forget(): void {
    this.#known.clear();
  }
}
