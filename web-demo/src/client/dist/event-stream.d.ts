import { Emitter } from "./emitter.ts";
import type { StreamEvents, StreamOptions, StreamState } from "./stream-types.ts";
export declare class EventStream extends Emitter<StreamEvents> {
    #private;
    readonly sessionId: string;
    constructor(options: StreamOptions);
    get state(): StreamState;
    /** Connects and stays connected. Has no effect on a running stream. */
    start(): this;
    /** Disconnects until `start()`. Keeps the cursor. */
    pause(): void;
    /** Ends the stream permanently. */
    close(reason?: string): void;
    /** Reconnects now instead of waiting for the backoff. */
    retryNow(): void;
}
