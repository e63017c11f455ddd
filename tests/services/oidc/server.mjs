// A real OAuth2/OIDC provider in memory. Prints one line of JSON when it listens: {"issuer": …}.
// `POST /rotate` gives it another signing key, as `{"kid": …}` answers; tokens made before keep their old one.
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import Provider from "oidc-provider";

const AUDIENCE = "https://recall.example.org";
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
    jwks: { keys: jwks },
    // Tokens of `opaque` only the provider can read; `recall` is whoever asks it about them.
    clients: [client("agent"), client("opaque"), client("recall")],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
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
