// A document, comparison, topic or entity that could not be read. It opens by itself when the server returns.
// The chat needs it, too.
import { strings } from "../../strings.ts";

export const Unopened = ({ what, why }: { what: "document" | "comparison" | "topic" | "entity"; why: string }) => (
  <>
    <h1>{strings.notOpened(what)}</h1>
    <p class="trouble" role="alert">{why}</p>
  </>
);
