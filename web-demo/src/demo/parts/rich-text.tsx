// A message's text with its entity mentions underlined and its citation marks as buttons.
import type { ComponentChildren } from "preact";
import { spotlight } from "../state/app.ts";
import type { Mention, Message } from "../state/model.ts";
import { entityHref } from "../state/route.ts";

/** Splits at mentions. Offsets count Unicode code points, JavaScript strings count UTF-16 units: an emoji before a name would shift it. */
function withMentions(text: string, mentions: readonly Mention[]): ComponentChildren[] {
  const points = Array.from(text);
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const mention of [...mentions].sort((a, b) => a.start - b.start)) {
    if (mention.start < at || mention.end > points.length || mention.end <= mention.start) continue;
    if (mention.start > at) out.push(points.slice(at, mention.start).join(""));
    out.push(
      <a
        key={mention.start} class="mention" data-type={mention.type} href={entityHref(mention.entityId)} title={`${mention.name}, ${mention.type}`}
        onPointerEnter={() => { spotlight.value = { entity: mention.entityId }; }} onPointerLeave={() => { spotlight.value = null; }}
        onFocus={() => { spotlight.value = { entity: mention.entityId }; }} onBlur={() => { spotlight.value = null; }}
      >{points.slice(mention.start, mention.end).join("")}</a>,
    );
    at = mention.end;
  }
  out.push(points.slice(at).join(""));
  return out;
}

/** Turns `[1]` into a button where a citation with that number exists. */
function withCitations(text: string, message: Message, onCite: (index: number) => void): ComponentChildren[] {
  return text.split(/(\s*\[\d+\])/).map((part) => {
    const index = Number(/\[(\d+)\]/.exec(part)?.[1]);
    if (!message.citations.some((c) => c.index === index)) return part;
    return <button type="button" class="cite" aria-label={`Source ${index}`} onClick={() => onCite(index)}>{index}</button>;
  });
}

export function RichText({ message, onCite }: { message: Message; onCite: (index: number) => void }) {
  if (message.role === "assistant") return <>{withCitations(message.text, message, onCite)}</>;
  return <>{withMentions(message.text, message.mentions)}</>;
}
