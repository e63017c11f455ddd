// Redraws of the page that leave it responsive in a flood of changes.

/** After a redraw, the page rests this many times as long as the redraw took. */
const REST_PER_REDRAW = 3;

export class Redraws {
  readonly #redraw: () => void;
  #isScheduled = false;
  /** `performance.now()` of the earliest next redraw. */
  #restsUntil = 0;

  constructor(redraw: () => void) {
    this.#redraw = redraw;
  }

  /** Schedules one redraw for all changes in this turn of the event loop, or until the end of the rest. */
  request(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const rest = this.#restsUntil - performance.now();
    if (rest > 0) setTimeout(() => this.#run(), rest);
    else queueMicrotask(() => this.#run());
  }

  #run() {
    const began = performance.now();
    this.#isScheduled = false;
    this.#redraw();
    // The page renders in microtasks, so before this.
    setTimeout(() => {
      const now = performance.now();
      this.#restsUntil = now + REST_PER_REDRAW * (now - began);
    });
  }
}
