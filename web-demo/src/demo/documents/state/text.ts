// Joins the chunks of a document to its text: sections with headings, paragraphs, and where pages begin.
// Chunks overlap, and their offsets count Unicode code points, so texts are handled as arrays of code points.
import { pageLabel } from "../../state/model.ts";
import type { ChunkRow } from "../generated/operations.ts";

/** A part of the text, in code points from the beginning of the document. `end` is exclusive. */
export interface Range {
  start: number;
  end: number;
}

export interface Paragraph extends Range {
  text: string;
  /** "Page 3", if other pages begin here than those of the text before. */
  pages: string | null;
}

export interface Section {
  /** The position of its first chunk. */
  key: number;
  /** Its heading, after headings above it that have no text of their own. */
  headings: string[];
  paragraphs: Paragraph[];
}

const oneLine = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** The text of consecutive chunks of one section. */
interface Draft {
  chunks: ChunkRow[];
  text: string[];
  start: number;
}

const endOf = (draft: Draft): number => draft.start + draft.text.length;

function beginsSection(chunk: ChunkRow, draft: Draft): boolean {
  if (chunk.heading !== draft.chunks[0]?.heading) return true;
  return chunk.heading !== null && chunk.charOffset >= endOf(draft) && chunk.text.startsWith(`${chunk.heading}\n`);
}

/** Adds what a chunk has more than the chunks before. Only white space lies between chunks that do not overlap. */
function append(draft: Draft, chunk: ChunkRow) {
  const missing = chunk.charOffset - endOf(draft);
  if (missing > 1) draft.text.push(...Array.from<string>({ length: missing }).fill("\n"));
  else if (missing === 1) draft.text.push(" ");
  // A spread of a long text would exceed the number of arguments that a call may have.
  for (const point of Array.from(chunk.text).slice(Math.max(0, -missing))) draft.text.push(point);
  draft.chunks.push(chunk);
}

/** Counts the code points of the headings with which a section begins, and returns them. */
function takeHeadings(draft: Draft): { headings: string[]; length: number } {
  const heading = draft.chunks[0]?.heading;
  if (!heading) return { headings: [], length: 0 };
  const lines = draft.text.slice(0, 3000).join("").split("\n").slice(0, 12);
  for (let last = 0; last < lines.length; last += 1) {
    // A long heading has several lines.
    for (let first = last; first >= 0; first -= 1) {
      if (oneLine(lines.slice(first, last + 1).join(" ")) !== heading) continue;
      const above = lines.slice(0, first).map(oneLine).filter(Boolean);
      return { headings: [...above, heading], length: Array.from(lines.slice(0, last + 1).join("\n")).length };
    }
  }
  return { headings: [heading], length: 0 };
}

/** Splits the text after the headings at empty lines. */
function splitParagraphs(draft: Draft, from: number): Paragraph[] {
  const body = draft.text.slice(from).join("");
  const paragraphs: Paragraph[] = [];
  let start = draft.start + from;
  for (const part of body.split(/(\n[^\S\n]*(?:\n\s*)+)/)) {
    const length = Array.from(part).length;
    const text = part.replace(/^\n+|\s+$/g, "");
    // White space at the beginning is not shown, so the paragraph starts behind it.
    const skipped = /^\n*/.exec(part)?.[0].length ?? 0;
    if (text.trim() !== "") paragraphs.push({ start: start + skipped, end: start + skipped + Array.from(text).length, text, pages: null });
    start += length;
  }
  return paragraphs;
}

/** Joins chunks, in order and from the first, to sections. */
export function joinChunks(chunks: readonly ChunkRow[]): Section[] {
  const drafts: Draft[] = [];
  for (const chunk of chunks) {
    let draft = drafts.at(-1);
    if (!draft || beginsSection(chunk, draft)) drafts.push((draft = { chunks: [], text: [], start: chunk.charOffset }));
    append(draft, chunk);
  }
  let shownPages: string | null = null;
  return drafts.map((draft) => {
    const { headings, length } = takeHeadings(draft);
    const paragraphs = splitParagraphs(draft, length);
    for (const paragraph of paragraphs) {
      const chunk = draft.chunks.findLast((c) => c.charOffset <= paragraph.start) ?? draft.chunks[0];
      const label = chunk?.pages ? pageLabel(chunk.pages) : null;
      if (label && label !== shownPages) paragraph.pages = label;
      shownPages = label ?? shownPages;
    }
    return { key: draft.chunks[0]?.position ?? 0, headings, paragraphs };
  });
}

export const rangeOf = (chunk: Pick<ChunkRow, "charOffset" | "text">): Range => ({ start: chunk.charOffset, end: chunk.charOffset + Array.from(chunk.text).length });

/** Finds an excerpt in a chunk, whatever white space either has. The excerpt may be cut at the end. */
export function findExcerpt(chunk: Pick<ChunkRow, "charOffset" | "text">, excerpt: string | undefined): Range | null {
  const words = oneLine(excerpt ?? "").replace(/(…|\.\.\.)$/, "").trim();
  if (words === "") return null;
  const pattern = words.split(" ").map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = new RegExp(pattern, "u").exec(chunk.text);
  if (!found) return null;
  const start = chunk.charOffset + Array.from(chunk.text.slice(0, found.index)).length;
  return { start, end: start + Array.from(found[0]).length };
}

/** A piece of a paragraph. */
export interface Piece {
  text: string;
  cited: boolean;
  /** Part of the words that were cited. */
  quoted: boolean;
}

/** Splits a paragraph at the ends of the cited passage and of the quoted words. */
export function splitAt(paragraph: Paragraph, cited: Range | null, quoted: Range | null): Piece[] {
  const points = Array.from(paragraph.text);
  const borders = [cited, quoted].flatMap((range) => (range ? [range.start, range.end] : [])).map((at) => Math.min(points.length, Math.max(0, at - paragraph.start)));
  const ends = [...new Set([...borders, points.length])].sort((a, b) => a - b);
  const isIn = (at: number, range: Range | null) => range !== null && paragraph.start + at >= range.start && paragraph.start + at < range.end;
  const pieces: Piece[] = [];
  let from = 0;
  for (const to of ends) {
    if (to > from) pieces.push({ text: points.slice(from, to).join(""), cited: isIn(from, cited), quoted: isIn(from, quoted) });
    from = to;
  }
  return pieces;
}

const WORD = /[\p{L}\p{N}]{3,}/gu;
const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(WORD) ?? []);
const MAX_SNIPPET = 240;

/** Chooses the sentence of a text that shares the most words with a question. */
export function chooseSnippet(text: string, question: string): string {
  const wanted = wordsOf(question);
  const sentences = text.split(/(?<=[.!?…]["”’)]?)\s+|\n+/).filter((sentence) => sentence.trim() !== "");
  const score = (sentence: string) => [...wordsOf(sentence)].filter((word) => [...wanted].some((w) => w === word || (w.length > 4 && word.startsWith(w.slice(0, -1))))).length;
  let best = sentences[0] ?? text;
  for (const sentence of sentences) if (score(sentence) > score(best)) best = sentence;
  const points = Array.from(best.trim());
  return points.length > MAX_SNIPPET ? `${points.slice(0, MAX_SNIPPET).join("").replace(/\s+\S*$/, "")}…` : points.join("");
}
