// A document, comparison, topic or entity that could not be read. It opens by itself when the server returns.
export const Unopened = ({ what, why }: { what: "document" | "comparison" | "topic" | "entity"; why: string }) => (
  <>
    <h1>The {what} could not be opened</h1>
    <p class="trouble" role="alert">{why}</p>
  </>
);
