// Typed event emitter. It reports errors of a listener and still calls the other listeners.

/** A listener without its argument types. */
type Listener = (...args: unknown[]) => void;

export class Emitter<Events extends { [name: string]: unknown[] }> {
  readonly #listeners = new Map<keyof Events, Set<Listener>>();

  /** Adds a listener. Returns a function that removes it. */
  on<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => void): () => void {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set);
    set.add(listener as unknown as Listener);
    return () => void set.delete(listener as unknown as Listener);
  }

  protected emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        listener(...args);
      } catch (error) {
        // An error in one listener must not stop the delivery of later events.
        report(error);
      }
    }
  }
}

/** Reports an error as uncaught. Node has no `reportError`. */
function report(error: unknown): void {
  if (typeof reportError === "function") reportError(error);
  else queueMicrotask(() => { throw error; });
}
