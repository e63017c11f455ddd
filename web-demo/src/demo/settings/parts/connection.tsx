// What the page knows of the open session's event stream, for developers.
import { Fragment } from "preact";
import { connection, sessionId } from "../../state/current-session.ts";
import { milliseconds, transportName } from "../../state/format.ts";
import { frames } from "../../state/frames.ts";
import { watch } from "../../state/offline.ts";
import { disconnect, reconnect } from "../../state/stream.ts";

/** Sizes and kinds only: the page keeps no text of an event for this. */
function Frames() {
  if (frames.value.length === 0) return <p>No event has arrived yet. Say something in the session, here or elsewhere.</p>;
  return (
    <table>
      <caption>Last {frames.value.length} events, latest first</caption>
      <thead><tr><th scope="col">Number</th><th scope="col">Kind</th><th scope="col">Bytes</th><th scope="col">Delay</th></tr></thead>
      <tbody>
        {frames.value.map(({ key, kind, bytes, seq, replayed, delayMs }) => (
          <tr key={key}><th scope="row">{seq ?? "none"}</th><td>{kind}</td><td>{bytes.toLocaleString()}</td><td>{replayed ? "replayed" : delayMs === null ? "" : milliseconds(delayMs)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

/** Lets developers watch a reconnect. */
function Cut({ isCut }: { isCut: boolean }) {
  return (
    <>
      <p>{isCut ? "The line is cut. Recall goes on, but this page does not see it." : "Cut the line, and the page sees nothing new. Restore it, and the page replays what it missed."}</p>
      <p><button type="button" class="plain" onClick={isCut ? reconnect : disconnect}>{isCut ? "Restore the line" : "Cut the line"}</button></p>
    </>
  );
}

export function Connection() {
  const state = connection.value;
  if (!state) return <p>{watch.active.value ? "The server cannot be reached" : "No session is open"}, so there is no event stream.</p>;
  const { phase, transport, latencyMs, cursor, replayed, attempt, reason } = state;
  const delay = frames.value.find(({ delayMs }) => delayMs !== null)?.delayMs ?? null;
  const rows: ReadonlyArray<[name: string, value: string | null]> = [
    ["State", phase], ["Transport", transport && transportName(transport)], ["Round trip", latencyMs === null ? null : milliseconds(latencyMs)],
    ["Delay of the last event", delay === null ? null : milliseconds(delay)],
    ["Session", sessionId.value], ["Cursor", cursor], ["Replayed events", String(replayed)], ["Failed attempts", String(attempt)], ["Last end", reason],
  ];
  return (
    <>
      <p>Events of the open session arrive in a stream. After an interruption it resumes after its cursor.</p>
      {phase !== "closed" && <Cut isCut={phase === "paused"} />}
      <dl class="details">{rows.map(([name, value]) => <Fragment key={name}><dt>{name}</dt><dd>{value ?? "none"}</dd></Fragment>)}</dl>
      <Frames />
    </>
  );
}
