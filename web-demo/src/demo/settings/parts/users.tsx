// The users of the server with counts of their data, for administrators.
import { useState } from "preact/hooks";
import { Trouble } from "../../parts/dialog.tsx";
import { day } from "../../state/format.ts";
import { client } from "../../state/login.ts";
import { start } from "../../state/viewer.ts";
import { Users as UserPage, type UserRow } from "../generated/operations.ts";
import { usePages } from "../state/pages.ts";
import { everyUser, fits, isSearching, sentenceOf, type UserSearch } from "../state/user-search.ts";
import { PageEnd } from "./page-end.tsx";
import { strings } from "../strings.ts";

const words = strings.users;
const names = words.columns;

/** The columns after the user. On a narrow screen, each row is a card, and each value has the name of its column. */
const columns: ReadonlyArray<readonly [name: string, value: (user: UserRow) => string]> = [
  [names.kind, ({ kind }) => words.kinds[kind]],
  [names.lastActive, ({ lastActiveAt }) => (lastActiveAt === null ? words.never : day(lastActiveAt))],
  [names.sessions, ({ sessions }) => sessions.toLocaleString()],
  [names.messages, ({ messages }) => messages.toLocaleString()],
  [names.facts, ({ facts }) => facts.toLocaleString()],
  [names.documents, ({ documents }) => documents.toLocaleString()],
  [names.tokens, ({ tokens }) => (tokens.inputTokens + tokens.outputTokens).toLocaleString()],
];

/** Ids of users who came at the same time begin alike. */
const shortened = (id: string) => `${id.slice(0, 8)}…${id.slice(-4)}`;

/** The id that the reader chose. A page without TLS has no clipboard, and shows the id instead. */
interface Chosen { readonly id: string; readonly isCopied: boolean }

interface RowProps {
  user: UserRow;
  chosen: Chosen | null;
  onChoose: (id: string) => void;
}

function User({ user, chosen, onChoose }: RowProps) {
  const { id } = user;
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        <button type="button" class="id" title={id} onClick={() => onChoose(id)}><code>{shortened(id)}</code><span class="unseen">{words.copyId}</span></button>
        {id === start.value?.viewer.id && <b class="badge">{words.you}</b>}
        {chosen?.id === id && <small>{chosen.isCopied ? words.copied : id}</small>}
      </th>
      {columns.map(([name, value]) => <td key={name} role="cell" data-column={name}>{value(user)}</td>)}
    </tr>
  );
}

function Table({ rows, ...choice }: { rows: readonly UserRow[] } & Omit<RowProps, "user">) {
  // A table that is laid out as cards has no roles of its own in some browsers.
  return (
    <table class="users" role="table" aria-label={words.title}>
      <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">{names.user}</th>{columns.map(([name]) => <th key={name} scope="col" role="columnheader">{name}</th>)}</tr></thead>
      <tbody role="rowgroup">{rows.map((user) => <User key={user.id} user={user} {...choice} />)}</tbody>
    </table>
  );
}

function SearchFields({ search, onChange }: { search: UserSearch; onChange: (search: UserSearch) => void }) {
  const choose = (kind: string) => onChange({ ...search, kind: kind === "ACCOUNT" || kind === "VISITOR" ? kind : null });
  return (
    <form class="user-search" role="search" aria-label={words.title} onSubmit={(event) => event.preventDefault()}>
      <label>{words.findById}<input type="search" autocomplete="off" spellcheck={false} value={search.text} onInput={(event) => onChange({ ...search, text: event.currentTarget.value })} /></label>
      <label>{names.kind}<select value={search.kind ?? ""} onChange={(event) => choose(event.currentTarget.value)}><option value="">{words.all}</option><option value="ACCOUNT">{words.accounts}</option><option value="VISITOR">{words.visitors}</option></select></label>
    </form>
  );
}

function List() {
  const pages = usePages<UserRow>(async (after, first) => (await client.graphql(UserPage, { after, first })).users);
  const [search, setSearch] = useState(everyUser);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const { rows, isWhole, isRefused, error } = pages;
  if (isRefused) return <p class="warn">{words.refused}</p>;
  if (!rows) return <Trouble text={error} />;
  const choose = (id: string) => {
    const finish = (isCopied: boolean) => setChosen({ id, isCopied });
    if (!navigator.clipboard) return finish(false);
    navigator.clipboard.writeText(id).then(() => finish(true), () => finish(false));
  };
  const searched = isSearching(search);
  const shown = searched ? rows.filter((user) => fits(search, user)) : rows;
  return (
    <>
      <SearchFields search={search} onChange={setSearch} />
      {shown.length > 0 && <Table rows={shown} chosen={chosen} onChoose={choose} />}
      <p class="unseen" role="status">{chosen && words.said(chosen.id, chosen.isCopied)}</p>
      <PageEnd pages={pages} text={sentenceOf(search, rows, isWhole)} search={searched ? { fits: (user) => fits(search, user) } : undefined} />
    </>
  );
}

export const Users = () => (
  <>
    <p>{words.about}</p>
    <p class="soft">{words.isRecorded}</p>
    <List />
  </>
);
