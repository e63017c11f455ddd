// React: follows a session while a component is mounted. `react` is an optional peer dependency.
import { useEffect, useRef, useState } from "react";
import type { RecallClient } from "./client.ts";
import type { EventStream } from "./event-stream.ts";
import type { StreamEvents, StreamOptions, StreamState } from "./stream-types.ts";

/** Listeners by the name of their event, as for `EventStream.on`. */
export type Listeners = { readonly [Name in keyof StreamEvents]?: (...args: StreamEvents[Name]) => void };

export interface Following {
  /** null until the stream has started. */
  readonly state: StreamState | null;
  /** The stream, for `retryNow()` and `pause()`. */
  readonly stream: EventStream | null;
}

/**
 * Follows the events of a session.
 *
 * The latest listeners are called, so they may be new functions in each render; which events have one is fixed by the first render.
 * A change of the client or the session starts a new stream. Changed `options` apply to the next stream. null: follows nothing.
 */
export function useEventStream(
  client: RecallClient,
  sessionId: string | null,
  listeners: Listeners,
  options?: Omit<StreamOptions, "endpoint" | "sessionId">,
): Following {
  const latest = useRef({ listeners, options });
  latest.current = { listeners, options };
  const [following, setFollowing] = useState<Following>({ state: null, stream: null });

  useEffect(() => {
    if (sessionId === null) return;
    const stream = client.stream(sessionId, {
      ...latest.current.options,
      onGap: (gap) => latest.current.options?.onGap?.(gap),
    });
    for (const name of Object.keys(latest.current.listeners) as Array<keyof StreamEvents>) {
      stream.on(name, (...args: unknown[]) => (latest.current.listeners[name] as ((...args: unknown[]) => void) | undefined)?.(...args));
    }
    stream.on("state", (state) => setFollowing({ state, stream }));
    stream.start();
    return () => {
      stream.close();
      setFollowing({ state: null, stream: null });
    };
  }, [client, sessionId]);

  return following;
}
