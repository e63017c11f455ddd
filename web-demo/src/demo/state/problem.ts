// Problems that the page shows to the user.
import { signal } from "@preact/signals";
import { RecallError } from "@relevantic/recall";

/** Error message for the user. */
export const problem = signal<string | null>(null);
/** Why the page cannot start. */
export const startError = signal<string | null>(null);

let handleLoginEnd = (): void => {};
/** Sets what the page does when the server no longer accepts the login. */
export const onLoginEnd = (handler: () => void): void => {
  handleLoginEnd = handler;
};
/** Tells the page that the server no longer accepts the login. */
export const reportLoginEnd = (): void => handleLoginEnd();

/** Returns an error message for the user. Shows the login page if the server requires a login. */
export const handleError = (error: unknown): string => {
  if (error instanceof RecallError && error.status === 401) reportLoginEnd();
  return error instanceof RecallError ? error.message : "Something went wrong on this page.";
};

export const reportProblem = (error: unknown): void => {
  problem.value = handleError(error);
};
