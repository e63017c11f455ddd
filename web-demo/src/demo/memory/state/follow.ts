// Notices changes that other tabs, devices and programs make. No subscription covers all sessions, so there are three ways.
import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Fingerprint } from "../generated/operations.ts";
import { client, memory, type MemoryPage } from "./context.ts";

const SETTLE_MS = 300;
const POLL_MS = 5000;

/**
 * Calls `onChange` after events of the open session, when the reader comes back to the page, and when a short query
 * that runs every five seconds shows that something changed.
 */
export function useChangesElsewhere({ reader }: MemoryPage, onChange: () => void): void {
  useEffect(() => {
    let settle: ReturnType<typeof setTimeout> | undefined;
    let seen: string | null = null;
    let ended = false;
    const changeSoon = () => {
      clearTimeout(settle);
      settle = setTimeout(onChange, SETTLE_MS);
    };
    const look = async () => {
      if (document.visibilityState === "hidden") return;
      const { mayReadShared, noteRelations: [relation] } = reader.value;
      const now = await client.graphql(Fingerprint, { shared: mayReadShared, notes: relation ? { relation } : null }).then(JSON.stringify, () => seen);
      if (ended) return;
      if (seen !== null && now !== seen) changeSoon();
      seen = now;
    };
    void look();
    const poll = setInterval(() => void look(), POLL_MS);
    const onReturn = () => { if (document.visibilityState === "visible") changeSoon(); };
    document.addEventListener("visibilitychange", onReturn);
    addEventListener("focus", onReturn);
    let first = true;
    const stopFollowing = effect(() => {
      void memory.value?.version.value;
      if (!first) changeSoon();
      first = false;
    });
    return () => {
      ended = true;
      clearTimeout(settle);
      clearInterval(poll);
      document.removeEventListener("visibilitychange", onReturn);
      removeEventListener("focus", onReturn);
      stopFollowing();
    };
  }, []);
}
