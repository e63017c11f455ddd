// What the reader can take back. Forgetting survives a page reload: the server keeps it for some minutes.
import { signal } from "@preact/signals";
import { readTokens, writeTokens, type ForgetToken } from "../../state/forget-tokens.ts";

export interface Undoable {
  key: string;
  /** What happened, such as "3 facts are forgotten." */
  text: string;
  /** The words of the button. null: nothing to take back. */
  label: string | null;
  undo: () => Promise<string>;
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
    this.items.value = readTokens().map((stored) => this.#forgotten(stored)).slice(0, SHOWN);
  }

  /** `key`: names the action, so that it is listed once and can be removed. */
  add(text: string, label: string | null = null, undo: Undoable["undo"] = async () => "", { key = String(++this.#count), link }: { key?: string | undefined; link?: Undoable["link"] } = {}): void {
    this.#put({ key, text, label, undo, link });
  }

  addForgotten(token: string, text: string): void {
    writeTokens([{ token, text }, ...readTokens()].slice(0, SHOWN));
    this.#put(this.#forgotten({ token, text }));
  }

  remove(key: string): void {
    writeTokens(readTokens().filter((t) => t.token !== key));
    this.items.value = this.items.value.filter((item) => item.key !== key);
  }

  #forgotten({ token, text }: ForgetToken): Undoable {
    return { key: token, text, label: "Undo", undo: () => this.#undoForget(token) };
  }

  #put(item: Undoable) {
    this.items.value = [item, ...this.items.value.filter((other) => other.label !== null && other.key !== item.key)].slice(0, SHOWN);
  }
}
