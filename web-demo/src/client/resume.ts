// `sessionEvents` through a GraphQL client of the application's own: each subscription resumes where the one before it stopped.
import { fullJitter } from "./backoff.ts";
import { StreamHead } from "./generated/operations.ts";

/** A GraphQL request, as client libraries write it. */
export interface SubscriptionRequest {
  readonly query: string;
  readonly variables?: Record<string, unknown> | null | undefined;
}

/** Takes what a subscription delivers, and how it ends. */
export interface SubscriptionSink {
  next(result: never): void;
  error(error: unknown): void;
  complete(): void;
}

/** A client that subscribes again by itself after a lost connection, such as graphql-ws. Apollo, urql and Relay are built on one. */
export interface SubscriptionClient {
  subscribe(request: SubscriptionRequest, sink: SubscriptionSink): () => void;
}

/**
 * Options for graphql-ws, which by default gives up after five attempts, and at once when a server that starts does not accept
 * connections yet. Its own waiting time doubles without end; this one is never above 15 seconds.
 */
export const alwaysRetry = {
  retryAttempts: Infinity,
  shouldRetry: () => true,
  retryWait: (retries: number) => new Promise<void>((done) => setTimeout(done, fullJitter(retries, { baseMs: 500, capMs: 15_000 }))),
};

/** Where a document names the session and the cursor. */
interface Place {
  readonly after: string;
  readonly session: (variables: SubscriptionRequest["variables"]) => unknown;
}

interface Result {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly unknown[];
}

/**
 * A client whose subscriptions of `sessionEvents` lose and double nothing, however often the connection is lost: it remembers the
 * last cursor and passes it as `after` each time the client subscribes again. A subscription without `after` begins now. All other
 * operations pass through.
 *
 * Throws when a document could not be resumed: it must take `after` from a variable and select `cursor`.
 */
export function resume<Client extends SubscriptionClient>(client: Client): Client {
  const subscribe = (request: SubscriptionRequest, sink: SubscriptionSink): (() => void) => {
    const place = placeIn(request.query);
    return place ? follow(client, request, place, sink) : client.subscribe(request, sink);
  };
  const iterate = (request: SubscriptionRequest) => iterator((sink) => subscribe(request, sink));
  return Object.assign(Object.create(client) as Client, { subscribe, ...("iterate" in client ? { iterate } : {}) });
}

function placeIn(query: string): Place | null {
  const [, given] = /\bsessionEvents\s*\(([^)]*)\)/.exec(query) ?? [];
  if (given === undefined) return null;
  const after = /\bafter\s*:\s*\$(\w+)/.exec(given)?.[1];
  const [, variable, literal] = /\bsessionId\s*:\s*(?:\$(\w+)|"([^"]*)")/.exec(given) ?? [];
  if (!after || !/\bcursor\b/.test(query)) {
    throw new TypeError("To resume, sessionEvents must take its cursor from a variable (after: $after) and select cursor.");
  }
  return { after, session: (variables) => (variable ? variables?.[variable] : literal) };
}

function follow(client: SubscriptionClient, request: SubscriptionRequest, place: Place, sink: SubscriptionSink): () => void {
  let cursor = request.variables?.[place.after] ?? null;
  let stopped = false;
  let stop: () => void;
  const events = () => {
    // A getter: clients write the request anew for each connection.
    const variables = { ...request.variables, get [place.after]() { return cursor; } };
    stop = client.subscribe({ ...request, variables }, {
      next(result: Result) {
        for (const event of Object.values(result.data ?? {})) cursor = cursorOf(event) ?? cursor;
        sink.next(result as never);
      },
      error: (error) => sink.error(error),
      complete: () => sink.complete(),
    });
  };
  // Without a cursor to begin with, what happens before the first event would be lost with the connection.
  const head = () => {
    let failed = false;
    stop = client.subscribe({ query: StreamHead, variables: { sessionId: place.session(request.variables) } }, {
      next({ data, errors }: Result) {
        const session = data?.["session"] as { head?: string } | null | undefined;
        cursor = session?.head ?? null;
        if (cursor !== null || stopped) return;
        failed = true;
        sink.error(errors ?? [{ message: "There is no such session.", extensions: { code: "NOT_FOUND" } }]);
      },
      error: (error) => sink.error(error),
      complete() {
        if (failed) return;
        if (stopped || cursor === null) sink.complete();
        else events();
      },
    });
  };
  if (cursor === null) head();
  else events();
  return () => {
    stopped = true;
    stop();
  };
}

const cursorOf = (event: unknown): string | null => {
  const { cursor } = (event ?? {}) as { cursor?: unknown };
  return typeof cursor === "string" ? cursor : null;
};

/** What a subscription delivers, for `for await`. Ending the loop ends the subscription. */
function iterator(subscribe: (sink: SubscriptionSink) => () => void): AsyncIterableIterator<unknown> {
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
