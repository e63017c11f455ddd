import type { Link, LinkEvents, LinkRequest } from "./link.ts";
export declare const openWebSocket: (request: LinkRequest, events: LinkEvents) => Link;
