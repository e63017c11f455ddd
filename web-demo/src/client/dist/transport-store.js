/** One day: after that the laptop may be in another network, or the server may have another configuration. */
const TTL_MS = 24 * 60 * 60 * 1000;
/** Keeps the transport in a Web Storage area, per origin, for a day. Ignores full or forbidden storage. */
export function webStorageTransports(storage = () => localStorage, prefix = "recall.transport.") {
    return {
        load(origin) {
            try {
                const [transport, until] = (storage().getItem(prefix + origin) ?? "").split(" ");
                return transport === "websocket" && Number(until) > Date.now() ? transport : null;
            }
            catch {
                return null;
            }
        },
        save(origin, transport) {
            try {
                if (transport === null)
                    storage().removeItem(prefix + origin);
                else
                    storage().setItem(prefix + origin, `${transport} ${Date.now() + TTL_MS}`);
            }
            catch {
                // Storage is full or forbidden. The next page load tries the preferred transport again.
            }
        },
    };
}
