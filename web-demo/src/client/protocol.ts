// recall.events.v1: JSON text frames over the data channel `events`. The field `t` names the frame.
// A frame with an unknown `t` is ignored, so that the protocol can grow.

export const VERSION = 1;
export const CHANNEL_LABEL = "events";

export type ClientFrame =
  | { t: "hello"; v: number; stream: string; resume: { epoch: string; seq: number } | null }
  | { t: "ack"; seq: number }
  | { t: "pong" };

export type ServerFrame =
  | { t: "welcome"; v: number; epoch: string; head: number; recovered: boolean; reason?: string | null; ping_s: number; max: number }
  | { t: "ev"; seq: number; id: string; type: string; ts: string; d: unknown }
  | { t: "eph"; type: string; d: unknown }
  | { t: "caught_up"; seq: number }
  | { t: "gap"; from: number; to: number; reason: string }
  | { t: "ping"; head: number }
  | { t: "bye"; code: string; reason?: string; reconnect: boolean; after_ms: number };

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isString = (value: unknown): value is string => typeof value === "string";

/** What each frame must carry for the stream to be right; other fields are the server's word. */
const required: Record<string, Record<string, (value: unknown) => boolean>> = {
  welcome: { epoch: isString, head: isNumber, ping_s: isNumber },
  ev: { seq: isNumber, type: isString },
  eph: { type: isString },
  caught_up: { seq: isNumber },
  gap: { from: isNumber, to: isNumber },
  ping: {},
  bye: { code: isString },
};

/** The frame, `"unknown"` for a kind this client does not know, or `null` for what is no frame at all. */
export function parseFrame(text: unknown): ServerFrame | "unknown" | null {
  if (typeof text !== "string") return null;
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof frame !== "object" || frame === null) return null;
  const fields = frame as Record<string, unknown>;
  if (!isString(fields["t"])) return null;
  if (!Object.hasOwn(required, fields["t"])) return "unknown";
  const checks = required[fields["t"]] ?? {};
  for (const [name, check] of Object.entries(checks)) if (!check(fields[name])) return null;
  return frame as ServerFrame;
}
