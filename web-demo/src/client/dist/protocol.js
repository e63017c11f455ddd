// Frames of recall.events.v1: JSON text over the data channel `events`. The field `t` names the frame type.
// The client ignores unknown frame types, so that the protocol can grow.
export const VERSION = 1;
export const CHANNEL_LABEL = "events";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isString = (value) => typeof value === "string";
/** Fields that the client checks, because the order of events depends on them. */
const requiredFields = {
    welcome: { epoch: isString, head: isNumber, ping_s: isNumber },
    ev: { seq: isNumber, type: isString },
    eph: { type: isString },
    caught_up: { seq: isNumber },
    gap: { from: isNumber, to: isNumber },
    ping: {},
    bye: { code: isString },
};
/** Parses a frame. Returns `"unknown"` for an unknown type and `null` for an invalid frame. */
export function parseFrame(text) {
    if (typeof text !== "string")
        return null;
    let frame;
    try {
        frame = JSON.parse(text);
    }
    catch {
        return null;
    }
    if (typeof frame !== "object" || frame === null)
        return null;
    const fields = frame;
    if (!isString(fields["t"]))
        return null;
    if (!Object.hasOwn(requiredFields, fields["t"]))
        return "unknown";
    const checks = requiredFields[fields["t"]] ?? {};
    for (const [name, check] of Object.entries(checks))
        if (!check(fields[name]))
            return null;
    return frame;
}
