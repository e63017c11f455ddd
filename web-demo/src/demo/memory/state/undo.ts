// What the reader can take back. Forgetting survives a page reload: the server keeps it for some minutes.
import { signal } from "@preact/signals";
import { SHORTEST_WAIT_MS } from "../../state/forget-undo.ts";
import { readTokens, writeTokens, type ForgetToken } from "../../state/forget-tokens.ts";

export interface Undoable {
  key: string;
  /** What happened, such as "3 facts are forgotten." */
  text: string;
  /** The words of the button. null: nothing to take back. */
  label: string | null;
  undo: () => Promise<string>;
  /** Until when the server can take it back, in milliseconds since 1970. null: no time is set. */
  until: number | null;
  /** Where the result is. */
  link?: { href: string; label: string } | undefined;
}

const SHOWN = 3;

export class UndoList {
  /** Latest first. */
  readonly items = signal<readonly Undoable[]>([]);
  readonly #undoForget: (token: string) => Promise<string>;
  #count = 0;

  constructor(undoForget: (token: string) => Promise<string>) {
    this.#undoForget = undoForget;
    this.items.value = readTokens().filter(({ until }) => until > Date.now()).map((stored) => this.#forgotten(stored)).slice(0, SHOWN);
  }

  /** `key`: names the action, so that it is listed once and can be removed. */
  add(text: string, label: string | null = null, undo: Undoable["undo"] = async () => "", { key = String(++this.#count), link }: { key?: string | undefined; link?: Undoable["link"] } = {}): void {
    this.#put({ key, text, label, undo, link, until: null });
  }

  /** `undoUntil`: by the clock of the server. The clock of the device may be ahead of it, so the offer stays for a moment in any case. */
  addForgotten(token: string, text: string, undoUntil: string): void {
    const forgotten = { token, text, until: Math.max(Date.parse(undoUntil), Date.now() + SHORTEST_WAIT_MS) };
    writeTokens([forgotten, ...readTokens()].slice(0, SHOWN));
    this.#put(this.#forgotten(forgotten));
  }

  /** Removes what offers to take back a change of something that is gone. The key of such a change contains its id. */
  supersede(ids: readonly string[]): void {
    for (const { key } of this.items.value) if (ids.some((id) => key.includes(id))) this.remove(key);
  }

  /** The reader goes to another place. What can be taken back stays. */
  leavePlace(): void {
    if (this.items.value.some(({ label }) => label === null)) this.items.value = this.items.value.filter(({ label }) => label !== null);
  }

  remove(key: string): void {
    writeTokens(readTokens().filter((t) => t.token !== key));
    this.items.value = this.items.value.filter((item) => item.key !== key);
  }

  #forgotten({ token, text, until }: ForgetToken): Undoable {
    return { key: token, text, label: "Undo", undo: () => this.#undoForget(token), until };
  }

  #put(item: Undoable) {
    this.items.value = [item, ...this.items.value.filter((other) => other.label !== null && other.key !== item.key)].slice(0, SHOWN);
  }
}
