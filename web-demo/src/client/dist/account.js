// Login state of a page that the server itself serves. Scripts cannot read the login cookie, so the page asks the server.
import { RecallError, authHeaders } from "./graphql.js";
async function request(endpoint, path, method) {
    const response = await fetch(`${endpoint.url}${path}`, { method, cache: "no-store", headers: authHeaders(endpoint) }).catch(() => null);
    if (!response)
        throw new RecallError("UNREACHABLE", "The server cannot be reached.");
    if (response.ok)
        return response;
    const problem = (await response.json().catch(() => ({})));
    throw new RecallError(problem.code ?? "BAD_RESPONSE", problem.detail ?? `The server answered ${response.status}.`, response.status);
}
export const fetchAccount = async (endpoint) => (await request(endpoint, "/auth/session", "GET")).json();
/** Starts a visit: a private memory without a login. The server deletes it some hours after its last use. */
export const beginVisit = async (endpoint) => void (await request(endpoint, "/auth/visit", "POST"));
/** Ends this browser's visit and deletes its data. */
export const endVisit = async (endpoint) => void (await request(endpoint, "/auth/visit", "DELETE"));
/** Moves this browser's visit into the logged-in account. Returns null without a visit. */
export const adoptVisit = async (endpoint) => (await (await request(endpoint, "/auth/adopt", "POST")).json()).adopted;
