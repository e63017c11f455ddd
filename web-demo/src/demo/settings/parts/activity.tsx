// The audit log: what was done, latest first. Administrators can read it for all users.
import { useEffect, useId, useState } from "preact/hooks";
import { Trouble } from "../../parts/dialog.tsx";
import { moment } from "../../state/format.ts";
import { account, client, hasToken } from "../../state/login.ts";
import { start } from "../../state/viewer.ts";
import { AccessTokens, Activity as ActivityPage, type AuditRow } from "../generated/operations.ts";
import { actorWord, describe, type Known } from "../state/activity-words.ts";
import { usePages } from "../state/pages.ts";
import { PageEnd } from "./page-end.tsx";
import { strings } from "../strings.ts";

/** Names of the viewer's access tokens by id. Empty for users who cannot list them. */
function useTokenNames(): Known["tokenNames"] {
  const [names, setNames] = useState<Known["tokenNames"]>(new Map());
  // The role of a personal access token is USER, and such a token cannot list tokens.
  const mayList = account.value ? account.value.role !== "ANONYMOUS" : hasToken.value && start.value?.viewer.role === "ADMIN";
  useEffect(() => {
    if (!mayList) return;
    // Entries without these names are complete enough.
    client.graphql(AccessTokens, {}).then(({ accessTokens }) => setNames(new Map(accessTokens.map(({ id, name }) => [id, name]))), () => {});
  }, []);
  return names;
}

function Entry({ entry, known, showsActor }: { entry: AuditRow; known: Known; showsActor: boolean }) {
  const { text, about, href } = describe(entry, known);
  return (
    <li>
      <time dateTime={entry.at}>{moment(new Date(entry.at))}</time>
      <span>{href ? <a href={href}>{text}</a> : text}{about && `: ${about}`}</span>
      {showsActor && <small>{strings.activity.by(actorWord(entry, known))}</small>}
    </li>
  );
}

function Refusal({ everybody }: { everybody: boolean }) {
  return <p class="warn">{everybody ? strings.activity.refusedOfAll : strings.activity.refused}</p>;
}

function Entries({ everybody, tokenNames }: { everybody: boolean; tokenNames: Known["tokenNames"] }) {
  const pages = usePages<AuditRow>(async (after) => (await client.graphql(ActivityPage, { everybody, after })).auditLog);
  const { rows, isWhole, isRefused, error } = pages;
  if (isRefused) return <Refusal everybody={everybody} />;
  if (!rows) return <Trouble text={error} />;
  if (rows.length === 0) return <p>{strings.activity.none}</p>;
  const known = { viewerId: start.value?.viewer.id, tokenNames };
  return (
    <>
      <ol class="activity" role="list" aria-label={strings.activity.title}>{rows.map((entry) => <Entry key={entry.id} entry={entry} known={known} showsActor={everybody} />)}</ol>
      <PageEnd pages={pages} text={isWhole ? strings.activity.all(rows.length) : strings.activity.latest(rows.length)} />
    </>
  );
}

function EverybodySwitch({ isOn, onChange }: { isOn: boolean; onChange: (isOn: boolean) => void }) {
  const note = useId();
  return (
    <>
      <label class="choice"><input type="checkbox" role="switch" aria-describedby={note} checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />{strings.activity.ofAllUsers}</label>
      <p class="soft" id={note}>{strings.activity.isRecorded}</p>
    </>
  );
}

export function Activity() {
  const [everybody, setEverybody] = useState(false);
  const tokenNames = useTokenNames();
  return (
    <>
      <p>{strings.activity.about}</p>
      {start.value?.viewer.role === "ADMIN" && <EverybodySwitch isOn={everybody} onChange={setEverybody} />}
      <Entries key={String(everybody)} everybody={everybody} tokenNames={tokenNames} />
    </>
  );
}
