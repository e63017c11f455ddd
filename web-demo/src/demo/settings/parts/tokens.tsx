// Access tokens: what they are for, and how to create, list and revoke them.
import { RecallError } from "@relevantic/recall";
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import { day } from "../../state/format.ts";
import { account, client, hasToken } from "../../state/login.ts";
import { AccessTokens, CreateAccessToken, RevokeAccessToken, type TokenRow } from "../generated/operations.ts";
import { strings } from "../strings.ts";

const words = strings.tokens;
const READ = "recall.read";
const WRITE = "recall.write";
const LIFETIMES = [7, 30, 90, 366];
const DEFAULT_LIFETIME = 90;

function refuse(errors: ReadonlyArray<{ code: string; message: string }>) {
  if (errors[0]) throw new RecallError(errors[0].code, errors[0].message, 200);
}

const focusSection = () => document.querySelector<HTMLElement>(".settings .sheet")?.focus();

/** The new token, which only this page knows. */
function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [status, setStatus] = useState("");
  const select = () => {
    field.current?.focus();
    field.current?.select();
  };
  useEffect(select, []);
  const copy = () => {
    select();
    // Pages without TLS have no clipboard.
    if (!navigator.clipboard) return setStatus(words.selected);
    navigator.clipboard.writeText(secret).then(() => setStatus(words.copied), () => setStatus(words.selected));
  };
  return (
    <div class="secret" role="group" aria-label={words.newToken}>
      <label>{words.copyNow}<input ref={field} type="text" readOnly value={secret} /></label>
      <button type="button" class="strong" onClick={copy}>{words.copy}</button>
      <button type="button" class="plain" onClick={onClose}>{words.done}</button>
      <p class="soft" role="status">{status}</p>
    </div>
  );
}

function CreateForm({ onCreated }: { onCreated: (token: TokenRow, secret: string) => void }) {
  const [name, setName] = useState("");
  const { busy, error, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const input = { name, scopes: String(fields.get("scopes")).split(" "), expiresInDays: Number(fields.get("days")) };
    void run(async () => {
      const { accessToken, secret, errors } = (await client.graphql(CreateAccessToken, { input })).createAccessToken;
      refuse(errors);
      if (!accessToken || !secret) return;
      setName("");
      onCreated(accessToken, secret);
    });
  };
  return (
    <form class="create" onSubmit={submit}>
      <label>{words.name}<input type="text" name="name" required maxLength={100} autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label>{words.access}<select name="scopes"><option value={`${READ} ${WRITE}`}>{words.readAndWrite}</option><option value={READ}>{words.readOnly}</option></select></label>
      <label>{words.expiresAfter}<select name="days">{LIFETIMES.map((days) => <option key={days} value={days} selected={days === DEFAULT_LIFETIME}>{words.days(days)}</option>)}</select></label>
      <button type="submit" class="strong" disabled={busy}>{words.create}</button>
      <Trouble text={error} />
    </form>
  );
}

function RevokeDialog({ token, onRevoked, onClose }: { token: TokenRow; onRevoked: () => void; onClose: () => void }) {
  const { busy, error, run } = useAction();
  const revoke = () => run(async () => {
    refuse((await client.graphql(RevokeAccessToken, { id: token.id })).revokeAccessToken.errors);
    onRevoked();
  });
  return (
    <Dialog title={words.revokeName(token.name)} onClose={onClose}>
      <p>{words.revokeMeans}</p>
      <Trouble text={error} />
      <footer>
        <button type="button" class="plain" autofocus onClick={onClose}>{words.cancel}</button>
        <button type="button" class="danger" disabled={busy} onClick={() => void revoke()}>{words.revoke}</button>
      </footer>
    </Dialog>
  );
}

function Row({ token, onRevoke }: { token: TokenRow; onRevoke: () => void }) {
  const { name, scopes, createdAt, lastUsedAt, expiresAt } = token;
  const expired = Date.parse(expiresAt) <= Date.now();
  const access = scopes.includes(WRITE) ? (scopes.includes(READ) ? "all" : "write") : "read";
  return (
    <li>
      <div>
        <b>{name}</b>
        <small>{words.row(access, day(createdAt), lastUsedAt && day(lastUsedAt), expired, day(expiresAt))}</small>
      </div>
      <button type="button" class="plain" aria-label={words.revokeName(name)} onClick={onRevoke}>{words.openRevoke}</button>
    </li>
  );
}

function Manage() {
  const [tokens, setTokens] = useState<readonly TokenRow[] | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<TokenRow | null>(null);
  const { error, run } = useAction();
  useEffect(() => void run(async () => setTokens((await client.graphql(AccessTokens, {})).accessTokens)), []);
  if (!tokens) return <Trouble text={error} />;
  const onRevoked = () => {
    setTokens(tokens.filter((token) => token !== revoking));
    setRevoking(null);
    // The button that had the focus is gone.
    setTimeout(focusSection);
  };
  return (
    <>
      <CreateForm onCreated={(token, text) => { setTokens([token, ...tokens]); setSecret(text); }} />
      {secret && <Secret key={secret} secret={secret} onClose={() => { setSecret(null); focusSection(); }} />}
      <ul class="tokens" aria-label={words.title}>{tokens.map((token) => <Row key={token.id} token={token} onRevoke={() => setRevoking(token)} />)}</ul>
      {tokens.length === 0 && <p class="soft">{words.none}</p>}
      {revoking && <RevokeDialog token={revoking} onRevoked={onRevoked} onClose={() => setRevoking(null)} />}
    </>
  );
}

export function Tokens() {
  const user = account.value;
  const { origin } = location;
  return (
    <>
      <p>{words.about}</p>
      <pre><code>{`curl ${origin}/graphql -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{"query": "{ viewer { name } }"}'`}</code></pre>
      <p>{words.agent}</p>
      <pre><code>{`RECALL_MCP_TOKEN=$TOKEN recall mcp --url ${origin}`}</code></pre>
      {user?.role === "ANONYMOUS" ? <p class="warn">{words.visitor}</p>
        : user || hasToken.value ? <Manage />
        : <p class="warn">{words.noLogin}</p>}
    </>
  );
}
