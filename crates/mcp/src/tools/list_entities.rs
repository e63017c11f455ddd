//! `list_entities`: lists who and what is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Definition, STATEMENT};
use crate::{
    arguments::{self, MAX_ITEMS},
    gate::{Access, Fault},
    view::{self, EntityView},
};
use recall_domain::Page;
use recall_ports::EntityFilter;

pub(super) struct ListEntities;

/// Arguments of `list_entities`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[schemars(schema_with = "crate::schema::entity_type")]
    #[serde(default)]
    r#type: Option<String>,
    /// A part of the name or of another name.
    query: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    entities: Vec<EntityView>,
    /// Whether there are more.
    more: bool,
}

impl Definition for ListEntities {
    const NAME: &'static str = "list_entities";
    const TITLE: &'static str = "List entities";
    const DESCRIPTION: &'static str = "List the people, organizations, places, projects and things in memory, most mentioned first, at most 50. \
         Use it for an overview, or to find the id of a name.";
    const ACCESS: &'static [Access] = &[Access::Read];
    type Arguments = Arguments;
    type Output = Output;

    fn cost(_: &Arguments) -> usize {
        2 * STATEMENT + MAX_ITEMS as usize
    }

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Fault> {
        let filter = EntityFilter {
            entity_type: arguments::entity_type(arguments.r#type.as_deref(), "type")?,
            text: arguments::not_blank(arguments.query.as_deref(), "query")?.map(str::to_owned),
            session: None,
        };
        let mut output = Output { entities: Vec::new(), more: false };
        for memory in call.memories.all() {
            let slice = memory.read.list_entities(&filter, &Page::first(MAX_ITEMS)).await?;
            output.more |= slice.has_next;
            output.entities.extend(slice.items.iter().map(|(_, e)| EntityView::of(e, memory.is_shared)));
        }
        // Both lists are sorted. The sort is stable: of equal entities, the caller's own come first.
        output.entities.sort_by_key(|e| std::cmp::Reverse(e.mentions));
        output.more |= output.entities.len() > MAX_ITEMS as usize;
        output.entities.truncate(MAX_ITEMS as usize);
        Ok(output)
    }

    fn text(output: &Output) -> String {
        let mut lines: Vec<String> = output.entities.iter().map(EntityView::line).collect();
        if output.more {
            lines.push("There are more; narrow the list with `type` or `query`.".to_owned());
        }
        view::lists(&[("Entities", lines)], "The memory knows no such entity.")
    }
}
