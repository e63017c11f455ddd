// The tabs a first visitor finds. Each runs as it is: the session made for the examples is filled in before.

export interface Example {
  query: string;
  variables?: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

export const examples = (sessionId: string): Example[] => [
  {
    query: `# Tell something. The message is stored and answered at once,
# its facts follow within milliseconds (see the tab LiveEvents).
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
    query: `# What is known, strongest evidence first, with the words it rests on.
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
    query: `# What a language model would be given for a question:
# ranked messages and facts, and how they were found.
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
    query: `# Leave this running, then send a message in the first tab.
subscription LiveEvents($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId) { seq cursor type createdAt data }
}
`,
    variables: json({ sessionId }),
  },
  {
    query: `# A conversation of its own.
mutation CreateSession {
  createSession(input: { title: "From GraphiQL" }) {
    session { id title head }
    errors { code message }
  }
}
`,
  },
  {
    query: `# The relations that are found in text, with the half-life of their weight.
query Ontology {
  relations { name phrase description symmetric functional halfLifeDays }
}
`,
  },
];
