// Resumes `sessionEvents` in other GraphQL clients: after a lost connection the subscription continues after its last event.
import { fullJitter } from "./backoff.js";
import { StreamHead } from "./generated/operations.js";
/**
 * Options that make graphql-ws retry until it succeeds.
 *
 * By default it stops after five attempts, and at once if a starting server does not accept connections yet. Its wait doubles
 * without a limit; this one stays below 15 seconds.
 */
export const alwaysRetry = {
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: (retries) => new Promise((done) => setTimeout(done, fullJitter(retries, { baseMs: 500, capMs: 15_000 }))),
};
/**
 * Wraps a client so that `sessionEvents` delivers each event exactly once across lost connections.
 *
 * The wrapper remembers the last cursor and passes it as `after` whenever the client resubscribes. A subscription without `after`
 * starts at the head. Other operations pass through unchanged.
 *
 * Throws if a document cannot be resumed: it must take `after` from a variable and select `cursor`.
 */
export function resume(client) {
    const subscribe = (request, sink) => {
        const args = parseEventsArguments(request.query);
        return args ? subscribeResumable(client, request, args, sink) : client.subscribe(request, sink);
    };
    const iterate = (request) => toAsyncIterator((sink) => subscribe(request, sink));
    return Object.assign(Object.create(client), { subscribe, ...("iterate" in client ? { iterate } : {}) });
}
function parseEventsArguments(query) {
    const [, list] = /\bsessionEvents\s*\(([^)]*)\)/.exec(query) ?? [];
    if (list === undefined)
        return null;
    const after = /\bafter\s*:\s*\$(\w+)/.exec(list)?.[1];
    const [, variable, literal] = /\bsessionId\s*:\s*(?:\$(\w+)|"([^"]*)")/.exec(list) ?? [];
    if (!after || !/\bcursor\b/.test(query)) {
        throw new TypeError("sessionEvents cannot be resumed: pass its cursor as a variable (after: $after) and select cursor.");
    }
    return { after, sessionId: (variables) => (variable ? variables?.[variable] : literal) };
}
function subscribeResumable(client, request, args, sink) {
    let cursor = request.variables?.[args.after] ?? null;
    let stopped = false;
    let stop;
    const subscribeEvents = () => {
        // A getter, because clients serialize the request again for each connection.
        const variables = { ...request.variables, get [args.after]() { return cursor; } };
        stop = client.subscribe({ ...request, variables }, {
            next(result) {
                for (const event of Object.values(result.data ?? {}))
                    cursor = cursorOf(event) ?? cursor;
                sink.next(result);
            },
            error: (error) => sink.error(error),
            complete: () => sink.complete(),
        });
    };
    // Without a start cursor, a connection lost before the first event would lose events.
    const readHead = () => {
        let failed = false;
        stop = client.subscribe({ query: StreamHead, variables: { sessionId: args.sessionId(request.variables) } }, {
            next({ data, errors }) {
                const session = data?.["session"];
                cursor = session?.head ?? null;
                if (cursor !== null || stopped)
                    return;
                failed = true;
                sink.error(errors ?? [{ message: "The session does not exist.", extensions: { code: "NOT_FOUND" } }]);
            },
            error: (error) => sink.error(error),
            complete() {
                if (failed)
                    return;
                if (stopped || cursor === null)
                    sink.complete();
                else
                    subscribeEvents();
            },
        });
    };
    if (cursor === null)
        readHead();
    else
        subscribeEvents();
    return () => {
        stopped = true;
        stop();
    };
}
const cursorOf = (event) => {
    const { cursor } = (event ?? {});
    return typeof cursor === "string" ? cursor : null;
};
/** Turns a subscription into an iterator for `for await`. Leaving the loop ends the subscription. */
function toAsyncIterator(subscribe) {
    const waiting = [];
    let wake = () => { };
    let done = false;
    let failure = null;
    const end = () => {
        done = true;
        wake();
    };
    const stop = subscribe({
        next(result) {
            waiting.push(result);
            wake();
        },
        error(error) {
            failure = { error };
            end();
        },
        complete: end,
    });
    return {
        [Symbol.asyncIterator]() {
            return this;
        },
        async next() {
            while (waiting.length === 0 && !done)
                await new Promise((resolve) => (wake = resolve));
            if (waiting.length > 0)
                return { done: false, value: waiting.shift() };
            if (failure)
                throw failure.error;
            return { done: true, value: undefined };
        },
        async return() {
            stop();
            end();
            return { done: true, value: undefined };
        },
    };
}
