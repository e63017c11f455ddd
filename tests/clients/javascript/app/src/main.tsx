// A page with a conversation and the facts that it teaches.
import { RecallClient, allItems, type FactFields, type SessionFields } from "@relevantic/recall";
import { useEventStream } from "@relevantic/recall/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const recall = new RecallClient();

function Facts({ session }: { session: SessionFields }) {
  const [facts, setFacts] = useState<FactFields[]>([]);
  const load = async () => {
    const found: FactFields[] = [];
    for await (const fact of allItems((after) => recall.facts({ filter: { sessionId: session.id }, first: 100, after }))) found.push(fact);
    setFacts(found);
  };
  useEffect(() => void load(), [session.id]);
  const { state } = useEventStream(recall, session.id, { fact_update: () => void load(), answer_delta: ({ text }) => console.log(text) }, { from: session.head, onGap: load });
  return (
    <>
      <p>{state?.phase} over {state?.transport}</p>
      <ul>{facts.map((fact) => <li key={fact.id}>{fact.subject.name} {fact.phrase} {fact.object?.name ?? fact.value?.text}</li>)}</ul>
    </>
  );
}

function App() {
  const [session, setSession] = useState<SessionFields | null>(null);
  useEffect(() => void recall.createSession("React").then(setSession), []);
  return session && <Facts session={session} />;
}

createRoot(document.getElementById("root")!).render(<App />);
