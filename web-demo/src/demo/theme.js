// Before the first paint: the theme (state/preferences.ts), and what of the page in index.html may be shown (state/early-page.ts).
{
  const root = document.documentElement;
  let needsLogin = false;
  try {
    root.dataset.theme = localStorage.getItem("recall.theme");
    needsLogin = localStorage.getItem("recall.login") !== null;
  } catch {}
  // As state/route.ts reads it. What is no place is the chat.
  const isPlace = /^#\/((memory|graph)(\?|\/|$)|(settings|d)(\/|$)|[ct]\/[^/])/.test(location.hash);
  root.dataset.early = needsLogin ? "login" : isPlace ? "place" : /^#\/e\/[^/]/.test(location.hash) ? "entity" : "chat";
}
