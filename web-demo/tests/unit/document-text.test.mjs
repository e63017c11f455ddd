// How chunks join to the text of a document, and where citations stand in it.
import assert from "node:assert/strict";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let text;
before(async () => {
  const entry = path.join(root, "src/demo/documents/state/text.ts");
  const [{ output }] = await build({ configFile: false, root, logLevel: "silent", build: { write: false, lib: { entry, formats: ["es"] } } });
  text = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
});

/** Cuts chunks out of a text. A range is `[start, end, heading, page]`, in code points. */
const cut = (whole, ...ranges) => ranges.map(([start, end, heading = null, page = null], position) => ({
  id: `c${position}`, position, heading, charOffset: start, pages: page && { first: page, last: page }, text: Array.from(whole).slice(start, end).join(""),
}));
const paragraphs = (section) => section.paragraphs.map((p) => p.text);

test("overlapping chunks join without repetition", () => {
  const whole = "One two three. Four five six. Seven eight.";
  const [section] = text.joinChunks(cut(whole, [0, 29], [15, 42]));
  assert.deepEqual(paragraphs(section), [whole]);
});

test("a gap of one character is a space, and a longer one ends the paragraph", () => {
  const whole = "One two. Three.\n\nFour.";
  assert.deepEqual(paragraphs(text.joinChunks(cut(whole, [0, 8], [9, 15], [17, 22]))[0]), ["One two. Three.", "Four."]);
});

test("headings are separated from the text, with those above that have no text", () => {
  const whole = "Book\nPart one\nThe text of part one.\n\nPart two\nMore.";
  const sections = text.joinChunks(cut(whole, [0, 35, "Part one"], [37, 51, "Part two"]));
  assert.deepEqual(sections.map((s) => s.headings), [["Book", "Part one"], ["Part two"]]);
  assert.deepEqual(sections.map(paragraphs), [["The text of part one."], ["More."]]);
});

test("a heading of several lines is recognised", () => {
  const whole = "A heading of\ntwo lines\nText.";
  const [section] = text.joinChunks(cut(whole, [0, 28, "A heading of two lines"]));
  assert.deepEqual([section.headings, paragraphs(section)], [["A heading of two lines"], ["Text."]]);
});

test("sections with the same heading stay apart", () => {
  const whole = "Notes\nOne.\n\nNotes\nTwo.";
  const sections = text.joinChunks(cut(whole, [0, 10, "Notes"], [12, 22, "Notes"]));
  assert.deepEqual(sections.map(paragraphs), [["One."], ["Two."]]);
});

test("a page is named where it begins, once", () => {
  const whole = "First.\n\nSecond.\n\nThird.";
  const [section] = text.joinChunks(cut(whole, [0, 6, null, 1], [8, 15, null, 1], [17, 23, null, 2]));
  assert.deepEqual(section.paragraphs.map((p) => p.pages), ["page 1", null, "page 2"]);
});

test("marks stand at code points, not at UTF-16 units", () => {
  const whole = "Zoë ❤ 🎉 Noël likes 🍣 sushi.";
  const chunks = cut(whole, [0, 27]);
  const [section] = text.joinChunks(chunks);
  const quoted = text.findExcerpt(chunks[0], "Noël  likes…");
  const pieces = text.splitAt(section.paragraphs[0], text.rangeOf(chunks[0]), quoted);
  assert.deepEqual(pieces.filter((p) => p.quoted).map((p) => p.text), ["Noël likes"]);
  assert.equal(pieces.map((p) => p.text).join(""), whole);
});

test("an excerpt with other white space or special characters is found", () => {
  const [chunk] = cut("The price (net)\nis 5.00 $ + tax.", [0, 32]);
  assert.deepEqual(text.findExcerpt(chunk, "price (net) is 5.00 $ + t"), { start: 4, end: 29 });
  assert.equal(text.findExcerpt(chunk, "price (gross)"), null);
  assert.equal(text.findExcerpt(chunk, undefined), null);
});

test("the snippet is the sentence with most words of the question", () => {
  const passage = "Dogs are welcome. The travel budget is 4200 euros. Cats are not.";
  assert.equal(text.chooseSnippet(passage, "What is the travel budget?"), "The travel budget is 4200 euros.");
  assert.ok(text.chooseSnippet("word ".repeat(200), "word").length <= 241);
});
