// Entry of the GraphiQL page: the stock GraphiQL against this server, with examples that run as they are.
// Written without JSX: the pages of this folder share one TypeScript configuration, and its JSX belongs to Preact.
import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { GraphiQL } from "graphiql";
import "graphiql/graphiql.css";
import { createClient } from "graphql-ws";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { examples } from "./examples.ts";
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

/**
 * The session the examples talk about: the newest, or one made now. Without it a visitor's first act would be to copy an id from one
 * tab to the others.
 */
async function exampleSession(): Promise<string> {
  const { sessions } = await ask<{ sessions: { nodes: Array<{ id: string }> } }>("{ sessions(first: 1) { nodes { id } } }");
  if (sessions.nodes[0]) return sessions.nodes[0].id;
  const { createSession } = await ask<{ createSession: { session: { id: string } } }>('mutation { createSession(input: { title: "From GraphiQL" }) { session { id } } }');
  return createSession.session.id;
}

const element = document.getElementById("graphiql");
if (element) {
  const sessionId = await exampleSession().catch(() => "");
  const tabs = examples(sessionId);
  // GraphiQL takes the variables of the first tab from here and not from the tab; on later visits it has its own store.
  const firstVisit = localStorage.getItem("graphiql:tabState") === null;
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
