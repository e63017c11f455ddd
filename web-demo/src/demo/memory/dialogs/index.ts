// The dialogs of the Memory page. Their code loads when the first of them opens.
export { RenameDialog, RetypeDialog } from "./entity-dialogs.tsx";
export { AddFact, CorrectFact } from "./fact-form.tsx";
export { ForgetDialog } from "./forget-dialog.tsx";
export { MergeDialog } from "./merge-dialog.tsx";
export { SplitDialog } from "./split-dialog.tsx";
