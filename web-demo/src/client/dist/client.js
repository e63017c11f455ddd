// Entry point of the package: GraphQL, login and event streams of one server.
import { adoptVisit, beginVisit, endVisit, fetchAccount } from "./account.js";
import { EventStream } from "./event-stream.js";
import { CreateSession, SendMessage } from "./generated/operations.js";
import { RecallError, graphql } from "./graphql.js";
export class RecallClient {
    endpoint;
    constructor({ url = "", token, csrfToken } = {}) {
        this.endpoint = { url: url.replace(/\/+$/, ""), token, csrfToken };
    }
    /** Runs one typed query or mutation. Throws a `RecallError`. */
    graphql(document, variables) {
        return graphql(this.endpoint, document, variables);
    }
    /** Creates a session. All signed-in users read a `shared` session; only administrators create and write it. */
    async createSession(title, { shared = false } = {}) {
        const input = { ...(title === undefined ? {} : { title }), ...(shared ? { shared } : {}) };
        const { createSession } = await this.graphql(CreateSession, { input });
        return resultOrThrow(createSession.session, createSession.errors);
    }
    /** Sends one message. With a `clientMessageId`, a retry returns the first result instead of storing the message twice. */
    async sendMessage(input) {
        const { sendMessage } = await this.graphql(SendMessage, { input });
        return resultOrThrow(sendMessage.message, sendMessage.errors);
    }
    /** Returns the logged-in user and the available login methods. */
    whoIsThere() {
        return fetchAccount(this.endpoint);
    }
    /** Starts a visit without a login, if the server offers `visit`. Call `whoIsThere()` again afterwards. */
    beginVisit() {
        return beginVisit(this.endpoint);
    }
    /** Ends this browser's visit and deletes its data. */
    endVisit() {
        return endVisit(this.endpoint);
    }
    /** Moves this browser's visit into the logged-in account. Returns null without a visit. */
    adoptVisit() {
        return adoptVisit(this.endpoint);
    }
    /** Creates the session's event stream. Add listeners, then call `start()`. */
    stream(sessionId, options = {}) {
        return new EventStream({ ...options, endpoint: this.endpoint, sessionId });
    }
}
function resultOrThrow(value, errors) {
    const error = errors[0];
    if (value === null || error)
        throw new RecallError(error?.code ?? "BAD_RESPONSE", error?.message ?? "The server sent no result.", 200);
    return value;
}
