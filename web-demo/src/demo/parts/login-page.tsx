// The login page, shown instead of the demo while the server requires a login.
import { useState } from "preact/hooks";
import { boot } from "../state/boot.ts";
import { beginVisit, loginHref, loginMethods, logoutReason, setToken } from "../state/login.ts";
import { Icon } from "./icon.tsx";
import { strings } from "../strings.ts";

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
      <label for="token">{strings.login.token}</label>
      <input id="token" type="password" autocomplete="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={text.trim() === ""}>{strings.login.useToken}</button>
      <small>{strings.login.tokenMeans}</small>
    </form>
  );
}

function VisitButton() {
  const [error, setError] = useState<string | null>(null);
  const start = () => void beginVisit().then(boot).catch((reason: unknown) => setError(reason instanceof Error ? reason.message : strings.login.visitFailed));
  return (
    <>
      <button type="button" class="visit" onClick={start}>{strings.login.visit}</button>
      <small>{error ?? strings.login.visitMeans}</small>
    </>
  );
}

export function LoginPage() {
  const methods = loginMethods.value ?? [];
  const hasLogin = methods.includes("oidc");
  return (
    <main class="broken login-page">
      <Icon name="mark" />
      <h1>{strings.brand}</h1>
      <p>{logoutReason.value ?? strings.login.reason}</p>
      {hasLogin && <a class="enter" href={loginHref()}>{strings.login.logIn}</a>}
      {methods.includes("visit") && <VisitButton />}
      {hasLogin ? <details><summary>{strings.login.withToken}</summary><TokenForm /></details> : <TokenForm />}
    </main>
  );
}
