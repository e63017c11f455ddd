// Typed listeners. One that throws is reported and does not keep the others from hearing.

/** Any listener, once its name no longer tells what it takes. */
type Listener = (...args: unknown[]) => void;

export class Emitter<Events extends { [name: string]: unknown[] }> {
  readonly #listeners = new Map<keyof Events, Set<Listener>>();

  /** Calls `listener` for each `name` from now on. Returns what ends that. */
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
        // A listener's mistake must not stop the log: the next events would be lost for everybody.
        reportError(error);
      }
    }
  }
}
