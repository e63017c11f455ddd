export declare const VERSION = 1;
export declare const CHANNEL_LABEL = "events";
export type ClientFrame = {
    t: "hello";
    v: number;
    stream: string;
    resume: {
        epoch: string;
        seq: number;
    } | null;
} | {
    t: "ack";
    seq: number;
} | {
    t: "pong";
};
export type ServerFrame = {
    t: "welcome";
    v: number;
    epoch: string;
    head: number;
    recovered: boolean;
    reason?: string | null;
    ping_s: number;
    max: number;
} | {
    t: "ev";
    seq: number;
    id: string;
    type: string;
    ts: string;
    d: unknown;
} | {
    t: "eph";
    type: string;
    d: unknown;
} | {
    t: "caught_up";
    seq: number;
} | {
    t: "gap";
    from: number;
    to: number;
    reason: string;
} | {
    t: "ping";
    head: number;
} | {
    t: "bye";
    code: string;
    reason?: string;
    reconnect: boolean;
    after_ms: number;
};
/** Parses a frame. Returns `"unknown"` for an unknown type and `null` for an invalid frame. */
export declare function parseFrame(text: unknown): ServerFrame | "unknown" | null;
