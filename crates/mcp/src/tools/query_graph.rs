//! `query_graph`: entities, the facts about them, and how two entities are connected.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Definition, SEARCH, STATEMENT, recall};
use crate::{
    arguments::{self, MAX_ITEMS},
    gate::{Access, Failure, Fault, Refusal},
    memories::{Memories, Memory},
    names::{self, Named},
    view::{self, EntityView, EvidenceView, FactView},
};
use recall_domain::{
    Entity, EntityId, EntityType, Fact, FactId, FactStatus, Page, Timestamp,
    context::{ContextQuery, Method},
};
use recall_ports::{EntityFilter, FactFilter, GraphError, PathQuery, TextWord, graph::MAX_HOPS};
use recall_usecases::UseCaseError;

/// Facts in a result by default.
const DEFAULT: u32 = 20;
/// Most evidence of one fact.
const EVIDENCE: u32 = 2;
/// Most paths between two entities.
const PATHS: u32 = 3;
/// Facts read for each one returned, if only those of one type of entity are wanted.
const READ_PER_FACT: u32 = 4;

pub(super) struct QueryGraph;

/// Arguments of `query_graph`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A question with names. Two names ask how they are connected: "How are Maren and Acme connected?"
    query: Option<String>,
    /// Name or id of an entity; "I" means the user.
    entity: Option<String>,
    /// Only facts with an entity of this type.
    #[schemars(schema_with = "crate::schema::entity_type")]
    #[serde(default)]
    entity_type: Option<String>,
    /// Only this relation: "lives in" or LIVES_IN.
    relation: Option<String>,
    /// Facts that held at this date or time. Default: facts that hold now.
    as_of: Option<String>,
    /// Most facts, 1 to 50. Default: 20.
    limit: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    entities: Vec<EntityView>,
    facts: Vec<Sourced>,
    /// Connections between the two named entities, shortest first.
    paths: Vec<PathView>,
}

#[derive(Serialize, JsonSchema)]
struct Sourced {
    #[serde(flatten)]
    fact: FactView,
    sources: Vec<EvidenceView>,
}

#[derive(Serialize, JsonSchema)]
struct PathView {
    entities: Vec<String>,
    facts: Vec<FactView>,
}

/// The conditions of a query.
struct Conditions {
    entity_type: Option<EntityType>,
    relation: Option<String>,
    as_of: Option<Timestamp>,
    limit: u32,
}

/// Entities that a query names, and facts, each with its memory.
#[derive(Default)]
struct Found<'m> {
    entities: Vec<(Entity, &'m Memory)>,
    facts: Vec<(Fact, &'m Memory)>,
}

impl Definition for QueryGraph {
    const NAME: &'static str = "query_graph";
    const TITLE: &'static str = "Query the graph";
    const DESCRIPTION: &'static str = "Look up exact facts in the knowledge graph, each with belief and source. Use it when you know the name of an entity or \
         the kind of relation, for past states (`as_of`), or to find how two entities are connected; `recall` is better for open questions. Give at \
         least one argument.";
    const ACCESS: &'static [Access] = &[Access::Read];
    type Arguments = Arguments;
    type Output = Output;

    fn cost(arguments: &Arguments) -> usize {
        let search = if arguments.query.is_some() { SEARCH } else { 0 };
        search + 14 * STATEMENT + arguments.limit.unwrap_or(DEFAULT).min(MAX_ITEMS) as usize * (1 + EVIDENCE as usize)
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let conditions = Conditions::read(&call.memories, &arguments)?;
        let query = arguments::not_blank(arguments.query.as_deref(), "query")?;
        let name = arguments::not_blank(arguments.entity.as_deref(), "entity")?;
        let mut found = Found::default();
        if let Some(name) = name {
            // A type without a query says what the entity is; with facts of others it would find nothing.
            match names::entity(&call.memories, name, None).await? {
                Named::One(entity, memory) => found.entities.push((entity, memory)),
                Named::Unsure(candidates) => return Err(names::unsure(name, "entity", &candidates).into()),
            }
        }
        match (query, found.entities.first().cloned()) {
            (Some(query), _) => find_by_query(call, &conditions, query, &mut found).await?,
            (None, Some((entity, memory))) => {
                let filter = FactFilter { entity: Some(entity.id), ..conditions.filter() };
                found.add_facts(memory, &filter, &conditions).await?;
            }
            (None, None) => find_by_conditions(call, &conditions, &mut found).await?,
        }
        let paths = paths(call, &found.entities).await?;
        let facts = found.sourced(&call.memories).await?;
        Ok(Output { entities: found.entities.iter().map(|(e, m)| EntityView::of(e, m.is_shared)).collect(), facts, paths })
    }

    fn text(output: &Output) -> String {
        let mut facts = Vec::new();
        for Sourced { fact, sources } in &output.facts {
            facts.push(fact.line());
            facts.extend(sources.iter().map(EvidenceView::line));
        }
        let path = |path: &PathView| {
            let facts: Vec<&str> = path.facts.iter().map(|f| f.text.as_str()).collect();
            format!("- {}", view::quoted(&facts.join("; ")))
        };
        let paths = output.paths.iter().map(path).collect();
        let entities = output.entities.iter().map(EntityView::line).collect();
        view::lists(&[("Connections", paths), ("Facts", facts), ("Entities", entities)], "The graph holds nothing about this.")
    }
}

impl Conditions {
    fn read(memories: &Memories, arguments: &Arguments) -> Result<Self, Fault> {
        let Arguments { query, entity, entity_type, relation, as_of, limit } = arguments;
        if [query, entity, entity_type, relation, as_of].iter().all(|given| given.is_none()) {
            let message = "Give at least one of `query`, `entity`, `entity_type`, `relation` and `as_of`.";
            return Err(Refusal::invalid("INVALID_ARGUMENTS", "query", message).into());
        }
        let relation = arguments::not_blank(relation.as_deref(), "relation")?;
        Ok(Self {
            entity_type: arguments::entity_type(entity_type.as_deref(), "entity_type")?,
            relation: relation.map(|name| names::relation(memories, name)).transpose()?,
            as_of: arguments::time(as_of.as_deref(), "as_of")?,
            limit: arguments::limit(*limit, DEFAULT)?,
        })
    }

    fn filter(&self) -> FactFilter {
        FactFilter {
            relation: self.relation.clone(),
            as_of: self.as_of,
            // A fact that held at a moment in the past may have ended since.
            status: self.as_of.is_none().then_some(FactStatus::Active),
            ..FactFilter::default()
        }
    }
}

impl<'m> Found<'m> {
    /// Adds the facts of a memory that meet a filter, latest change first.
    async fn add_facts(&mut self, memory: &'m Memory, filter: &FactFilter, conditions: &Conditions) -> Result<(), Failure> {
        let first = if conditions.entity_type.is_some() { conditions.limit * READ_PER_FACT } else { conditions.limit };
        let slice = memory.read.list_facts(filter, &Page::first(first.min(100))).await?;
        let facts: Vec<Fact> = slice.items.into_iter().map(|(_, fact)| fact).collect();
        let sides = memory.sides_of(&facts).await?;
        let named: HashSet<EntityId> = self.entities.iter().map(|(e, _)| e.id).collect();
        // Of a fact about a named entity, the type of the other one counts.
        let has_type = |fact: &Fact| {
            let of_type =
                |id: &EntityId| !named.contains(id) && sides.get(id).is_some_and(|e| Some(e.entity_type) == conditions.entity_type);
            conditions.entity_type.is_none() || [fact.subject, fact.object].iter().any(of_type)
        };
        self.facts.extend(facts.into_iter().filter(has_type).take(conditions.limit as usize).map(|f| (f, memory)));
        Ok(())
    }

    /// Returns the facts with their latest evidence, in their order.
    async fn sourced(&self, memories: &Memories) -> Result<Vec<Sourced>, Failure> {
        let mut sourced = Vec::new();
        for memory in memories.all() {
            let facts: Vec<Fact> =
                self.facts.iter().filter(|(_, m)| m.is_shared == memory.is_shared).map(|(fact, _)| fact.clone()).collect();
            let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
            if ids.is_empty() {
                continue;
            }
            let (sides, evidence) = (memory.sides_of(&facts).await?, memory.read.evidence(&ids, EVIDENCE).await?);
            for fact in &facts {
                let sources = evidence.get(&fact.id).into_iter().flatten().map(EvidenceView::from).collect();
                let view = FactView::all(memories, memory, &sides, std::slice::from_ref(fact));
                sourced.extend(view.into_iter().next().map(|fact| Sourced { fact, sources }));
            }
        }
        Ok(sourced)
    }
}

/// Finds the entities that a text names and the facts about them. Without any, it finds facts by a part of a name.
async fn find_by_query<'m>(call: &'m Call<'_>, conditions: &Conditions, query: &str, found: &mut Found<'m>) -> Result<(), Fault> {
    let asked = ContextQuery { methods: vec![Method::Graph], as_of: conditions.as_of, ..recall::question(query.to_owned(), 1) };
    let context = call.tools.usecases.context(&call.caller, asked).await?;
    let given: HashSet<EntityId> = found.entities.iter().map(|(e, _)| e.id).collect();
    for entity in context.entities.into_iter().filter(|e| !given.contains(&e.id)) {
        let memory = call.memories.found_in(context.shared_entities.contains(&entity.id));
        found.entities.push((entity, memory));
    }
    let is_wanted = |f: &&recall_domain::context::RankedFact| {
        let has_type = |e: &Entity| Some(e.entity_type) == conditions.entity_type;
        (conditions.relation.is_none() || conditions.relation.as_ref() == Some(&f.fact.relation))
            && (conditions.entity_type.is_none() || has_type(&f.subject) || has_type(&f.object))
            && (given.is_empty() || given.contains(&f.fact.subject) || given.contains(&f.fact.object))
            && (conditions.as_of.is_some() || f.fact.status == FactStatus::Active)
    };
    let facts = context.facts.iter().filter(is_wanted).take(conditions.limit as usize);
    found.facts.extend(facts.map(|f| (f.fact.clone(), call.memories.found_in(f.shared))));
    match found.entities.first().cloned() {
        _ if !found.facts.is_empty() => {}
        // The words name nothing more about it.
        Some((entity, memory)) if given.contains(&entity.id) => {
            let filter = FactFilter { entity: Some(entity.id), ..conditions.filter() };
            found.add_facts(memory, &filter, conditions).await?;
        }
        Some(_) => {}
        None => {
            for memory in call.memories.all() {
                let filter = FactFilter { text: TextWord::all(query, call.memories.ontology()), ..conditions.filter() };
                found.add_facts(memory, &filter, conditions).await?;
            }
        }
    }
    Ok(())
}

/// Finds facts by conditions only, and the entities of a type.
async fn find_by_conditions<'m>(call: &'m Call<'_>, conditions: &Conditions, found: &mut Found<'m>) -> Result<(), Fault> {
    for memory in call.memories.all() {
        found.add_facts(memory, &conditions.filter(), conditions).await?;
    }
    found.facts.truncate(conditions.limit as usize);
    if conditions.entity_type.is_some() {
        let filter = EntityFilter { entity_type: conditions.entity_type, ..EntityFilter::default() };
        for memory in call.memories.all() {
            let slice = memory.read.list_entities(&filter, &Page::first(conditions.limit)).await?;
            found.entities.extend(slice.items.into_iter().map(|(_, e)| (e, memory)));
        }
    }
    Ok(())
}

/// Returns how the first two named entities of one memory are connected.
async fn paths(call: &Call<'_>, named: &[(Entity, &Memory)]) -> Result<Vec<PathView>, Fault> {
    let Some(((from, memory), others)) = named.split_first() else { return Ok(Vec::new()) };
    let Some((to, _)) = others.iter().find(|(_, m)| m.is_shared == memory.is_shared) else { return Ok(Vec::new()) };
    let asked = PathQuery { from: from.id, to: to.id, hops: MAX_HOPS, first: PATHS };
    let found = call.tools.graph.ways(&memory.caller(), &asked).await.map_err(graph_failure)?;
    let mut paths = Vec::with_capacity(found.len());
    for path in found {
        let facts = memory.facts(&path.facts).await?;
        let sides = memory.sides_of(&facts).await?;
        let names = path.entities.iter().filter_map(|id| sides.get(id)).map(|e| e.name.clone()).collect();
        paths.push(PathView { entities: names, facts: FactView::all(&call.memories, memory, &sides, &facts) });
    }
    Ok(paths)
}

fn graph_failure(error: GraphError) -> Failure {
    let retry_after = std::time::Duration::from_secs(1);
    match error {
        GraphError::Store(error) => error.into(),
        GraphError::Failed(cause) => UseCaseError::Internal { cause }.into(),
        error => UseCaseError::Unavailable { retry_after, cause: error.into() }.into(),
    }
}
