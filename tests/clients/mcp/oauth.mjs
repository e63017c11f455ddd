// Logs in as an agent does: a refusal names the provider, the client registers there, a person agrees, and the token opens the endpoint.
// Arguments: the URL of the endpoint, whose server accepts tokens of the provider of tests/services/oidc.
import assert from "node:assert/strict";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = new URL(process.argv[2]);
const REDIRECT = "http://127.0.0.1:9/callback";

/** Keeps what the client learns, and the URL to which it sends the person. */
class Memory {
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: "oauth-test",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
    scope: "openid recall.read recall.write",
  };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  redirectToAuthorization(to) { this.authorization = to; }
}

/** Follows the pages of the provider as a browser does, logs in, agrees, and returns the code. */
const agree = async (start) => {
  const cookies = new Map();
  const get = async (to, form) => {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const answer = await fetch(to, { method: form ? "POST" : "GET", headers, body: form && new URLSearchParams(form), redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=");
      cookies.set(name, value);
    }
    return answer;
  };
  let [answer, at] = [await get(start), start];
  for (let steps = 0; steps < 20; steps += 1) {
    const location = answer.headers.get("location");
    if (location?.startsWith(REDIRECT)) {
      return new URL(location).searchParams.get("code");
    }
    if (location) {
      at = new URL(location, at);
      answer = await get(at);
      continue;
    }
    const page = await answer.text();
    const action = page.match(/action="([^"]+)"/)?.[1];
    const prompt = page.match(/name="prompt" value="([^"]+)"/)?.[1];
    assert.ok(action && prompt, `${answer.status}: ${page.slice(0, 500)}`);
    at = new URL(action, at);
    answer = await get(at, { prompt, login: "anna", password: "x" });
  }
  assert.fail("the provider does not end");
};

const memory = new Memory();
const connect = () => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider: memory });
  return [new Client({ name: "oauth-test", version: "1" }), transport];
};
const [stranger, first] = connect();
await assert.rejects(stranger.connect(first), UnauthorizedError);
assert.equal(memory.authorization.searchParams.get("resource"), url.href);
await first.finishAuth(await agree(memory.authorization));
const [client, second] = connect();
await client.connect(second);
const found = await client.callTool({ name: "recall", arguments: { query: "Who am I?" } });
assert.ok(!found.isError, JSON.stringify(found));
await client.close();
console.log("TypeScript SDK with OAuth");
