// Service worker: opens the page without the server. It stores the files of one build, and never an answer of the API.
// scripts/precache.ts writes precache.js with their names and a version. A new version waits until all pages of the old one are closed.
importScripts("/precache.js");
const { version, files } = self.PRECACHE;
const CACHE = `recall-${version}`;
const NETWORK_MS = 2000;

self.addEventListener("install", (event) => event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files))));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith("recall-") && name !== CACHE) await caches.delete(name);
  await self.clients.claim();
})()));

const stored = async (path) => (await caches.open(CACHE)).match(path, { ignoreVary: true });

/** The page must fit its server, so the network comes first. A proxy may answer for a server that is down. */
async function loadPage(request) {
  const copy = await stored("/");
  const network = fetch(request).then((response) => (response.status >= 500 && copy ? copy : response));
  if (!copy) return network;
  const late = new Promise((resolve) => setTimeout(() => resolve(copy), NETWORK_MS));
  return Promise.race([network.catch(() => copy), late]);
}

/** The name of an asset contains a hash of its content, so a page finds only assets of its own version. */
const loadAsset = async (request, path) => (await stored(path)) ?? fetch(request);

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && pathname === "/") event.respondWith(loadPage(request));
  else if (pathname !== "/" && files.includes(pathname)) event.respondWith(loadAsset(request, pathname));
});
