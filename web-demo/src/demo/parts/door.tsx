// What stands where the page would, while the server does not know who is there.
import { useState } from "preact/hooks";
import { boot } from "../state/app.ts";
import { door, farewell, loginHref, showToken, visit } from "../state/login.ts";
import { Icon } from "./icon.tsx";

function TokenForm() {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    showToken(text);
    void boot();
  };
  return (
    <form onSubmit={submit}>
      <label for="token">Access token</label>
      <input id="token" type="password" autocomplete="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={text.trim() === ""}>Use this token</button>
      <small>It is kept for this page only and is gone with it.</small>
    </form>
  );
}

function VisitButton() {
  const [refused, setRefused] = useState<string | null>(null);
  const go = () => void visit().then(boot).catch((error: unknown) => setRefused(error instanceof Error ? error.message : "That did not work."));
  return (
    <>
      <button type="button" class="visit" onClick={go}>Go on without a login</button>
      <small>{refused ?? "What you tell is yours alone, and is deleted some hours after you were last here."}</small>
    </>
  );
}

export function Door() {
  const ways = door.value ?? [];
  const people = ways.includes("oidc");
  return (
    <main class="broken door">
      <Icon name="mark" />
      <h1>Recall</h1>
      <p>{farewell.value ?? "This memory is somebody's own. Log in to see yours."}</p>
      {people && <a class="enter" href={loginHref()}>Log in</a>}
      {ways.includes("visit") && <VisitButton />}
      {people ? <details><summary>With an access token</summary><TokenForm /></details> : <TokenForm />}
    </main>
  );
}
