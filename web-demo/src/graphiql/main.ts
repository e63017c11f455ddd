// Entry of the GraphiQL page: the stock GraphiQL against this server, with examples that run as they are.
// Written without JSX: the pages of this folder share one TypeScript configuration, and its JSX belongs to Preact.
import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import "graphiql/graphiql.css";
import { createClient } from "graphql-ws";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { examples, type Example } from "./examples.ts";
import "./page.css";

const here = new URL(location.href);

/** The login, if there is one; where one is needed and can be had, the browser goes there first. */
async function csrfToken(): Promise<string | null> {
  const { methods, user, csrfToken } = (await (await fetch("/auth/session", { cache: "no-store" })).json()) as {
    methods: string[]; user: object | null; csrfToken: string | null;
  };
  // Without a login an access token goes into the headers below the editor.
  if (!user && methods.includes("oidc")) location.replace("/auth/login?return_to=/graphql");
  return csrfToken;
}

const csrf = await csrfToken().catch(() => null);
const shown: Record<string, string> = csrf ? { "x-csrf-token": csrf } : {};
const subscriptions = createClient({
  url: `${here.protocol === "https:" ? "wss" : "ws"}://${here.host}/graphql/ws`, lazy: true, connectionParams: csrf ? { csrfToken: csrf } : {},
});
const fetcher = createGraphiQLFetcher({ url: "/graphql", wsClient: subscriptions, headers: shown });

/** One request outside GraphiQL, for what the examples need beforehand. */
async function ask<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
  const response = await fetch("/graphql", { method: "POST", headers: { "content-type": "application/json", ...shown }, body: JSON.stringify({ query, variables }) });
  return ((await response.json()) as { data: T }).data;
}

const SESSION_KEY = "recall.graphiql.session";
const TABS_KEY = "graphiql:tabState";

/**
 * The session the examples talk about and write into. It is made for them and kept, so that no example touches a real conversation, and
 * nobody has to copy an id from one tab to the others.
 */
async function exampleSession(): Promise<{ id: string; isNew: boolean }> {
  const kept = localStorage.getItem(SESSION_KEY);
  if (kept && (await ask<{ session: object | null }>("query ($id: ID!) { session(id: $id) { id } }", { id: kept })).session) return { id: kept, isNew: false };
  const { createSession } = await ask<{ createSession: { session: { id: string } } }>('mutation { createSession(input: { title: "From GraphiQL" }) { session { id } } }');
  localStorage.setItem(SESSION_KEY, createSession.session.id);
  return { id: createSession.session.id, isNew: true };
}

/**
 * Makes the tabs of a former visit ready: GraphiQL opens an empty tab unless it finds the text of the active one under keys of its own,
 * which it writes only while somebody types. `isNew`: the examples point to a session that is gone, or that is not theirs; a text that was
 * changed is no example any more.
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
  const { id, isNew } = await exampleSession().catch(() => ({ id: "", isNew: false }));
  const tabs = examples(id);
  restoreTabs(tabs, isNew);
  // GraphiQL takes the variables of the first tab from here and not from the tab; on later visits it has its own store.
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
