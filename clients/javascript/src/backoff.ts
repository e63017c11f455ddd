// Exponential backoff with full jitter: clients spread their retries after a server restart.

export interface BackoffOptions {
  /** Upper bound of the first wait in milliseconds. */
  readonly baseMs: number;
  /** Upper bound of every wait in milliseconds. */
  readonly capMs: number;
}

/** Milliseconds to wait before attempt `attempt` (0 = first): uniform in [0, min(cap, base * 2^attempt)). */
export function fullJitter(attempt: number, { baseMs, capMs }: BackoffOptions, random: () => number = Math.random): number {
  // The clamp keeps the power finite: 2^30 * base exceeds every cap.
  return random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
}
