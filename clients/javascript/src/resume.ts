// Resumes `sessionEvents` and `memoryEvents` in other GraphQL clients: after a lost connection the subscription continues after its last event.
import { fullJitter } from "./backoff.ts";
import { MemoryHead, StreamHead } from "./generated/operations.ts";

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
export const alwaysRetry = {
  retryAttempts: Infinity,
  shouldRetry: () => true,
  retryWait: (retries: number) => new Promise<void>((done) => setTimeout(done, fullJitter(retries, { baseMs: 500, capMs: 15_000 }))),
};

/** The subscription of a document. */
interface EventsArguments {
  /** Name of the variable that holds the cursor. */
  readonly after: string;
  /** Returns the query of the newest cursor, as `head` of its only field. */
  readonly head: (variables: SubscriptionRequest["variables"]) => SubscriptionRequest;
}

interface Result {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly unknown[];
}

/**
 * Wraps a client so that `sessionEvents` and `memoryEvents` deliver each event exactly once across lost connections.
 *
 * The wrapper remembers the last cursor and passes it as `after` whenever the client resubscribes. A subscription without `after`
 * starts at the head. Other operations pass through unchanged.
 *
 * Throws if a document cannot be resumed: it must take `after` from a variable and select `cursor`.
 */
export function resume<Client extends SubscriptionClient>(client: Client): Client {
  const subscribe = (request: SubscriptionRequest, sink: SubscriptionSink): (() => void) => {
    const args = parseEventsArguments(request.query);
    return args ? subscribeResumable(client, request, args, sink) : client.subscribe(request, sink);
  };
  const iterate = (request: SubscriptionRequest) => toAsyncIterator((sink) => subscribe(request, sink));
  return Object.assign(Object.create(client) as Client, { subscribe, ...("iterate" in client ? { iterate } : {}) });
}

function parseEventsArguments(query: string): EventsArguments | null {
  const [, name, list = ""] = /\b(sessionEvents|memoryEvents)\b\s*(?:\(([^)]*)\))?/.exec(query) ?? [];
  if (name === undefined) return null;
  const after = /\bafter\s*:\s*\$(\w+)/.exec(list)?.[1];
  const [, variable, literal] = /\bsessionId\s*:\s*(?:\$(\w+)|"([^"]*)")/.exec(list) ?? [];
  if (!after || !/\bcursor\b/.test(query)) {
    throw new TypeError(`${name} cannot be resumed: pass its cursor as a variable (after: $after) and select cursor.`);
  }
  if (name === "memoryEvents") return { after, head: () => ({ query: MemoryHead }) };
  return { after, head: (variables) => ({ query: StreamHead, variables: { sessionId: variable ? variables?.[variable] : literal } }) };
}

function subscribeResumable(client: SubscriptionClient, request: SubscriptionRequest, args: EventsArguments, sink: SubscriptionSink): () => void {
  let cursor = request.variables?.[args.after] ?? null;
  let stopped = false;
  let stop: () => void;
  const subscribeEvents = () => {
    // A getter, because clients serialize the request again for each connection.
    const variables = { ...request.variables, get [args.after]() { return cursor; } };
    stop = client.subscribe({ ...request, variables }, {
      next(result: Result) {
        for (const event of Object.values(result.data ?? {})) cursor = cursorOf(event) ?? cursor;
        sink.next(result as never);
      },
      error: (error) => sink.error(error),
      complete: () => sink.complete(),
    });
  };
  // Without a start cursor, a connection lost before the first event would lose events.
  const readHead = () => {
    let failed = false;
    stop = client.subscribe(args.head(request.variables), {
      next({ data, errors }: Result) {
        const [log] = Object.values(data ?? {}) as Array<{ head?: string } | null>;
        cursor = log?.head ?? null;
        if (cursor !== null || stopped) return;
        failed = true;
        sink.error(errors ?? [{ message: "The session does not exist.", extensions: { code: "NOT_FOUND" } }]);
      },
      error: (error) => sink.error(error),
      complete() {
        if (failed) return;
        if (stopped || cursor === null) sink.complete();
        else subscribeEvents();
      },
    });
  };
  if (cursor === null) readHead();
  else subscribeEvents();
  return () => {
    stopped = true;
    stop();
  };
}

const cursorOf = (event: unknown): string | null => {
  const { cursor } = (event ?? {}) as { cursor?: unknown };
  return typeof cursor === "string" ? cursor : null;
};

/** Turns a subscription into an iterator for `for await`. Leaving the loop ends the subscription. */
function toAsyncIterator(subscribe: (sink: SubscriptionSink) => () => void): AsyncIterableIterator<unknown> {
  const waiting: unknown[] = [];
  let wake = () => {};
  let done = false;
  let failure: { error: unknown } | null = null;
  const end = () => {
    done = true;
    wake();
  };
  const stop = subscribe({
    next(result: unknown) {
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
      while (waiting.length === 0 && !done) await new Promise<void>((resolve) => (wake = resolve));
      if (waiting.length > 0) return { done: false, value: waiting.shift() };
      if (failure) throw failure.error;
      return { done: true, value: undefined };
    },
    async return() {
      stop();
      end();
      return { done: true, value: undefined };
    },
  };
}
