// The programs that use the memory of the user, and how to disconnect each.
import type { FrontEndKind } from "@relevantic/recall";
import type { ComponentChildren } from "preact";
import { Trouble } from "../../parts/dialog.tsx";
import { day } from "../../state/format.ts";
import { account, client } from "../../state/login.ts";
import { settingsHref } from "../../state/route.ts";
import { FrontEnds as FrontEndsQuery, type FrontEndsResult } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";

type FrontEnd = FrontEndsResult["viewer"]["frontEnds"][number];

/** What a kind is, and how to disconnect it. */
const kinds: Record<FrontEndKind, readonly [word: string, how: ComponentChildren]> = {
  LOGIN: ["login in a browser", "Log out there, or end the login at the login provider."],
  ACCESS_TOKEN: ["access token", <>Revoke the token under <a href={`${settingsHref}/tokens`}>Access tokens</a>.</>],
  SIGNED_USER: ["front end for many people, which signs your name", "Ask the operator of this server to disconnect it."],
  CLIENT: ["program with a token of the login provider", "Withdraw its access at the login provider."],
  OPEN: ["program without a login", "This server asks nobody who they are. Its operator can configure a login."],
};

function Row({ frontEnd: { name, kind, firstUsedAt, lastUsedAt } }: { frontEnd: FrontEnd }) {
  const [word, how] = kinds[kind];
  return (
    <li>
      <div>
        <b>{name}</b>
        <small>{word}, first used <time dateTime={firstUsedAt}>{day(firstUsedAt)}</time>, last used <time dateTime={lastUsedAt}>{day(lastUsedAt)}</time></small>
        <small>To disconnect it: {how}</small>
      </div>
    </li>
  );
}

export function FrontEnds() {
  const { value: frontEnds, error } = useViewerValue(async () => (await client.graphql(FrontEndsQuery, {})).viewer.frontEnds);
  if (!frontEnds) return <Trouble text={error} />;
  return (
    <>
      <p>Programs that read or write your memory, last used first. A browser or a program without a token can call itself anything.</p>
      {frontEnds.length === 0 && <p class="soft">{account.value?.role === "ANONYMOUS" ? "The programs of visitors are not listed." : "No program is listed yet."}</p>}
      <ul class="tokens" aria-label="Connected front ends">{frontEnds.map((frontEnd) => <Row key={`${frontEnd.kind} ${frontEnd.name}`} frontEnd={frontEnd} />)}</ul>
    </>
  );
}
