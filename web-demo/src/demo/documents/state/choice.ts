// The choice of documents to compare.
import { effect, signal } from "@preact/signals";
import type { DocumentRow } from "../generated/operations.ts";
import { loginMethods } from "../../state/login.ts";
import { comparisonHref, navigate } from "../../state/route.ts";
import { startComparison } from "./comparisons.ts";

export const MIN_COMPARED = 2;
export const MAX_COMPARED = 5;

export type Chosen = Pick<DocumentRow, "id" | "filename">;

/** The chosen documents, in the order of the choice. null: the list does not offer a choice. */
export const chosen = signal<readonly Chosen[] | null>(null);

export const isChosen = (id: string): boolean => chosen.value?.some((document) => document.id === id) ?? false;

/** Chooses a document, or takes back the choice. */
export function toggleChoice({ id, filename }: Chosen): void {
  const before = chosen.value ?? [];
  if (isChosen(id)) chosen.value = before.filter((document) => document.id !== id);
  else if (before.length < MAX_COMPARED) chosen.value = [...before, { id, filename }];
}

/** Starts the comparison of the chosen documents and opens its report. Throws a `RecallError`. */
export async function compareChosen(question: string): Promise<void> {
  const id = await startComparison((chosen.value ?? []).map((document) => document.id), question);
  chosen.value = null;
  navigate(comparisonHref(id));
}

// The next user of the page must not see the choice.
effect(() => {
  if (loginMethods.value !== null) chosen.value = null;
});
