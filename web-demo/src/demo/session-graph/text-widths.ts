// Widths of the texts of a drawing, each measured once. They depend on the font, which is that of the system if Figtree is late.

/** Weight and size of each kind of text at scale 1, as in the style sheet. */
const FONTS = { name: "550 12.5px", label: "400 11px", lit: "600 11px" };

export class TextWidths {
  readonly #known = new Map<string, number>();
  /** A canvas measures without a layout of the page, which would take longer than the rest of a drawing. */
  readonly #canvas = document.createElement("canvas").getContext("2d");
  #family = "";

  /** Width in pixels at scale 1. */
  of(text: SVGTextElement, kind: keyof typeof FONTS): number {
    const words = text.textContent ?? "";
    const key = `${kind} ${words}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#family ||= getComputedStyle(document.documentElement).fontFamily;
    if (this.#canvas) this.#canvas.font = `${FONTS[kind]} ${this.#family}`;
    const width = this.#canvas?.measureText(words).width ?? 0;
    this.#known.set(key, width);
    return width;
  }

  /** The font has changed. */
  forget(): void {
    this.#known.clear();
  }
}
