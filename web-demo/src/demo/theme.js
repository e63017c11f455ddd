// See state/preferences.ts.
try { document.documentElement.dataset.theme = localStorage.getItem("recall.theme"); } catch {}
