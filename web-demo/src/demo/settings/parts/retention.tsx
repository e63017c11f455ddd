// How long the server keeps data.
import { Trouble } from "../../parts/dialog.tsx";
import { count } from "../../state/format.ts";
import { client } from "../../state/login.ts";
import { RetentionTimes, type RetentionTimesResult } from "../../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";

type Times = RetentionTimesResult["viewer"]["retention"];

const HOUR = 60;
const DAY = 24 * HOUR;

/** 90 -> "90 minutes", 120 -> "2 hours", 2880 -> "2 days". */
function duration(minutes: number): string {
  if (minutes > DAY && minutes % DAY === 0) return count(minutes / DAY, "day");
  return minutes >= HOUR && minutes % HOUR === 0 ? count(minutes / HOUR, "hour") : count(minutes, "minute");
}

function sentences({ sessionDays, visitHours, forgetUndoMinutes, auditDays }: Times): string[] {
  return [
    "What you delete is gone at once: a session, a message, a document, a comparison, or all your data.",
    forgetUndoMinutes > 0
      ? `What you make Recall forget is hidden at once. You can undo this for ${duration(forgetUndoMinutes)}. Then it is deleted for good.`
      : "What you make Recall forget is deleted for good at once. You cannot undo this.",
    sessionDays === null ? "Sessions and documents are kept until you delete them."
      : `A session without a new message for ${count(sessionDays, "day")} is deleted, and so is a document after this time. Shared memory is kept.`,
    ...(visitHours === null ? [] : [`Your visit ends ${duration(visitHours * HOUR)} after your last request. Its data is then deleted.`]),
    `Entries of the activity are kept for ${count(auditDays, "day")}, also after you delete what they are about. They contain no text from a memory.`,
  ];
}

export function Retention() {
  const { value: times, error } = useViewerValue(async () => (await client.graphql(RetentionTimes, {})).viewer.retention);
  if (!times) return <Trouble text={error} />;
  return (
    <>
      <ul class="sentences" aria-label="How long data is kept">{sentences(times).map((sentence) => <li key={sentence}>{sentence}</li>)}</ul>
      <p class="soft">The operator of this server chooses these times. Backups of the operator are not covered.</p>
    </>
  );
}
