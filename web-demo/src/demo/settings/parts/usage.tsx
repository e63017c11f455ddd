// Tokens that model servers used, by day and purpose.
import type { TokenUsage } from "@relevantic/recall";
import { Trouble } from "../../parts/dialog.tsx";
import { date } from "../../state/format.ts";
import { client } from "../../state/login.ts";
import { UsageByDay } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";
import { strings } from "../strings.ts";

const DAYS = 30;
const words = strings.usage;
const tokensOf = ({ inputTokens, outputTokens }: TokenUsage) => inputTokens + outputTokens;

export function Usage() {
  const { value: usage, error } = useViewerValue(async () => (await client.graphql(UsageByDay, { days: DAYS })).viewer.usage);
  if (!usage) return <Trouble text={error} />;
  if (usage.days.length === 0) return <p>{words.none(DAYS)}</p>;
  const most = Math.max(1, ...usage.days.map(tokensOf));
  return (
    <>
      <p>{words.total(tokensOf(usage.total), DAYS)}</p>
      <table>
        <thead><tr>{words.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {usage.days.map((day) => (
            <tr key={day.date + day.operation}>
              <th scope="row">{date(`${day.date}T00:00`)}</th>
              <td>{words.purposes[day.operation]}<span class="bar"><i style={{ width: `${(tokensOf(day) / most) * 100}%` }} /></span></td>
              <td>{day.requests.toLocaleString()}</td><td>{day.inputTokens.toLocaleString()}</td><td>{day.outputTokens.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
