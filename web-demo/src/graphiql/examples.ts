// The example tabs. Each runs unchanged, because the page fills in the session id.

export interface Example {
  query: string;
  variables?: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

export const examples = (sessionId: string): Example[] => [
  {
    query: `# Sends a message. The server stores it at once and extracts its
# facts within milliseconds (see the tab LiveEvents).
mutation SendMessage($input: SendMessageInput!) {
  sendMessage(input: $input) {
    status
    message { id text status }
    errors { code message path }
  }
}
`,
    variables: json({ input: { sessionId, text: "John likes Mary." } }),
  },
  {
    query: `# Lists facts, strongest evidence first, with the quoted messages.
query Facts {
  facts(first: 20) {
    nodes {
      subject { name type }
      relation
      object { name type }
      weight belief uncertainty relativeWeight status
      evidence(first: 3) { nodes { stance excerpt message { text sentAt } } }
    }
  }
}
`,
  },
  {
    query: `# Returns the context that a language model receives for a question:
# ranked messages and facts, and the retrieval methods that found them.
query Context($input: ContextInput!) {
  context(input: $input) {
    methodsUsed
    messages { score methods message { text sentAt } }
    facts { score fact { subject { name } relation object { name } weight belief } }
    timings { embedMs vectorMs keywordMs graphMs totalMs }
  }
}
`,
    variables: json({ input: { query: "Who does John like?", first: 5 } }),
  },
  {
    query: `# Run this, then send a message in the first tab.
subscription LiveEvents($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId) { seq cursor type createdAt data }
}
`,
    variables: json({ sessionId }),
  },
  {
    query: `# Creates a session.
mutation CreateSession {
  createSession(input: { title: "From GraphiQL" }) {
    session { id title head }
    errors { code message }
  }
}
`,
  },
  {
    query: `# Lists the relations of the ontology and the half-life of their weight.
query Ontology {
  relations { name phrase description symmetric functional halfLifeDays }
}
`,
  },
];
