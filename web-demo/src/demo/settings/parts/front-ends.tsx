// The programs that use the memory of the user, and how to disconnect each.
import type { FrontEndKind } from "@relevantic/recall";
import type { ComponentChildren } from "preact";
import { Trouble } from "../../parts/dialog.tsx";
import { day } from "../../state/format.ts";
import { account, client } from "../../state/login.ts";
import { settingsHref } from "../../state/route.ts";
import { FrontEnds as FrontEndsQuery, type FrontEndsResult } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";
import { strings } from "../strings.ts";

type FrontEnd = FrontEndsResult["viewer"]["frontEnds"][number];

const words = strings.frontEnds;
const [beforeLink, link, afterLink] = words.revokeUnder;
const how: Record<FrontEndKind, ComponentChildren> = { ...words.how, ACCESS_TOKEN: <>{beforeLink}<a href={`${settingsHref}/tokens`}>{link}</a>{afterLink}</> };

function Row({ frontEnd: { name, kind, firstUsedAt, lastUsedAt } }: { frontEnd: FrontEnd }) {
  const [firstUsed, lastUsed] = words.used(words.kinds[kind]);
  return (
    <li>
      <div>
        <b>{name}</b>
        <small>{firstUsed}<time dateTime={firstUsedAt}>{day(firstUsedAt)}</time>{lastUsed}<time dateTime={lastUsedAt}>{day(lastUsedAt)}</time></small>
        <small>{words.toDisconnect}{how[kind]}</small>
      </div>
    </li>
  );
}

export function FrontEnds() {
  const { value: frontEnds, error } = useViewerValue(async () => (await client.graphql(FrontEndsQuery, {})).viewer.frontEnds);
  if (!frontEnds) return <Trouble text={error} />;
  return (
    <>
      <p>{words.about}</p>
      {frontEnds.length === 0 && <p class="soft">{account.value?.role === "ANONYMOUS" ? words.ofVisitor : words.none}</p>}
      <ul class="tokens" aria-label={words.title}>{frontEnds.map((frontEnd) => <Row key={`${frontEnd.kind} ${frontEnd.name}`} frontEnd={frontEnd} />)}</ul>
    </>
  );
}
