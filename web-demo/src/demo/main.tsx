// Entry of the demo page.
import "./styles/base.css";
import "./styles/chat.css";
import "./styles/memory.css";
import "./styles/small.css";
import "./styles/places.css";
import "./styles/sessions.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { FileDrop } from "./parts/documents-place.tsx";
import { boot } from "./state/boot.ts";
import { takeOverEarlyPage } from "./state/early-page.ts";
import { applyPreferences } from "./state/preferences.ts";

applyPreferences();
const root = document.getElementById("app");
if (root) {
  const restoreFocus = takeOverEarlyPage(root);
  render(<><App /><FileDrop /></>, root);
  restoreFocus();
}
// Opens the page without the server. Browsers allow it only on pages with TLS or on this machine, and the development server has none.
const keepPage = () => { if (import.meta.env.PROD) navigator.serviceWorker?.register("/sw.js", { updateViaCache: "none" }).catch(() => {}); };
void boot().finally(keepPage);
