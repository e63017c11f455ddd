/** A GraphQL request, as client libraries write it. */
export interface SubscriptionRequest {
    readonly query: string;
    readonly variables?: Record<string, unknown> | null | undefined;
}
/** Receives the results and the end of a subscription. */
export interface SubscriptionSink {
    next(result: never): void;
    error(error: unknown): void;
    complete(): void;
}
/** A client that resubscribes after a lost connection, such as graphql-ws. Apollo, urql and Relay use one. */
export interface SubscriptionClient {
    subscribe(request: SubscriptionRequest, sink: SubscriptionSink): () => void;
}
/**
 * Options that make graphql-ws retry until it succeeds.
 *
 * By default it stops after five attempts, and at once if a starting server does not accept connections yet. Its wait doubles
 * without a limit; this one stays below 15 seconds.
 */
export declare const alwaysRetry: {
    retryAttempts: number;
    shouldRetry: () => boolean;
    retryWait: (retries: number) => Promise<void>;
};
/**
 * Wraps a client so that `sessionEvents` delivers each event exactly once across lost connections.
 *
 * The wrapper remembers the last cursor and passes it as `after` whenever the client resubscribes. A subscription without `after`
 * starts at the head. Other operations pass through unchanged.
 *
 * Throws if a document cannot be resumed: it must take `after` from a variable and select `cursor`.
 */
export declare function resume<Client extends SubscriptionClient>(client: Client): Client;
