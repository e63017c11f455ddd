// Tokens that model servers used, by day and purpose.
import type { ModelOperation, TokenUsage } from "@relevantic/recall";
import { Trouble } from "../../parts/dialog.tsx";
import { date } from "../../state/format.ts";
import { client } from "../../state/login.ts";
import { UsageByDay } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";

const DAYS = 30;
const purposes: Record<ModelOperation, string> = { EXTRACT: "Finding facts", ANSWER: "Answers" };
const tokensOf = ({ inputTokens, outputTokens }: TokenUsage) => inputTokens + outputTokens;

export function Usage() {
  const { value: usage, error } = useViewerValue(async () => (await client.graphql(UsageByDay, { days: DAYS })).viewer.usage);
  if (!usage) return <Trouble text={error} />;
  if (usage.days.length === 0) return <p>No model server was used for you in the last {DAYS} days.</p>;
  const most = Math.max(1, ...usage.days.map(tokensOf));
  return (
    <>
      <p>Model servers used {tokensOf(usage.total).toLocaleString()} tokens for you in the last {DAYS} days, without embeddings. Days are in UTC.</p>
      <table>
        <thead><tr><th scope="col">Day</th><th scope="col">Purpose</th><th scope="col">Requests</th><th scope="col">Read</th><th scope="col">Written</th></tr></thead>
        <tbody>
          {usage.days.map((day) => (
            <tr key={day.date + day.operation}>
              <th scope="row">{date(`${day.date}T00:00`)}</th>
              <td>{purposes[day.operation]}<span class="bar"><i style={{ width: `${(tokensOf(day) / most) * 100}%` }} /></span></td>
              <td>{day.requests.toLocaleString()}</td><td>{day.inputTokens.toLocaleString()}</td><td>{day.outputTokens.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
