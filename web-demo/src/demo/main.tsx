// Entry of the demo page.
import "./styles/base.css";
import "./styles/chat.css";
import "./styles/memory.css";
import "./styles/small.css";
import "./styles/places.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { FileDrop } from "./parts/documents-place.tsx";
import { boot } from "./state/app.ts";
import { applyPreferences } from "./state/preferences.ts";

applyPreferences();
const root = document.getElementById("app");
if (root) render(<><App /><FileDrop /></>, root);
void boot();
