export interface BackoffOptions {
    /** Upper bound of the first wait in milliseconds. */
    readonly baseMs: number;
    /** Upper bound of every wait in milliseconds. */
    readonly capMs: number;
}
/** Milliseconds to wait before attempt `attempt` (0 = first): uniform in [0, min(cap, base * 2^attempt)). */
export declare function fullJitter(attempt: number, { baseMs, capMs }: BackoffOptions, random?: () => number): number;
