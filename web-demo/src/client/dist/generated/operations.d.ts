import type { TypedDocument } from "../graphql.ts";
import type { CreateSessionInput, DateTime, MessageKind, MessageRole, MessageStatus, SendMessageInput } from "./schema.ts";
export type StreamHeadResult = {
    session: {
        head: string;
    } | null;
};
export type StreamHeadVariables = {
    sessionId: string;
};
export declare const StreamHead: TypedDocument<StreamHeadResult, StreamHeadVariables>;
export type CreateSessionResult = {
    createSession: {
        session: {
            id: string;
            title: string | null;
            shared: boolean;
            createdAt: DateTime;
            updatedAt: DateTime;
            head: string;
        } | null;
        errors: Array<{
            code: string;
            message: string;
            path: string[];
        }>;
    };
};
export type CreateSessionVariables = {
    input: CreateSessionInput;
};
export declare const CreateSession: TypedDocument<CreateSessionResult, CreateSessionVariables>;
export type SendMessageResult = {
    sendMessage: {
        status: MessageStatus | null;
        message: {
            id: string;
            role: MessageRole;
            speaker: string | null;
            text: string;
            kind: MessageKind | null;
            status: MessageStatus;
            sentAt: DateTime;
            createdAt: DateTime;
        } | null;
        errors: Array<{
            code: string;
            message: string;
            path: string[];
        }>;
    };
};
export type SendMessageVariables = {
    input: SendMessageInput;
};
export declare const SendMessage: TypedDocument<SendMessageResult, SendMessageVariables>;
export type SessionEventsResult = {
    sessionEvents: {
        seq: number;
        cursor: string;
        type: string;
        createdAt: DateTime;
        data: unknown;
    };
};
export type SessionEventsVariables = {
    sessionId: string;
    after?: string | null;
};
export declare const SessionEvents: TypedDocument<SessionEventsResult, SessionEventsVariables>;
