// Widths of the texts of a drawing, each measured once. They depend on the font, which is that of the system if Figtree is late, and on the spacing that a reader chose.

interface Font {
  readonly font: string;
  readonly letterSpacing: string;
  readonly wordSpacing: string;
}

/** The font of a text at scale 1. */
function fontOf(text: SVGTextElement, letter: number): Font {
  const { fontWeight, fontSize, fontFamily, letterSpacing, wordSpacing } = getComputedStyle(text);
  const atOne = (length: string) => `${(parseFloat(length) || 0) / letter}px`;
  return { font: `${fontWeight} ${atOne(fontSize)} ${fontFamily}`, letterSpacing: atOne(letterSpacing), wordSpacing: atOne(wordSpacing) };
}

export class TextWidths {
  readonly #widths = new Map<string, number>();
  readonly #fonts = new Map<string, Font>();
  /** A canvas measures without a layout of the page, which would take longer than the rest of a drawing. */
  readonly #canvas = document.createElement("canvas").getContext("2d");

  /** Width in pixels at scale 1. `kind`: texts of one kind have the same size and weight. `letter`: size of the letters at the moment. */
  of(text: SVGTextElement, kind: string, letter: number): number {
    const words = text.textContent ?? "";
    const key = `${kind} ${words}`;
    const known = this.#widths.get(key);
    if (known !== undefined) return known;
    const font = this.#fonts.get(kind) ?? fontOf(text, letter);
    this.#fonts.set(kind, font);
    const width = this.#canvas ? Object.assign(this.#canvas, font).measureText(words).width : 0;
    this.#widths.set(key, width);
    return width;
  }

  /** The font has changed. */
  forget(): void {
    this.#widths.clear();
    this.#fonts.clear();
  }
}
