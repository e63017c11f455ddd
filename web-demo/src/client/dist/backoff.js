// Exponential backoff with full jitter: clients spread their retries after a server restart.
/** Milliseconds to wait before attempt `attempt` (0 = first): uniform in [0, min(cap, base * 2^attempt)). */
export function fullJitter(attempt, { baseMs, capMs }, random = Math.random) {
    // The clamp keeps the power finite: 2^30 * base exceeds every cap.
    return random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
}
