// A real OAuth2/OIDC provider in memory. Prints one line of JSON when it listens: {"issuer": …}.
// People log in with any name and password; `root` is an administrator. A program registers as a client by `POST /reg`.
// `GET /seen` tells how often refresh tokens were used. ACCESS_TOKEN_SECONDS is how long tokens of people live.
// `POST /rotate` gives it another signing key, as `{"kid": …}` answers; tokens made before keep their old one.
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";
import { createMemoryAdapter } from "oidc-provider/lib/adapters/memory_adapter.js";

const AUDIENCE = "https://recall.example.org";
const seconds = Number(process.env.ACCESS_TOKEN_SECONDS ?? 600);
// What is known of people and clients outlives a change of keys.
const adapter = createMemoryAdapter();
const seen = { refreshed: 0, refused: 0 };
const client = (client_id) => ({
  client_id,
  client_secret: `${client_id}-secret-0123456789-0123456789`,
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
});
const key = () => {
  const kid = randomUUID();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" };
};

const provider = (issuer, jwks) => {
  const made = new Provider(issuer, {
    adapter,
    jwks: { keys: jwks },
    // Tokens of `opaque` only the provider can read; `recall` is whoever asks it about them.
    clients: [client("agent"), client("opaque"), client("recall")],
    // Whatever is asked for is granted; and roles are in the ID token, as with most providers.
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: `${id} of the provider`, roles: id === "root" ? ["recall-admin"] : [] }) }),
    claims: { openid: ["sub", "roles"], profile: ["name"] },
    conformIdTokenClaims: false,
    // It would tell nobody on this machine of a logout.
    fetch: (url, { dispatcher, ...options }) => fetch(url, options),
    issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    ttl: { AccessToken: seconds, IdToken: 600, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, AuthorizationCode: 60 },
    features: {
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      backchannelLogout: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: (_, __, { clientId }) => ({
          audience: AUDIENCE,
          scope: "recall.read recall.write",
          accessTokenTTL: 600,
          accessTokenFormat: clientId === "opaque" ? "opaque" : "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    // A client acts for itself: its tokens have no person, and RFC 9068 puts the client into `sub`.
    extraTokenClaims: () => ({ roles: ["service"] }),
  });
  made.on("grant.success", ({ oidc }) => { seen.refreshed += oidc.params.grant_type === "refresh_token" ? 1 : 0; });
  made.on("grant.error", () => { seen.refused += 1; });
  made.on("backchannel.error", (_, error) => console.error(error));
  made.on("server_error", (_, error) => console.error(error));
  return made;
};

let handler;
let issuer;
let current;
const server = createServer((request, response) => {
  if (request.method === "POST" && request.url === "/rotate") {
    current = key();
    handler = provider(issuer, [current]).callback();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kid: current.kid }));
    return;
  }
  if (request.url === "/seen") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(seen));
    return;
  }
  handler(request, response);
});
server.listen(0, "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  current = key();
  handler = provider(issuer, [current]).callback();
  console.log(JSON.stringify({ issuer }));
});
// The test that started it has gone.
process.stdin.on("end", () => process.exit(0)).resume();
