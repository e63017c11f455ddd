//! `timeline`: how the facts about one entity changed.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Definition, STATEMENT};
use crate::{
    arguments::{self, MAX_ITEMS},
    gate::{Access, Fault},
    names::{self, Named},
    view::{EntityView, EvidenceView, FactView},
};
use recall_domain::{Evidence, Fact, FactId, Page, Timestamp};
use recall_ports::FactFilter;

/// Most evidence of one fact.
const EVIDENCE: u32 = 5;

pub(super) struct Timeline;

/// Arguments of `timeline`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name or id of a person, place or thing; "I" means the user.
    entity: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    entity: EntityView,
    /// Oldest first.
    facts: Vec<Entry>,
    /// Whether there are more; these are the ones that changed last.
    more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    fact: FactView,
    /// The messages that stated, opposed or ended it, oldest first.
    changes: Vec<EvidenceView>,
}

impl Definition for Timeline {
    const NAME: &'static str = "timeline";
    const TITLE: &'static str = "Timeline";
    const DESCRIPTION: &'static str = "Show how what is known about one entity changed: its current, ended and retracted facts in order of time, with \
         the messages that stated or ended them. Use it for \"since when\", \"before\" and \"how has it changed\".";
    const ACCESS: &'static [Access] = &[Access::Read];
    type Arguments = Arguments;
    type Output = Output;

    fn cost(_: &Arguments) -> usize {
        10 * STATEMENT + MAX_ITEMS as usize * (1 + EVIDENCE as usize)
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let name = arguments::not_blank(Some(&arguments.entity), "entity")?.unwrap_or_default();
        let (entity, memory) = match names::entity(&call.memories, name, None).await? {
            Named::One(entity, memory) => (entity, memory),
            Named::Unsure(candidates) => return Err(names::unsure(name, "entity", &candidates).into()),
        };
        let filter = FactFilter { entity: Some(entity.id), ..FactFilter::default() };
        let slice = memory.read.list_facts(&filter, &Page::first(MAX_ITEMS)).await?;
        let mut facts: Vec<Fact> = slice.items.into_iter().map(|(_, fact)| fact).collect();
        facts.sort_by_key(|f| (begin(f), f.id));
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let mut evidence = memory.read.evidence(&ids, EVIDENCE).await?;
        let sides = memory.sides_of(&facts).await?;
        let views = FactView::all(&call.memories, memory, &sides, &facts);
        let facts = views.into_iter().map(|fact| Entry { changes: changes(&mut evidence, &fact), fact }).collect();
        Ok(Output { entity: EntityView::of(&entity, memory.is_shared), facts, more: slice.has_next })
    }

    fn text(output: &Output) -> String {
        let mut lines = vec![output.entity.line()];
        for Entry { fact, changes } in &output.facts {
            lines.push(fact.line());
            lines.extend(changes.iter().map(EvidenceView::line));
        }
        if output.facts.is_empty() {
            lines.push("No fact about it is known.".to_owned());
        }
        lines.join("\n")
    }
}

/// Returns the time by which a fact is sorted.
fn begin(fact: &Fact) -> Timestamp {
    fact.began().map_or(fact.created_at, |m| m.at)
}

fn changes(evidence: &mut HashMap<FactId, Vec<Evidence>>, fact: &FactView) -> Vec<EvidenceView> {
    let found = fact.id.parse().ok().and_then(|id: FactId| evidence.remove(&id)).unwrap_or_default();
    let mut found: Vec<EvidenceView> = found.iter().map(EvidenceView::from).collect();
    found.sort_by_key(|e| e.date);
    found
}
