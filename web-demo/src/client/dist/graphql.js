// GraphQL over fetch, typed by the generated operations. There is no cache, because the event stream reports changes.
/** A failed request. `code` is stable and for programs, `message` is for people. */
export class RecallError extends Error {
    name = "RecallError";
    code;
    /** HTTP status. 0: no answer. */
    status;
    constructor(code, message, status = 0) {
        super(message);
        this.code = code;
        this.status = status;
    }
}
/** Authentication headers. The browser adds the login cookie itself. */
export const authHeaders = ({ token, csrfToken }) => {
    const [bearer, csrf] = [token?.(), csrfToken?.()];
    return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { "x-csrf-token": csrf } : {}) };
};
/** Payload of `connection_init` with the credentials: a page cannot set headers of a WebSocket. */
export const connectionParams = ({ token, csrfToken }) => {
    const [bearer, csrf] = [token?.(), csrfToken?.()];
    return { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...(csrf ? { csrfToken: csrf } : {}) };
};
/**
 * Runs one query or mutation.
 *
 * Throws a `RecallError` if the server does not answer within `timeoutMs`, or if any part of the operation fails. Expected failures of a
 * mutation are in its payload's `errors`.
 */
export async function graphql(endpoint, document, variables, { timeoutMs = 15_000, signal } = {}) {
    const timeout = AbortSignal.timeout(timeoutMs);
    let response;
    let body;
    try {
        response = await fetch(`${endpoint.url}/graphql`, {
            method: "POST",
            headers: { "content-type": "application/json", accept: "application/json", ...authHeaders(endpoint) },
            body: JSON.stringify({ query: document, variables }),
            signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
        });
        body = (await response.json());
    }
    catch (cause) {
        if (signal?.aborted)
            throw cause;
        throw new RecallError("UNREACHABLE", timeout.aborted ? "The server did not answer in time." : "The server cannot be reached.");
    }
    const error = body.errors?.[0];
    if (error)
        throw new RecallError(error.extensions?.code ?? "INTERNAL", error.message, response.status);
    if (!response.ok || body.data == null)
        throw new RecallError("BAD_RESPONSE", `The server answered ${response.status} without data.`, response.status);
    return body.data;
}
