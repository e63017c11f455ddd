// Forgetting. Older servers do not have it: the calls then fail with the code `GRAPHQL_VALIDATION_FAILED`.
import type { FactFields } from "./generated/operations.ts";
import type { TypedDocument } from "./graphql.ts";

/** What to forget: everything that the words mean, or the listed facts. */
export interface ForgetInput {
  readonly query?: string;
  readonly factIds?: readonly string[];
  /** true: only returns what would be forgotten. Default: true. */
  readonly dryRun?: boolean;
}

export interface Forgotten {
  readonly facts: FactFields[];
  readonly messages: Array<{ id: string; text: string }>;
  /** Undoes it for some minutes, with `undoForget`. null after a dry run. */
  readonly token: string | null;
}

type Errors = Array<{ code: string; message: string; path: string[] }>;
interface Payload extends Forgotten {
  readonly errors: Errors;
}

const FIELDS = `{
  facts {
    id relation phrase shared weight belief uncertainty relativeWeight status flagged validFrom validTo createdAt updatedAt
    subject { id name type isViewer }
    object { id name type isViewer }
  }
  messages { id text }
  token
  errors { code message path }
}`;

export const Forget = `mutation Forget($input: ForgetInput!) { forget(input: $input) ${FIELDS} }` as TypedDocument<{ forget: Payload }, { input: ForgetInput }>;
export const UndoForget = `mutation UndoForget($input: UndoForgetInput!) { undoForget(input: $input) ${FIELDS} }` as TypedDocument<
  { undoForget: Payload },
  { input: { token: string } }
>;
