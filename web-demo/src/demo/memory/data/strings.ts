// The words of "Your data".
import { manyOf } from "../../common/state/words.ts";

export const strings = {
  title: "Your data",
  cancel: "Cancel",
  export: {
    title: "Take it with you",
    about: ["One file with all your sessions, messages, facts and documents. ", " reads it into any other server."],
    offline: "Export, import and deletion need the server. You can use them when the line is back.",
    withToken: ["Export it with your access token: ", "."],
    export: "Export",
  },
  leave: {
    title: "Leave",
    about: "Deletes everything that is known of you, at once and for good.",
    open: "Delete everything…",
    delete: "Delete everything",
    deleting: "Deleting…",
    means: "This deletes all your sessions, messages, facts, documents and access tokens. It cannot be undone. Shared memory stays.",
    type: (word: string) => `Type ${word} to confirm`,
    noReceipt: "The server sent no receipt.",
    deleted: (sessions: number, messages: number, facts: number, documents: number, hasEnded: boolean) =>
      `Deleted: ${manyOf(sessions, "session")}, ${manyOf(messages, "message")}, ${manyOf(facts, "fact")}, ${manyOf(documents, "document")}.${hasEnded ? "" : " The rest follows in the background."}`,
    startAgain: "Start again",
  },
  import: {
    title: "Bring your chats",
    about: "Import what ChatGPT, Claude or Open WebUI exported as JSON or ZIP, the memories of mem0, or the chats in an export of Recall. A repeated import adds only what is new.",
    file: "File with chats",
    open: "Import…",
    emptyZip: "The ZIP archive contains no conversations.json.",
    tooLarge: (mib: number) => `The file is larger than ${mib} MiB. Import it on the server with "recall import".`,
    unknown: "This is no export of ChatGPT, Claude, Open WebUI, mem0 or Recall.",
    unreadable: "The file is neither JSON nor a ZIP archive that can be read. Unpack a ZIP archive, and choose its conversations.json.",
    ownTitle: "Import an export of Recall",
    titleOf: (program: string) => `Import chats of ${program}`,
    memories: (memories: number) => `${memories === 1 ? "1 memory" : `${memories.toLocaleString()} memories`}. They become messages of one session, as if you had said them.`,
    chats: (chats: number, messages: number) => `${manyOf(chats, "chat")} with ${manyOf(messages, "message")}. Each chat becomes a session with its title and dates. Questions in it are not answered again.`,
    byHand: ["The facts are read from the messages again, so what you corrected, retracted, merged or renamed by hand is not in them. Only ", " on the server takes everything."],
    noDocuments: (documents: number) => `Left out: ${manyOf(documents, "document")}. Add the files again.`,
    notRemembered: (messages: number) => `Left out: ${manyOf(messages, "message")} that ${messages === 1 ? "is forgotten or was" : "are forgotten or were"} not remembered.`,
    withoutText: (messages: number) => `Left out: ${manyOf(messages, "message")} without text, of tools or of replaced branches.`,
    unread: (chats: number) => `Left out: ${manyOf(chats, "chat")} without messages or in an unknown form.`,
    paused: "Remembering is paused. The chats are stored, but nothing is learned from them.",
    progress: "Imported chats",
    /** `end`: null while it runs. */
    status: (done: number, all: number, known: number, end: "stopped" | "done" | null) =>
      `${end === null ? "" : end === "stopped" ? "Stopped. " : "Done. "}${done.toLocaleString()} of ${manyOf(all, "chat")}${known > 0 ? `, ${known.toLocaleString()} of them known before` : ""}.${end === null ? "" : " Recall finds the facts in the background."}`,
    stop: "Stop",
    close: "Close",
    tryAgain: "Try again",
    import: "Import",
  },
};
