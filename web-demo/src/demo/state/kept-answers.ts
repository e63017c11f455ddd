// Answers of the server that this browser keeps, so that what was read once can be read without the server.
import { dropAnswers, readAnswer, saveAnswer, type KeptAnswer } from "./kept.ts";

/** An answer that came before the browser kept whose they are. */
type EarlyAnswer = Omit<KeptAnswer, "account"> & { readonly before: string | null };

export class KeptAnswers {
  /** Grows when copies are deleted. An answer that was requested before may contain what was forgotten. */
  #generation = 0;
  /** null: the browser keeps whose the answers are. */
  #early: EarlyAnswer[] | null = [];

  /** Asks, and keeps the answer. `owner`: the account; null: not known yet, because a place may ask before; undefined keeps nothing. */
  async ask<Result>(owner: () => string | null | undefined, key: string, request: () => Promise<Result>): Promise<Result> {
    const [generation, before] = [this.#generation, owner() ?? null];
    const result = await request();
    const account = owner();
    if (account === undefined || generation !== this.#generation) return result;
    const answer = { key, result, knownAt: new Date().toISOString() };
    if (this.#early) this.#early.push({ ...answer, before });
    else if (account !== null && (before ?? account) === account) void saveAnswer({ ...answer, account });
    return result;
  }

  /** The browser now keeps that the answers are those of this account. */
  begin(account: string): void {
    for (const { before, ...answer } of this.#early ?? []) if ((before ?? account) === account) void saveAnswer({ ...answer, account });
    this.#early = null;
  }

  /** The login ended. Late and early answers belong to nobody. */
  end(): void {
    this.#generation += 1;
    this.#early = [];
  }

  /** Returns the kept answer, or null without one. */
  async find<Result>(account: string | null | undefined, key: string): Promise<Result | null> {
    return typeof account !== "string" ? null : ((await readAnswer(account, key)) as Result | null);
  }

  /** Deletes all of them. Which ones quote a forgotten message is unknown, because summaries and names do so without its id. */
  drop(): void {
    this.#generation += 1;
    if (this.#early) this.#early = [];
    void dropAnswers();
  }
}
