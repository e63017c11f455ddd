// Files that the user drops anywhere on the page. The documents place takes them.
import { signal } from "@preact/signals";
import { loginMethods } from "./login.ts";
import { documentsHref, navigate, route } from "./route.ts";

/** Files and the names of folders. null: nothing was dropped. */
export const dropped = signal<{ files: File[]; folders: string[] } | null>(null);
/** The user drags files over the page. */
export const isDragging = signal(false);

const holdsFiles = (event: DragEvent) => loginMethods.value === null && event.dataTransfer?.types.includes("Files") === true;

function readDrop({ items, files }: DataTransfer) {
  const folders: string[] = [];
  const kept: File[] = [];
  [...items].filter((item) => item.kind === "file").forEach((item, index) => {
    const file = files[index];
    if (item.webkitGetAsEntry()?.isDirectory) folders.push(file?.name ?? "Folder");
    else if (file) kept.push(file);
  });
  return { files: kept, folders };
}

/** Accepts dropped files until the returned function is called. */
export function acceptDrops(): () => void {
  // Each element that the pointer enters or leaves sends an event.
  let depth = 0;
  const setDepth = (value: number) => {
    depth = Math.max(0, value);
    isDragging.value = depth > 0;
  };
  const listeners: Array<[string, (event: DragEvent) => void]> = [
    ["dragenter", (event) => { if (holdsFiles(event)) setDepth(depth + 1); }],
    ["dragleave", (event) => { if (holdsFiles(event)) setDepth(depth - 1); }],
    ["dragover", (event) => { if (holdsFiles(event)) event.preventDefault(); }],
    ["drop", (event) => {
      if (!holdsFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      setDepth(0);
      dropped.value = readDrop(event.dataTransfer);
      if (route.value.page !== "documents") navigate(documentsHref);
    }],
  ];
  for (const [name, listener] of listeners) addEventListener(name, listener as EventListener);
  return () => { for (const [name, listener] of listeners) removeEventListener(name, listener as EventListener); };
}
