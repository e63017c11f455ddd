// The login page, shown instead of the demo while the server requires a login.
import { useState } from "preact/hooks";
import { boot } from "../state/boot.ts";
import { beginVisit, loginHref, loginMethods, logoutReason, setToken } from "../state/login.ts";
import { Icon } from "./icon.tsx";

function TokenForm() {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    setToken(text);
    void boot();
  };
  return (
    <form onSubmit={submit}>
      <label for="token">Access token</label>
      <input id="token" type="password" autocomplete="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={text.trim() === ""}>Use this token</button>
      <small>The page forgets the token when you close or reload it.</small>
    </form>
  );
}

function VisitButton() {
  const [error, setError] = useState<string | null>(null);
  const start = () => void beginVisit().then(boot).catch((reason: unknown) => setError(reason instanceof Error ? reason.message : "The visit could not be started."));
  return (
    <>
      <button type="button" class="visit" onClick={start}>Continue without a login</button>
      <small>{error ?? "Only you can see what you write. It is deleted some hours after you last use it."}</small>
    </>
  );
}

export function LoginPage() {
  const methods = loginMethods.value ?? [];
  const hasLogin = methods.includes("oidc");
  return (
    <main class="broken login-page">
      <Icon name="mark" />
      <h1>Recall</h1>
      <p>{logoutReason.value ?? "Log in to see your memory."}</p>
      {hasLogin && <a class="enter" href={loginHref()}>Log in</a>}
      {methods.includes("visit") && <VisitButton />}
      {hasLogin ? <details><summary>With an access token</summary><TokenForm /></details> : <TokenForm />}
    </main>
  );
}
