// What the page knows of the open session's event stream, for developers.
import { Fragment } from "preact";
import { connection, sessionId } from "../../state/app.ts";
import { milliseconds, transportName } from "../../state/format.ts";

export function Connection() {
  const state = connection.value;
  if (!state) return <p>No session is open, so there is no event stream.</p>;
  const { phase, transport, latencyMs, cursor, replayed, attempt, reason } = state;
  const rows: ReadonlyArray<[name: string, value: string | null]> = [
    ["State", phase], ["Transport", transport && transportName(transport)], ["Round trip", latencyMs === null ? null : milliseconds(latencyMs)],
    ["Session", sessionId.value], ["Cursor", cursor], ["Replayed events", String(replayed)], ["Failed attempts", String(attempt)], ["Last end", reason],
  ];
  return (
    <>
      <p>Events of the open session arrive in a stream. After an interruption it resumes after its cursor.</p>
      <dl class="details">{rows.map(([name, value]) => <Fragment key={name}><dt>{name}</dt><dd>{value ?? "none"}</dd></Fragment>)}</dl>
    </>
  );
}
