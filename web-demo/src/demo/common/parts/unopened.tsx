// A document, comparison, topic or entity that could not be read. It opens by itself when the server returns.
// The chat shows it for an entity, too, so its words are those of the page.
import { strings } from "../../strings.ts";

export const Unopened = ({ what, why }: { what: string; why: string }) => (
  <>
    <h1>{strings.notOpened(what)}</h1>
    <p class="trouble" role="alert">{why}</p>
  </>
);
