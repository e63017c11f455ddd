// Entry point of the GraphiQL page: standard GraphiQL for this server, with examples.
// This file uses no JSX, because the shared TypeScript configuration compiles JSX for Preact.
import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import "graphiql/graphiql.css";
import { createClient } from "graphql-ws";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { examples, type Example } from "./examples.ts";
import "./page.css";

const pageUrl = new URL(location.href);

/** Returns the CSRF token of the login cookie. Redirects to the login page if a login is required. */
async function fetchCsrfToken(): Promise<string | null> {
  const { methods, user, csrfToken } = (await (await fetch("/auth/session", { cache: "no-store" })).json()) as {
    methods: string[]; user: object | null; csrfToken: string | null;
  };
  // Without login support, users enter an access token in the headers editor.
  if (!user && methods.includes("oidc")) location.replace("/auth/login?return_to=/graphql");
  return csrfToken;
}

const csrf = await fetchCsrfToken().catch(() => null);
const csrfHeaders: Record<string, string> = csrf ? { "x-csrf-token": csrf } : {};
const subscriptions = createClient({
  url: `${pageUrl.protocol === "https:" ? "wss" : "ws"}://${pageUrl.host}/graphql/ws`, lazy: true, connectionParams: csrf ? { csrfToken: csrf } : {},
});
const fetcher = createGraphiQLFetcher({ url: "/graphql", wsClient: subscriptions, headers: csrfHeaders });

/** Sends a request outside GraphiQL, to prepare the examples. */
async function request<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
  const response = await fetch("/graphql", { method: "POST", headers: { "content-type": "application/json", ...csrfHeaders }, body: JSON.stringify({ query, variables }) });
  return ((await response.json()) as { data: T }).data;
}

const SESSION_KEY = "recall.graphiql.session";
const TABS_KEY = "graphiql:tabState";

/**
 * Returns the session of the examples, and creates it on the first visit.
 *
 * A separate session keeps the examples out of real conversations, and users need not copy its id between tabs.
 */
async function loadExampleSession(): Promise<{ id: string; isNew: boolean }> {
  const stored = localStorage.getItem(SESSION_KEY);
  if (stored && (await request<{ session: object | null }>("query ($id: ID!) { session(id: $id) { id } }", { id: stored })).session) return { id: stored, isNew: false };
  const { createSession } = await request<{ createSession: { session: { id: string } } }>('mutation { createSession(input: { title: "From GraphiQL" }) { session { id } } }');
  localStorage.setItem(SESSION_KEY, createSession.session.id);
  return { id: createSession.session.id, isNew: true };
}

/**
 * Prepares the stored tabs of an earlier visit.
 *
 * GraphiQL opens an empty tab unless it finds the active tab's text under separate keys, which it writes only while the user types.
 * `isNew`: the stored variables name another session, so unchanged examples get the new id.
 */
function restoreTabs(tabs: readonly Example[], isNew: boolean): void {
  const state = JSON.parse(localStorage.getItem(TABS_KEY) ?? "null") as { activeTabIndex: number; tabs: Array<{ query: string | null; variables: string | null }> } | null;
  if (!state) return;
  for (const tab of isNew ? state.tabs : []) {
    const variables = tabs.find((example) => example.query === tab.query)?.variables;
    if (variables?.includes("sessionId")) tab.variables = variables;
  }
  localStorage.setItem(TABS_KEY, JSON.stringify(state));
  const active = state.tabs[state.activeTabIndex];
  for (const key of ["query", "variables"] as const) localStorage.setItem(`graphiql:${key}`, active?.[key] ?? "");
}

const element = document.getElementById("graphiql");
if (element) {
  const { id, isNew } = await loadExampleSession().catch(() => ({ id: "", isNew: false }));
  const tabs = examples(id);
  restoreTabs(tabs, isNew);
  // On the first visit GraphiQL ignores the first tab's own variables. Later it loads them from its storage.
  const firstVisit = localStorage.getItem(TABS_KEY) === null;
  createRoot(element).render(
    createElement(GraphiQL, {
      fetcher: fetcher as Fetcher,
      defaultTabs: tabs,
      ...(firstVisit && tabs[0]?.variables ? { variables: tabs[0].variables } : {}),
      defaultEditorToolsVisibility: "variables",
      shouldPersistHeaders: false,
      isHeadersEditorEnabled: true,
    }),
  );
}
