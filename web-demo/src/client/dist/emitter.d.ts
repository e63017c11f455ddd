export declare class Emitter<Events extends {
    [name: string]: unknown[];
}> {
    #private;
    /** Adds a listener. Returns a function that removes it. */
    on<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => void): () => void;
    protected emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): void;
}
