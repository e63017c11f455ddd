// Turns payloads of the API into values or errors.
import { RecallError } from "./graphql.ts";

export function resultOrThrow<T>(value: T | null, errors: ReadonlyArray<{ code: string; message: string; path: readonly string[] }>): T {
  const error = errors[0];
  if (value === null || error) throw new RecallError(error?.code ?? "BAD_RESPONSE", error?.message ?? "The server sent no result.", 200, error?.path);
  return value;
}

export function foundOrThrow<T>(value: T | null, kind: string): T {
  if (value === null) throw new RecallError("NOT_FOUND", `There is no such ${kind}. Check its id.`, 200);
  return value;
}
