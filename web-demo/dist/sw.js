// Service worker: opens the page without the server. It stores the files of one build, and never an answer of the API.
// scripts/precache.ts writes precache.js with their names and a version. A new version waits until all pages of the old one are closed.
importScripts("/precache.js");
const { version, files } = self.PRECACHE;
const CACHE = `recall-${version}`;
const NETWORK_MS = 4000;

self.addEventListener("install", (event) => event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(files))));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith("recall-") && name !== CACHE) await caches.delete(name);
  await self.clients.claim();
})()));

const stored = async (path) => (await caches.open(CACHE)).match(path, { ignoreVary: true });

/** The page must fit its server, so the network comes first. A proxy may answer for a server that is down. */
async function networkFirst(request, path) {
  const copy = await stored(path);
  const network = fetch(request).then((response) => (response.status >= 500 && copy ? copy : response));
  if (!copy) return network;
  const late = new Promise((resolve) => setTimeout(() => resolve(copy), NETWORK_MS));
  return Promise.race([network.catch(() => copy), late]);
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const isPage = request.mode === "navigate" && pathname === "/";
  if (request.method !== "GET" || origin !== location.origin || !(isPage || files.includes(pathname))) return;
  // The names of assets contain a hash of their content.
  const isAsset = pathname.startsWith("/assets/");
  event.respondWith(isAsset ? stored(pathname).then((copy) => copy ?? fetch(request)) : networkFirst(request, pathname));
});
