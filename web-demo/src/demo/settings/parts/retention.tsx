// How long the server keeps data.
import { Trouble } from "../../parts/dialog.tsx";
import { client } from "../../state/login.ts";
import { RetentionTimes, type RetentionTimesResult } from "../../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";
import { strings } from "../strings.ts";

type Times = RetentionTimesResult["viewer"]["retention"];

const words = strings.retention;

function sentences({ sessionDays, visitHours, forgetUndoMinutes, auditDays }: Times): string[] {
  return [words.deleted, words.forgotten(forgetUndoMinutes), words.sessions(sessionDays), ...(visitHours === null ? [] : [words.visit(visitHours)]), words.activity(auditDays)];
}

export function Retention() {
  const { value: times, error } = useViewerValue(async () => (await client.graphql(RetentionTimes, {})).viewer.retention);
  if (!times) return <Trouble text={error} />;
  return (
    <>
      <ul class="sentences" aria-label={words.title}>{sentences(times).map((sentence) => <li key={sentence}>{sentence}</li>)}</ul>
      <p class="soft">{words.limits}</p>
    </>
  );
}
