// The words of the dialogs of the Memory page. Those of a preview are in merge-words.ts.
import { factsAndMessages, manyOf } from "../../common/state/words.ts";

export const strings = {
  cancel: "Cancel",
  whatChanges: "What changes",
  viewer: "you",
  viewerTitle: "You",
  previewFailed: "The preview could not be loaded.",
  facts: (facts: number) => manyOf(facts, "fact"),

  rename: {
    shownIn: (facts: number, mentions: number) => `${manyOf(facts, "fact")} and ${manyOf(mentions, "mention")} ${facts + mentions === 1 ? "shows" : "show"} it`,
    ownName: (name: string) => `You are already called ${name}.`,
    /** `type`: with its article. */
    namesake: (type: string, name: string) => `There is already ${type} called ${name}.`,
    otherNamesake: (wanted: string, name: string) => `${wanted}: ${name}`,
    title: (name: string) => `Rename ${name}`,
    newName: "New name",
    /** Between the old and the new name. */
    isCalled: " is then called ",
    shown: (shownIn: string) => `: ${shownIn}.`,
    bothNames: " becomes another name, so both names find it.",
    wordsStay: "The words of messages stay as they are.",
    twoWithOne: " Two would then have one name. ",
    merge: "Merge the two…",
    rename: "Rename",
  },

  retype: {
    title: (name: string) => `Change the type of ${name}`,
    type: "Type",
    is: "The type is ",
    changes: ["The type changes from ", " to "],
    isKept: "Your choice is kept: no later message changes the type.",
    change: "Change",
  },

  form: {
    valueExamples: { DATE: "such as 4 March 1990", MONEY: "such as €900", NUMBER: "such as 42 or 3 kg", CONTACT: "such as an address or a number", TEXT: "" },
    or: " or ",
    name: "A name, or you",
    ifNew: "If it is new, it is a",
    chooseType: "choose a type",
    wrongType: (name: string, isViewer: boolean, type: string, types: string) => `${name} ${isViewer ? "are" : "is"} ${type}. The relation takes ${types}.`,
    subject: "Who or what",
    object: "Whom or what",
    relation: "Relation",
    relationExample: "such as lives in",
    value: "Value",
    measure: "What it measures (optional)",
    chooseRelation: "Choose a relation from the list.",
  },

  add: {
    title: "Add a fact",
    add: "Add",
    where: "Where it is recorded",
    session: "Session",
    openSession: "The open session",
    option: (title: string, isShared: boolean) => `${title}${isShared ? " (shared)" : ""}`,
  },

  correct: {
    title: "Correct this fact",
    correct: "Correct",
    now: ["The memory says now: ", ". It will be retracted, and stays readable."],
    reason: "Reason (optional)",
    reasonHint: "Kept as a message of the session",
  },

  forget: {
    nothing: "Nothing matches. Nothing would be forgotten.",
    this: ["This forgets ", "."],
    size: factsAndMessages,
    preview: "What would be forgotten",
    facts: "Facts",
    messages: "Messages",
    more: (more: number) => `and ${more.toLocaleString()} more`,
    undo: "You can undo this for some minutes. After that it is deleted for good.",
    looking: "Looking what this would forget…",
    before: "Nothing is forgotten before you have seen what it is.",
    deleteSure: "Delete without undo?",
    delete: "Delete for good",
    /** null: not known yet, or nothing. */
    forget: (size: string | null) => `Forget ${size ?? ""}`,
    what: "What to forget",
    example: "everything about Oakwood",
    period: "Only what was said in a period",
    from: "From",
    until: "Before",
    periodAlone: "Without words, the period alone is forgotten.",
    show: "Show what this would forget",
  },

  merge: {
    counting: "Counting what changes…",
    refused: "Nothing: the server refuses this merge.",
    stays: " stays",
    alsoCalled: (names: string) => `, and is also called ${names}`,
    disputed: (facts: string) => `Then disputed, because only one can hold: ${facts}.`,
    again: "You can split them again at any time.",
    which: "Which name stays",
    merge: "Merge",
    title: (name: string) => `Merge ${name} with a duplicate`,
    other: "The other one",
  },

  split: {
    merged: (day: string, reason: string) => `merged ${day}, ${reason}`,
    anotherName: "another name",
    counting: "Counting what moves…",
    nothing: "Nothing can move.",
    title: (name: string) => `Split ${name}`,
    which: "What stands alone then",
    /** Around the name of the part and that of the whole. */
    byName: ["What was said under the name ", " moves. The rest stays with ", "."],
    byMerge: ["What was learned since the merge stays with ", (name: string) => `, unless its message names ${name}.`] as const,
    again: "You can merge them again at any time.",
    before: "Nothing is split before you have seen what moves.",
    split: "Split",
  },
};
