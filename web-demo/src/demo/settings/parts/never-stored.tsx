// The kinds of text that the server never stores.
import { Trouble } from "../../parts/dialog.tsx";
import { client } from "../../state/login.ts";
import { NeverStoredKinds } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";
import { strings } from "../strings.ts";

const words = strings.neverStored;

export function NeverStored() {
  const { value: kinds, error } = useViewerValue(async () => (await client.graphql(NeverStoredKinds, {})).viewer.neverStored);
  if (!kinds) return <Trouble text={error} />;
  if (kinds.length === 0) return <p>{words.none}</p>;
  return (
    <>
      <p>{words.about}</p>
      <ul class="never-stored" aria-label={words.title}>
        {kinds.map((kind) => <li key={kind}>{words.kinds[kind].text} <code>{words.kinds[kind].mark}</code></li>)}
      </ul>
      <p class="soft">{words.limits}</p>
    </>
  );
}
