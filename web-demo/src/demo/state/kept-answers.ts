// Answers of the server that this browser keeps, so that what was read once can be read without the server.
import { dropAnswers, readAnswer, saveAnswer, type KeptAnswer } from "./kept.ts";

export class KeptAnswers {
  /** Grows when copies are deleted. An answer that was requested before may contain what was forgotten. */
  #generation = 0;
  /** Answers that came before the browser kept whose they are. null: it does. */
  #early: KeptAnswer[] | null = [];

  /** Asks, and keeps the answer. `owner`: the account; undefined keeps nothing. A place may ask before the page knows the account. */
  async ask<Result>(owner: () => string | undefined, key: string, request: () => Promise<Result>): Promise<Result> {
    const [generation, before] = [this.#generation, owner()];
    const result = await request();
    const account = owner();
    if (account === undefined || (before !== undefined && before !== account) || generation !== this.#generation) return result;
    const answer = { key, account, result, knownAt: new Date().toISOString() };
    if (this.#early) this.#early.push(answer);
    else void saveAnswer(answer);
    return result;
  }

  /** The browser now keeps whose the answers are. */
  begin(): void {
    for (const answer of this.#early ?? []) void saveAnswer(answer);
    this.#early = null;
  }

  /** Returns the kept answer, or null without one. */
  async find<Result>(account: string | undefined, key: string): Promise<Result | null> {
    return account === undefined ? null : ((await readAnswer(account, key)) as Result | null);
  }

  /** Deletes all of them. Which ones quote a forgotten message is unknown, because summaries and names do so without its id. */
  drop(): void {
    this.#generation += 1;
    if (this.#early) this.#early = [];
    void dropAnswers();
  }
}
