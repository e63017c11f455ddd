// The report of a comparison: its question, its documents, and what they have in common and what not.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { count, day } from "../../state/format.ts";
import { handleError } from "../../state/problem.ts";
import { comparisonHref, documentHref, documentsHref, navigate } from "../../state/route.ts";
import type { PointRow } from "../generated/operations.ts";
import { closeComparison, deleteComparison, openComparison, openedComparison, startComparison, type OpenedComparison } from "../state/comparisons.ts";
import { comparingText, namesOf, progressOf, titleOf } from "../state/format.ts";
import { isUnfinished } from "../state/library.ts";
import { useReadingOnReturn } from "../state/return.ts";
import { DeleteButton } from "./delete-button.tsx";
import { ProgressBar } from "./document-item.tsx";
import { Point } from "./points.tsx";
import { Unopened } from "../../common/parts/unopened.tsx";
import { strings } from "../strings.ts";

const GROUPS = [
  { name: strings.report.similarities, about: strings.report.similaritiesAbout, pointsOf: (r: OpenedComparison) => r.similarities },
  { name: strings.report.differences, about: strings.report.differencesAbout, pointsOf: (r: OpenedComparison) => r.differences },
  { name: strings.report.insights, about: strings.report.insightsAbout, pointsOf: (r: OpenedComparison) => r.insights },
] as const;

/** The mark whose passage the user opened. It gets the focus when the user comes back. */
let followed: { report: string; group: string; point: number; mark: number } | null = null;

function Head({ report, names }: { report: OpenedComparison; names: ReadonlyMap<string, string> }) {
  // The bar stays after the end, so that the report keeps its place.
  const [showsProgress] = useState(isUnfinished(report));
  const title = titleOf(report);
  const progress = comparingText(report) ?? (report.status === "FAILED" ? strings.report.failed : strings.report.ready);
  const remove = async () => { if (await deleteComparison(report.id)) navigate(documentsHref); };
  return (
    <header class="doc-head">
      <div>
        <h1>{report.question ?? strings.report.title}</h1>
        <p class="soft">{count(report.documents.length, "document")}, {day(report.createdAt)}</p>
        <ul class="compared" aria-label={strings.report.compared}>
          {report.documents.map(({ id }) => <li key={id}><a href={documentHref(id)}>{names.get(id)}</a></li>)}
        </ul>
      </div>
      <DeleteButton name={title} effect={strings.comparisons.deletion} onDelete={remove} />
      {showsProgress && <div class="doc-progress"><small>{progress}</small><ProgressBar value={isUnfinished(report) ? progressOf(report) : 1} label={strings.report.progress} isWaiting={isUnfinished(report) && report.total === 0} /></div>}
    </header>
  );
}

function Failed({ report }: { report: OpenedComparison }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const retry = async () => {
    setBusy(true);
    await startComparison(report.documents.map(({ id }) => id), report.question).then((id) => navigate(comparisonHref(id)), (cause: unknown) => setError(handleError(cause)));
    setBusy(false);
  };
  return (
    <div class="failure-card">
      <h2>{strings.report.notCompared}</h2>
      <p>{report.error ?? strings.noReason}</p>
      <p><button type="button" class="link" disabled={busy} onClick={() => void retry()}>{strings.report.again}</button></p>
      {error && <p class="trouble" role="alert">{error}</p>}
    </div>
  );
}

interface GroupProps {
  name: string;
  about: string;
  points: readonly PointRow[];
  names: ReadonlyMap<string, string>;
  onFollow: (point: number, mark: number) => void;
}

function Group({ name, about, points, names, onFollow }: GroupProps) {
  return (
    <section class="points" data-group={name} aria-label={name}>
      <h2>{strings.report.group(name, points.length)}</h2>
      <p class="soft">{points.length > 0 ? about : strings.report.none}</p>
      <ol>
        {points.map((point, at) => <li key={at} data-point={at}><Point point={point} names={names} onFollow={(mark) => onFollow(at, mark)} /></li>)}
      </ol>
    </section>
  );
}

export function Report({ id }: { id: string }) {
  const report = openedComparison.value?.id === id ? openedComparison.value : null;
  const [missing, setMissing] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);

  const open = () => {
    setError(null);
    openComparison(id).then((found) => { if (!found) setMissing(true); }, (cause: unknown) => {
      if ((cause as { code?: string }).code === "INVALID_ID") setMissing(true);
      else setError(handleError(cause));
    });
  };
  useEffect(() => {
    open();
    return closeComparison;
  }, [id]);
  useReadingOnReturn(() => { if (error !== null) open(); });
  // It was deleted here or in another tab.
  const wasShown = useRef(false);
  useEffect(() => {
    if (report) wasShown.current = true;
    else if (wasShown.current) setMissing(true);
  }, [report === null]);
  useEffect(() => {
    if (!report || followed?.report !== id) return;
    const { group, point, mark } = followed;
    followed = null;
    const target = box.current?.querySelector<HTMLElement>(`[data-group="${group}"] [data-point="${point}"] [data-mark="${mark}"]`);
    target?.focus({ preventScroll: true });
    target?.scrollIntoView({ block: "center" });
  }, [report === null]);

  const back = <a class="quiet back" href={documentsHref}><Icon name="back" />{strings.allDocuments}</a>;
  if (missing) return <div class="column">{back}<h1>{strings.report.missing}</h1><p class="soft">{strings.deletedOrOther}</p></div>;
  if (!report) return <div class="column" aria-busy={!error}>{back}{error && <Unopened what={strings.nouns.comparison} why={error} />}</div>;
  const names = namesOf(report.documents);
  // Points found later would move those that the user reads, so they are shown when all are found.
  const hasPoints = GROUPS.some(({ pointsOf }) => pointsOf(report).length > 0);
  const showsPoints = report.status === "COMPLETED" || (report.status === "FAILED" && hasPoints);
  return (
    <div class="column report" ref={box}>
      {back}
      <Head report={report} names={names} />
      {report.status === "FAILED" && <Failed report={report} />}
      {isUnfinished(report) && <p class="soft">{strings.report.comes}</p>}
      {showsPoints && GROUPS.map(({ name, about, pointsOf }) => (
        <Group key={name} name={name} about={about} points={pointsOf(report)} names={names} onFollow={(point, mark) => { followed = { report: id, group: name, point, mark }; }} />
      ))}
      {showsPoints && report.comparer && <p class="soft comparer">{strings.report.comparedBy(report.comparer === "alignment" ? null : report.comparer)}</p>}
    </div>
  );
}
