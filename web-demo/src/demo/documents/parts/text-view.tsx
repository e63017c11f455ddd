// The text of a document by sections. Scrolls to the cited passage and marks its words.
import { Fragment } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { prefersReducedMotion } from "../../motion.ts";
import { quoteOf } from "../../state/passages.ts";
import { isTooDeep, type CitedChunk, type LoadedText } from "../state/reading.ts";
import { findExcerpt, joinChunks, rangeOf, splitAt, type Paragraph, type Range, type Section } from "../state/text.ts";
import { strings } from "../strings.ts";

interface Marks { cited: Range | null; quoted: Range | null }

function ParagraphView({ paragraph, marks: { cited, quoted } }: { paragraph: Paragraph; marks: Marks }) {
  const isTouched = cited !== null && cited.start < paragraph.end && paragraph.start < cited.end;
  return (
    <p class={isTouched ? "touched" : undefined}>
      {paragraph.pages && <span class="page-mark">{paragraph.pages}</span>}
      {isTouched
        ? splitAt(paragraph, cited, quoted).map((piece, i) => (piece.cited ? <mark key={i} class={piece.quoted ? "quoted" : undefined}>{piece.text}</mark> : <Fragment key={i}>{piece.text}</Fragment>))
        : paragraph.text}
    </p>
  );
}

function SectionView({ section, marks }: { section: Section; marks: Marks }) {
  return (
    <section>
      {section.headings.map((heading, i) => <h2 key={i} class={i < section.headings.length - 1 ? "above" : undefined}>{heading}</h2>)}
      {section.paragraphs.map((paragraph) => <ParagraphView key={paragraph.start} paragraph={paragraph} marks={marks} />)}
    </section>
  );
}

/** `request`: a new value scrolls to the passage again. */
export function TextView({ text, cited, request }: { text: LoadedText; cited: CitedChunk | null; request: number }) {
  const box = useRef<HTMLDivElement>(null);
  const sections = useMemo(() => joinChunks(text.chunks), [text]);
  // The section of a passage that is not loaded is shown alone.
  const alone = cited !== null && isTooDeep(cited) && cited.position >= text.chunks.length ? cited : null;
  const marks = { cited: cited && rangeOf(cited), quoted: cited && findExcerpt(cited, quoteOf(cited.id)) };

  useEffect(() => {
    if (!cited) return;
    const target = box.current?.querySelector<HTMLElement>("mark.quoted") ?? box.current?.querySelector<HTMLElement>("mark");
    if (!target) return;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "center", behavior: prefersReducedMotion() ? "auto" : "smooth" });
  }, [cited?.id, request, alone !== null]);

  if (alone) {
    const at = alone.passage.indexOf(alone.text);
    const from = alone.charOffset - Array.from(alone.passage.slice(0, Math.max(0, at))).length;
    const [section] = joinChunks([{ ...alone, text: alone.passage, charOffset: from }]);
    return (
      <div class="reading-text" ref={box}>
        <p class="soft">{strings.reader.longDocument}</p>
        {section && <SectionView section={section} marks={marks} />}
        <hr />
        {sections.map((s) => <SectionView key={s.key} section={s} marks={{ cited: null, quoted: null }} />)}
      </div>
    );
  }
  return <div class="reading-text" ref={box}>{sections.map((section) => <SectionView key={section.key} section={section} marks={marks} />)}</div>;
}
