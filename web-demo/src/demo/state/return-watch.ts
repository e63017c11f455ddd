// Notices when the server can be reached again, while no event stream does.
import { signal } from "@preact/signals";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

export class ReturnWatch {
  /** Whether the server is missing. */
  readonly active = signal(false);
  /** Start of the next attempt in milliseconds since 1970. null: an attempt is running, or none is needed. */
  readonly retryAt = signal<number | null>(null);
  readonly #probe: () => Promise<boolean>;
  #onReturn = (): void => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #probing = false;

  /** `probe` tells whether the server answers. */
  constructor(probe: () => Promise<boolean>) {
    this.#probe = probe;
  }

  /** Sets what happens when the server answers again. */
  onReturn(handler: () => void): void {
    this.#onReturn = handler;
  }

  start(): void {
    if (this.active.value) return;
    this.active.value = true;
    this.#attempt = 0;
    addEventListener("online", this.tryNow);
    document.addEventListener("visibilitychange", this.#onVisible);
    this.#schedule();
  }

  stop(): void {
    this.active.value = false;
    this.retryAt.value = null;
    clearTimeout(this.#timer);
    removeEventListener("online", this.tryNow);
    document.removeEventListener("visibilitychange", this.#onVisible);
  }

  tryNow = (): void => {
    if (!this.active.value || this.#probing) return;
    clearTimeout(this.#timer);
    this.retryAt.value = null;
    this.#probing = true;
    void this.#probe().then((answers) => {
      this.#probing = false;
      if (!this.active.value) return;
      if (!answers) return this.#schedule();
      this.stop();
      this.#onReturn();
    });
  };

  #onVisible = () => {
    if (document.visibilityState === "visible") this.tryNow();
  };

  /** Random waits, so that the pages of many users do not return at the same time. */
  #schedule() {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempt);
    const wait = longest * (0.5 + Math.random() / 2);
    this.#attempt = Math.min(this.#attempt + 1, 10);
    this.retryAt.value = Date.now() + wait;
    this.#timer = setTimeout(this.tryNow, wait);
  }
}
