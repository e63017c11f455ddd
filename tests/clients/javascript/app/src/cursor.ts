// Uses one function, so the bundle must contain little more.
import { parseCursor } from "@relevantic/recall";

document.title = String(parseCursor(location.hash.slice(1))?.seq);
