// A real OAuth2/OIDC provider in memory. Prints one line of JSON when it listens: {"issuer": …}.
// Users log in with any name and password; `root` is an administrator. Programs register as clients with `POST /reg`.
// `GET /seen` returns how often refresh tokens were used. `POST /rotate` changes the signing key and returns `{"kid": …}`;
// existing tokens keep their old key. ACCESS_TOKEN_SECONDS sets the lifetime of users' access tokens.
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";
import { createMemoryAdapter } from "oidc-provider/lib/adapters/memory_adapter.js";

const AUDIENCE = "https://recall.example.org";
const seconds = Number(process.env.ACCESS_TOKEN_SECONDS ?? 600);
// Users and clients survive a change of keys.
const adapter = createMemoryAdapter();
const seen = { refreshed: 0, refused: 0 };
const client = (client_id) => ({
  client_id,
  client_secret: `${client_id}-secret-0123456789-0123456789`,
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
});
const generateKey = () => {
  const kid = randomUUID();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" };
};

const createProvider = (issuer, jwks) => {
  const provider = new Provider(issuer, {
    adapter,
    jwks: { keys: jwks },
    // `opaque` receives opaque tokens. `recall` introspects them.
    clients: [client("agent"), client("opaque"), client("recall")],
    // Grant every request. Put roles into the ID token, like most providers.
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: `${id} of the provider`, roles: id === "root" ? ["recall-admin"] : [] }) }),
    claims: { openid: ["sub", "roles"], profile: ["name"] },
    // Clients that register themselves name the scopes of the resource.
    scopes: ["openid", "offline_access", "recall.read", "recall.write", "recall.admin"],
    conformIdTokenClaims: false,
    // The default dispatcher blocks loopback addresses (SSRF protection), so logout notifications would not arrive.
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
    // Client credentials tokens have no user. RFC 9068 puts the client into `sub`.
    extraTokenClaims: () => ({ roles: ["service"] }),
  });
  provider.on("grant.success", ({ oidc }) => { seen.refreshed += oidc.params.grant_type === "refresh_token" ? 1 : 0; });
  provider.on("grant.error", () => { seen.refused += 1; });
  provider.on("backchannel.error", (_, error) => console.error(error));
  provider.on("server_error", (_, error) => console.error(error));
  return provider;
};

let handler;
let issuer;
let currentKey;
const server = createServer((request, response) => {
  if (request.method === "POST" && request.url === "/rotate") {
    currentKey = generateKey();
    handler = createProvider(issuer, [currentKey]).callback();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kid: currentKey.kid }));
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
  currentKey = generateKey();
  handler = createProvider(issuer, [currentKey]).callback();
  console.log(JSON.stringify({ issuer }));
});
// Exit with the test that started the provider.
process.stdin.on("end", () => process.exit(0)).resume();
