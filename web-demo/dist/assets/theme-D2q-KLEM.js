// Before the first paint: the theme (state/preferences.ts), and what of the page in index.html may be shown (state/early-page.ts).
{
  const root = document.documentElement;
  let needsLogin = false;
  try {
    root.dataset.theme = localStorage.getItem("recall.theme");
    needsLogin = localStorage.getItem("recall.login") !== null;
  } catch {}
  root.dataset.early = needsLogin ? "login" : /^(#\/?|#\/s\/.*)?$/.test(location.hash) ? "chat" : "place";
}
