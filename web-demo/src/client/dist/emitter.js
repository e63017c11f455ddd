// Typed event emitter. It reports errors of a listener and still calls the other listeners.
export class Emitter {
    #listeners = new Map();
    /** Adds a listener. Returns a function that removes it. */
    on(name, listener) {
        const set = this.#listeners.get(name) ?? new Set();
        this.#listeners.set(name, set);
        set.add(listener);
        return () => void set.delete(listener);
    }
    emit(name, ...args) {
        for (const listener of [...(this.#listeners.get(name) ?? [])]) {
            try {
                listener(...args);
            }
            catch (error) {
                // An error in one listener must not stop the delivery of later events.
                reportError(error);
            }
        }
    }
}
