import type { Link, LinkEvents, LinkRequest } from "./link.ts";
export declare const openWebRtc: (request: LinkRequest, events: LinkEvents) => Link;
