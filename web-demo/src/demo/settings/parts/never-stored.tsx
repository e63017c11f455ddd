// The kinds of text that the server never stores.
import type { SensitiveKind } from "@relevantic/recall";
import { Trouble } from "../../parts/dialog.tsx";
import { client } from "../../state/login.ts";
import { NeverStoredKinds } from "../generated/operations.ts";
import { useViewerValue } from "../state/viewer-value.ts";

interface Words {
  readonly text: string;
  /** What replaces the text. */
  readonly mark: string;
}

const words: Record<SensitiveKind, Words> = {
  CARD_NUMBER: { text: "Numbers of payment cards", mark: "[card number]" },
  BANK_ACCOUNT: { text: "International bank account numbers (IBAN)", mark: "[bank account]" },
  SECRET_KEY: { text: "API keys, access tokens, private keys, and passwords in URLs", mark: "[secret key]" },
  PASSWORD: { text: "Passwords, PINs and one-time codes that the text names as such", mark: "[password]" },
  SECURITY_NUMBER: { text: "Social security numbers, and similar national numbers", mark: "[security number]" },
};

export function NeverStored() {
  const { value: kinds, error } = useViewerValue(async () => (await client.graphql(NeverStoredKinds, {})).viewer.neverStored);
  if (!kinds) return <Trouble text={error} />;
  if (kinds.length === 0) return <p>The operator of this server has chosen none of the kinds of text that Recall can leave out.</p>;
  return (
    <>
      <p>This server never stores the following in messages, titles and names. A mark replaces it before anything is stored or learned.</p>
      <ul class="never-stored" aria-label="Never stored">
        {kinds.map((kind) => <li key={kind}>{words[kind].text} <code>{words[kind].mark}</code></li>)}
      </ul>
      <p class="soft">The operator of this server chooses the kinds. Documents that you upload are stored unchanged.</p>
    </>
  );
}
