// One file on its way to the server, in the list of documents.
import { Icon } from "../../parts/icon.tsx";
import { documentHref } from "../../state/route.ts";
import { formatBytes, kindOf } from "../state/format.ts";
import { dismissUpload, retryUpload, type Upload, type UploadStage } from "../state/uploads.ts";
import { ProgressBar } from "./document-item.tsx";

const STAGES: Record<UploadStage, string> = { waiting: "Waiting", sending: "Sending", failed: "Not added", known: "Duplicate" };

function Detail({ upload }: { upload: Upload }) {
  const { stage, message, documentId, file, canRetry, key } = upload;
  if (stage === "failed") {
    return <small class="failure"><b>{message}</b> {canRetry && file && <button type="button" class="link" onClick={() => retryUpload(key)}>Try again</button>}</small>;
  }
  if (stage === "known") return <small>The same content is stored already, so nothing was added. <a href={documentHref(documentId ?? "")}>Open the document</a></small>;
  if (stage === "sending") return <small>{formatBytes(upload.sent)} of {formatBytes(upload.bytes)} sent</small>;
  return <small>{message ?? `${formatBytes(upload.bytes)}, waits for the files before`}</small>;
}

export function UploadItem({ upload }: { upload: Upload }) {
  const isActive = upload.stage === "waiting" || upload.stage === "sending";
  return (
    <li class="doc upload" data-stage={upload.stage}>
      <span class="kind" aria-hidden="true">{kindOf(upload.name, null)}</span>
      <div class="doc-text">
        <b>{upload.name}</b>{upload.shared && <i class="badge">shared</i>}
        <Detail upload={upload} />
      </div>
      <span class="chip-status" data-status={upload.stage}>{STAGES[upload.stage]}</span>
      <button type="button" class="icon-button" aria-label={`${isActive ? "Cancel" : "Hide"} ${upload.name}`} onClick={() => dismissUpload(upload.key)}><Icon name="close" /></button>
      {isActive && <ProgressBar value={upload.bytes > 0 ? upload.sent / upload.bytes : 0} label={`Upload of ${upload.name}`} />}
    </li>
  );
}
