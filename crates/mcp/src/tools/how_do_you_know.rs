//! `how_do_you_know`: the evidence behind a fact, what contradicts it, and why names in it mean these entities.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Definition, SEARCH, STATEMENT, recall};
use crate::{
    arguments,
    gate::{Access, Fault, Refusal},
    memories::Memory,
    view::{self, EvidenceView, FactView, MessageView},
};
use recall_domain::{
    Decision, EntityId, Evidence, Fact, FactId, FactStatus, Mention, MessageId,
    context::{ContextQuery, Method},
};
use recall_facts::is_rival;
use recall_usecases::UseCaseError;

/// Most facts that a question is about.
const FACTS: usize = 3;
/// Most evidence of one fact.
const EVIDENCE: u32 = 10;
/// Most rivals of one fact.
const RIVALS: usize = 5;

pub(super) struct HowDoYouKnow;

/// Arguments of `how_do_you_know`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The fact, as another tool returned it.
    fact_id: Option<String>,
    /// Or a question that names what it is about.
    question: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    facts: Vec<Explained>,
}

#[derive(Serialize, JsonSchema)]
struct Explained {
    fact: FactView,
    evidence: Vec<Statement>,
    /// Active facts that contradict it.
    rivals: Vec<FactView>,
    /// Why names in the evidence mean the entities of the fact.
    decisions: Vec<Reason>,
}

#[derive(Serialize, JsonSchema)]
struct Statement {
    #[serde(flatten)]
    evidence: EvidenceView,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageView>,
}

#[derive(Serialize, JsonSchema)]
struct Reason {
    name: String,
    entity_id: String,
    confidence: f64,
    reason: String,
}

/// What was loaded for the explanations of some facts.
struct Loaded {
    evidence: HashMap<FactId, Vec<Evidence>>,
    messages: HashMap<MessageId, MessageView>,
    mentions: HashMap<MessageId, Vec<(EntityId, Mention)>>,
    decisions: HashMap<MessageId, HashMap<u32, Decision>>,
}

impl Definition for HowDoYouKnow {
    const NAME: &'static str = "how_do_you_know";
    const TITLE: &'static str = "How do you know";
    const DESCRIPTION: &'static str = "Explain a fact: the messages that support, oppose or end it, the facts that contradict it, and how names were \
         understood. Use it when the user doubts something or asks for the source. Give `fact_id` or `question`.";
    const ACCESS: &'static [Access] = &[Access::Read];
    type Arguments = Arguments;
    type Output = Output;

    fn cost(arguments: &Arguments) -> usize {
        let search = if arguments.question.is_some() { SEARCH } else { 0 };
        search + 10 * STATEMENT + FACTS * (EVIDENCE as usize + RIVALS)
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let question = arguments::not_blank(arguments.question.as_deref(), "question")?;
        let facts: Vec<(Fact, &Memory)> = match (arguments.fact_id.as_deref(), question) {
            (Some(id), None) => vec![find(call, id).await?],
            (None, Some(question)) => {
                let query = ContextQuery { methods: vec![Method::Graph], ..recall::question(question.to_owned(), 1) };
                let context = call.tools.usecases.context(&call.caller, query).await?;
                context.facts.into_iter().take(FACTS).map(|f| (f.fact, call.memories.found_in(f.shared))).collect()
            }
            _ => {
                let message = "Give either `fact_id` or `question`.";
                return Err(Refusal::invalid("INVALID_ARGUMENTS", "fact_id", message).into());
            }
        };
        let mut explained = Vec::with_capacity(facts.len());
        for memory in call.memories.all() {
            let of: Vec<Fact> = facts.iter().filter(|(_, m)| m.is_shared == memory.is_shared).map(|(f, _)| f.clone()).collect();
            if !of.is_empty() {
                explained.extend(explain(call, memory, &of).await?);
            }
        }
        Ok(Output { facts: explained })
    }

    fn text(output: &Output) -> String {
        let mut lines = Vec::new();
        for Explained { fact, evidence, rivals, decisions } in &output.facts {
            lines.push(fact.line());
            lines.extend(evidence.iter().map(|s| s.evidence.line()));
            lines.extend(rivals.iter().map(|r| format!("  contradicted by {}", r.line().trim_start_matches("- "))));
            lines.extend(
                decisions.iter().map(|d| format!("  {} was understood so: {} ({:.2})", view::quoted(&d.name), d.reason, d.confidence)),
            );
        }
        view::lists(&[("What this is based on", lines)], "No fact about this is known. `recall` may find messages.")
    }
}

/// Finds a fact by its id.
async fn find<'c>(call: &'c Call<'_>, id: &str) -> Result<(Fact, &'c Memory), Fault> {
    let wrong = || Refusal::invalid("INVALID_ID", "fact_id", "An id is a UUID, as this server returned it.");
    let id: FactId = id.trim().parse().map_err(|_| wrong())?;
    for memory in call.memories.all() {
        if let Some(fact) = memory.read.facts(&[id]).await?.into_iter().next() {
            return Ok((fact, memory));
        }
    }
    Err(UseCaseError::NotFound { noun: "fact" }.into())
}

async fn explain(call: &Call<'_>, memory: &Memory, facts: &[Fact]) -> Result<Vec<Explained>, Fault> {
    let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
    let evidence = memory.read.evidence(&ids, EVIDENCE).await?;
    let messages: BTreeSet<MessageId> = evidence.values().flatten().map(|e| e.message).collect();
    let messages: Vec<MessageId> = messages.into_iter().collect();
    let loaded = Loaded {
        evidence,
        messages: view::by_id(&memory.read.messages(&messages).await?, memory.is_shared),
        mentions: memory.read.mentions(&messages).await?,
        decisions: memory.read.decisions(&messages).await?,
    };
    let ontology = call.memories.ontology();
    let candidates = memory.read.rival_candidates(facts.iter()).await?;
    let mut explained = Vec::with_capacity(facts.len());
    for fact in facts {
        let contradicts = |other: &&Fact| other.id != fact.id && other.status == FactStatus::Active && is_rival(fact, other, ontology);
        let rivals: Vec<Fact> = candidates.iter().filter(contradicts).take(RIVALS).cloned().collect();
        let together: Vec<Fact> = std::iter::once(fact.clone()).chain(rivals).collect();
        let sides = memory.sides_of(&together).await?;
        let mut views = FactView::all(&call.memories, memory, &sides, &together).into_iter();
        // The fact was deleted in the meantime.
        let Some(view) = views.next().filter(|v| v.id == fact.id.to_string()) else { continue };
        let (evidence, decisions) = loaded.of(fact);
        explained.push(Explained { fact: view, evidence, rivals: views.collect(), decisions });
    }
    Ok(explained)
}

impl Loaded {
    /// Returns the evidence of a fact, oldest first, and the reasons for the mentions of its entities in that evidence.
    fn of(&self, fact: &Fact) -> (Vec<Statement>, Vec<Reason>) {
        let mut evidence: Vec<&Evidence> = self.evidence.get(&fact.id).into_iter().flatten().collect();
        evidence.sort_by_key(|e| e.created_at);
        let reasons = evidence.iter().flat_map(|e| self.reasons(e.message, fact)).collect();
        let statement = |e: &&Evidence| Statement { evidence: EvidenceView::from(*e), message: self.messages.get(&e.message).cloned() };
        (evidence.iter().map(statement).collect(), reasons)
    }

    fn reasons(&self, message: MessageId, fact: &Fact) -> Vec<Reason> {
        let (Some(mentions), Some(decisions)) = (self.mentions.get(&message), self.decisions.get(&message)) else { return Vec::new() };
        let mut of_mention: Vec<(&u32, &Decision)> = decisions.iter().collect();
        of_mention.sort_by_key(|(index, _)| **index);
        let reason = |(index, decision): (&u32, &Decision)| {
            let (entity, mention) = mentions.get(*index as usize)?;
            let reason = Reason {
                name: mention.name.clone(),
                entity_id: entity.to_string(),
                confidence: decision.score,
                reason: decision.reason.clone(),
            };
            [fact.subject, fact.object].contains(entity).then_some(reason)
        };
        of_mention.into_iter().filter_map(reason).collect()
    }
}
