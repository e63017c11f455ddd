// Saves the view as an image.
import { Dialog, Trouble } from "../../parts/dialog.tsx";
import { useAction } from "../../state/action.ts";
import type { GraphStage } from "./stage.ts";
import { strings } from "../strings.ts";

const formats = [["png", "PNG", strings.save.png], ["svg", "SVG", strings.save.svg]] as const;

function download(image: Blob, name: string) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(image), download: name });
  link.click();
  // The download has begun when the next task runs.
  setTimeout(() => URL.revokeObjectURL(link.href));
}

export function SaveDialog({ stage, onClose }: { stage: GraphStage; onClose: () => void }) {
  const { error, run } = useAction();
  const save = (format: "png" | "svg") => run(async () => {
    const image = await stage.toBlob(format);
    if (!image) throw new Error(strings.save.failed);
    download(image, `recall-graph.${format}`);
    onClose();
  });
  return (
    <Dialog title={strings.save.title} onClose={onClose}>
      <p class="soft">{strings.save.shows}</p>
      <ul class="formats">
        {formats.map(([format, name, use]) => <li key={format}><button type="button" class="plain" onClick={() => void save(format)}>{name}</button> <span class="soft">{use}</span></li>)}
      </ul>
      <Trouble text={error} />
    </Dialog>
  );
}
