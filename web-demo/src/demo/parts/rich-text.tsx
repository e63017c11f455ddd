// A message's text with links for entity mentions and buttons for citations.
import type { ComponentChildren } from "preact";
import { highlight } from "../state/current-session.ts";
import type { Mention, Message } from "../state/model.ts";
import { entityHref } from "../state/route.ts";
import { strings } from "../strings.ts";

/** Turns mentions into links. Offsets count Unicode code points, but JavaScript strings count UTF-16 units. */
function withMentions(text: string, mentions: readonly Mention[]): ComponentChildren[] {
  const points = Array.from(text);
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const mention of [...mentions].sort((a, b) => a.start - b.start)) {
    if (mention.start < at || mention.end > points.length || mention.end <= mention.start) continue;
    if (mention.start > at) out.push(points.slice(at, mention.start).join(""));
    out.push(
      <a
        key={mention.start} class="mention" data-type={mention.type} href={entityHref(mention.entityId)} title={strings.entity.mention(mention.name, mention.type)}
        onPointerEnter={() => { highlight.value = { entity: mention.entityId }; }} onPointerLeave={() => { highlight.value = null; }}
        onFocus={() => { highlight.value = { entity: mention.entityId }; }} onBlur={() => { highlight.value = null; }}
      >{points.slice(mention.start, mention.end).join("")}</a>,
    );
    at = mention.end;
  }
  out.push(points.slice(at).join(""));
  return out;
}

/** Turns `[1]` into a button if a citation with that number exists. */
function withCitations(text: string, message: Message, onCite: (index: number) => void): ComponentChildren[] {
  return text.split(/(\s*\[\d+\])/).map((part) => {
    const index = Number(/\[(\d+)\]/.exec(part)?.[1]);
    if (!message.citations.some((c) => c.index === index)) return part;
    return <button type="button" class="cite" aria-label={strings.source(index)} onClick={() => onCite(index)}>{index}</button>;
  });
}

export function RichText({ message, onCite }: { message: Message; onCite: (index: number) => void }) {
  if (message.role === "assistant") return <>{withCitations(message.text, message, onCite)}</>;
  return <>{withMentions(message.text, message.mentions)}</>;
}
