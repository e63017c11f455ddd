// Frames of recall.events.v1: JSON text over the data channel `events`. The field `t` names the frame type.
// The client ignores unknown frame types, so that the protocol can grow.

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

/** Fields that the client checks, because the order of events depends on them. */
const requiredFields: Record<string, Record<string, (value: unknown) => boolean>> = {
  welcome: { epoch: isString, head: isNumber, ping_s: isNumber },
  ev: { seq: isNumber, type: isString },
  eph: { type: isString },
  caught_up: { seq: isNumber },
  gap: { from: isNumber, to: isNumber },
  ping: {},
  bye: { code: isString },
};

/** Parses a frame. Returns `"unknown"` for an unknown type and `null` for an invalid frame. */
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
  if (!Object.hasOwn(requiredFields, fields["t"])) return "unknown";
  const checks = requiredFields[fields["t"]] ?? {};
  for (const [name, check] of Object.entries(checks)) if (!check(fields[name])) return null;
  return frame as ServerFrame;
}
