// One file on its way to the server, in the list of documents.
import { Icon } from "../../parts/icon.tsx";
import { documentHref } from "../../state/route.ts";
import { formatBytes, kindOf } from "../state/format.ts";
import { dismissUpload, retryUpload, type Upload } from "../state/uploads.ts";
import { ProgressBar } from "./document-item.tsx";
import { strings } from "../strings.ts";

function Detail({ upload }: { upload: Upload }) {
  const { stage, message, documentId, file, canRetry, key } = upload;
  if (stage === "failed") {
    return <small class="failure"><b>{message}</b> {canRetry && file && <button type="button" class="link" onClick={() => retryUpload(key)}>{strings.tryAgain}</button>}</small>;
  }
  if (stage === "known") return <small>{strings.upload.known}<a href={documentHref(documentId ?? "")}>{strings.upload.open}</a></small>;
  if (stage === "sending") return <small>{strings.upload.sent(formatBytes(upload.sent), formatBytes(upload.bytes))}</small>;
  return <small>{message ?? strings.upload.waits(formatBytes(upload.bytes))}</small>;
}

export function UploadItem({ upload }: { upload: Upload }) {
  const isActive = upload.stage === "waiting" || upload.stage === "sending";
  return (
    <li class="doc upload" data-stage={upload.stage}>
      <span class="kind" aria-hidden="true">{kindOf(upload.name, null)}</span>
      <div class="doc-text">
        <b>{upload.name}</b>{upload.shared && <i class="badge">{strings.shared}</i>}
        <Detail upload={upload} />
      </div>
      <span class="chip-status" data-status={upload.stage}>{strings.upload.stages[upload.stage]}</span>
      <button type="button" class="icon-button" aria-label={isActive ? strings.upload.cancel(upload.name) : strings.upload.hide(upload.name)} onClick={() => dismissUpload(upload.key)}><Icon name="close" /></button>
      {isActive && <ProgressBar value={upload.bytes > 0 ? upload.sent / upload.bytes : 0} label={strings.upload.label(upload.name)} />}
    </li>
  );
}
