// The search in the list of users. The API lists users by id and has no search, so the page searches what it has read.
import type { UserKind } from "@relevantic/recall";
import type { UserRow } from "../generated/operations.ts";

export interface UserSearch {
  /** A part of the id. */
  readonly text: string;
  /** null: all kinds. */
  readonly kind: UserKind | null;
}

export const everyUser: UserSearch = { text: "", kind: null };
const plain = (id: string): string => id.toLowerCase().replace(/[\s-]/g, "");
export const isSearching = ({ text, kind }: UserSearch): boolean => plain(text) !== "" || kind !== null;
export const fits = ({ text, kind }: UserSearch, user: Pick<UserRow, "id" | "kind">): boolean =>
  (kind === null || user.kind === kind) && plain(user.id).includes(plain(text));

const people = (n: number): string => `${n.toLocaleString()} user${n === 1 ? "" : "s"}`;

/** What the list shows, in a sentence. `read`: the users that the page has read. */
export function sentenceOf(search: UserSearch, read: readonly Pick<UserRow, "id" | "kind">[], isWhole: boolean): string {
  // Shared memory is a row, but no user.
  const users = read.filter(({ kind }) => kind !== "SHARED");
  const all = users.length;
  if (!isSearching(search)) return isWhole ? `These are all users with data (${all.toLocaleString()}).` : `These are the first ${people(all)}, by id.`;
  const found = users.filter((user) => fits(search, user)).length;
  const fit = found === 1 ? "1 user fits" : `${found === 0 ? "No" : found.toLocaleString()} ${found === 0 ? "user fits" : "users fit"}`;
  return isWhole ? `${fit}. All users with data are searched (${all.toLocaleString()}).` : `${fit} among the first ${all.toLocaleString()}. The others are not searched yet.`;
}
