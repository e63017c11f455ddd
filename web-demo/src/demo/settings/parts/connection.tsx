// What the page knows of the open session's event stream, for developers.
import { Fragment } from "preact";
import { connection, sessionId } from "../../state/current-session.ts";
import { milliseconds, transportName } from "../../state/format.ts";
import { frames } from "../../state/frames.ts";
import { watch } from "../../state/offline.ts";
import { disconnect, reconnect } from "../../state/stream.ts";
import { strings } from "../strings.ts";

const words = strings.connection;

/** Sizes and kinds only: the page keeps no text of an event for this. */
function Frames() {
  if (frames.value.length === 0) return <p>{words.noEvents}</p>;
  return (
    <table>
      <caption>{words.events(frames.value.length)}</caption>
      <thead><tr>{words.columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
      <tbody>
        {frames.value.map(({ key, kind, bytes, seq, replayed, delayMs }) => (
          <tr key={key}><th scope="row">{seq ?? words.none}</th><td>{kind}</td><td>{bytes.toLocaleString()}</td><td>{replayed ? words.replayed : delayMs === null ? "" : milliseconds(delayMs)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

/** Lets developers watch a reconnect. */
function Cut({ isCut }: { isCut: boolean }) {
  return (
    <>
      <p>{isCut ? words.isCut : words.mayCut}</p>
      <p><button type="button" class="plain" onClick={isCut ? reconnect : disconnect}>{isCut ? words.restore : words.cut}</button></p>
    </>
  );
}

export function Connection() {
  const state = connection.value;
  if (!state) return <p>{watch.active.value ? words.unreachable : words.noSession}</p>;
  const { phase, transport, latencyMs, cursor, replayed, attempt, reason } = state;
  const delay = frames.value.find(({ delayMs }) => delayMs !== null)?.delayMs ?? null;
  const rows: ReadonlyArray<[name: string, value: string | null]> = [
    [words.rows.state, phase], [words.rows.transport, transport && transportName(transport)], [words.rows.roundTrip, latencyMs === null ? null : milliseconds(latencyMs)],
    [words.rows.delay, delay === null ? null : milliseconds(delay)],
    [words.rows.session, sessionId.value], [words.rows.cursor, cursor], [words.rows.replayed, String(replayed)], [words.rows.failed, String(attempt)], [words.rows.lastEnd, reason],
  ];
  return (
    <>
      <p>{words.about}</p>
      {phase !== "closed" && <Cut isCut={phase === "paused"} />}
      <dl class="details">{rows.map(([name, value]) => <Fragment key={name}><dt>{name}</dt><dd>{value ?? words.none}</dd></Fragment>)}</dl>
      <Frames />
    </>
  );
}
