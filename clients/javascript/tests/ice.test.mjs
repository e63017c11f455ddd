// Parsing of STUN and TURN servers in `Link` headers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseIceServers } from "../dist/ice.js";

test("servers are parsed from single and joined headers", () => {
  const header = '<stun:stun.example.org:3478>; rel="ice-server", <turns:t.example.org:5349?transport=tcp>; rel="ice-server"; username="17:ab"; ' +
    'credential="x+/="; credential-type="password"';
  assert.deepEqual(parseIceServers(header), [
    { urls: "stun:stun.example.org:3478" },
    { urls: "turns:t.example.org:5349?transport=tcp", username: "17:ab", credential: "x+/=" },
  ]);
});

test("other links are ignored", () => {
  for (const none of [null, "", "<a>", '<a>; rel="next"', 'rel="ice-server"', '<>; rel="ice-server"', '<stun:a>; title="rel=ice-server"']) {
    assert.deepEqual(parseIceServers(none), [], String(none));
  }
});
