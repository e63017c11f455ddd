// Waiting before the next attempt: exponential with full jitter, so that a thousand pages do not come back in the same instant after a restart.

export interface BackoffOptions {
  /** First ceiling in milliseconds. */
  readonly baseMs: number;
  /** Highest ceiling in milliseconds. */
  readonly capMs: number;
}

/** Milliseconds to wait before attempt `attempt` (0 = first): uniform in [0, min(cap, base * 2^attempt)). */
export function fullJitter(attempt: number, { baseMs, capMs }: BackoffOptions, random: () => number = Math.random): number {
  // 2^30 * base is far past any cap; the clamp keeps the power finite however long the server is away.
  return random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
}
