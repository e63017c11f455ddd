//! Resources: the sessions and the entities of the memory, listed by pages and read by their URI.

use std::str::FromStr;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::json;

use crate::{
    gate::{Fault, Refusal},
    memories::Memories,
    view::{EntityView, FactView, MessageView, counted},
};
use recall_domain::{Entity, EntityId, Fact, Page, Session, SessionId};
use recall_ports::{EntityFilter, FactFilter, SessionFilter};
use recall_usecases::UseCaseError;

/// Resources of one page.
const PAGE: u32 = 50;
/// Messages of a session that are read at a time.
const MESSAGES: u32 = 100;
/// Most bytes of message texts in one session that is read.
const MAX_BYTES: usize = 256 * 1024;
/// Facts of an entity that is read.
const FACTS: u32 = 50;
const MIME_TYPE: &str = "application/json";

/// What a URI names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Uri {
    Session(SessionId),
    Entity(EntityId),
}

impl FromStr for Uri {
    type Err = Refusal;

    fn from_str(uri: &str) -> Result<Self, Refusal> {
        let unknown = || Refusal::invalid("NOT_FOUND", "uri", "There is no such resource. `resources/list` lists all.");
        let (kind, id) = uri.strip_prefix("recall://").and_then(|rest| rest.split_once('/')).ok_or_else(unknown)?;
        match kind {
            "session" => id.parse().map(Self::Session).map_err(|_| unknown()),
            "entity" => id.parse().map(Self::Entity).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

/// A place in the list of resources: the caller's sessions come first, then their entities.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    Sessions(Option<String>),
    Entities(Option<String>),
}

impl Cursor {
    /// Reads the cursor of a request; none means the beginning.
    pub(crate) fn read(given: Option<&str>) -> Result<Self, Refusal> {
        let Some(given) = given else { return Ok(Self::Sessions(None)) };
        let wrong = || Refusal::invalid("BAD_CURSOR", "cursor", "The cursor was not issued by this server.");
        let text = URL_SAFE_NO_PAD.decode(given).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)?;
        let key = |rest: &str| (!rest.is_empty()).then(|| rest.to_owned());
        match text.split_once(':') {
            Some(("s", rest)) => Ok(Self::Sessions(key(rest))),
            Some(("e", rest)) => Ok(Self::Entities(key(rest))),
            _ => Err(wrong()),
        }
    }

    fn write(&self) -> String {
        let (kind, key) = match self {
            Self::Sessions(key) => ("s", key),
            Self::Entities(key) => ("e", key),
        };
        URL_SAFE_NO_PAD.encode(format!("{kind}:{}", key.as_deref().unwrap_or_default()))
    }
}

/// Returns the forms of the URIs.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: &str, title: &str, text: &str| {
        let uri = format!("recall://{kind}/{{id}}");
        ResourceTemplate::new(uri, kind).with_title(title).with_description(text).with_mime_type(MIME_TYPE)
    };
    vec![
        template("session", "Session", "The latest messages of a conversation, oldest first"),
        template("entity", "Entity", "An entity with its facts"),
    ]
}

/// Lists a page of the caller's sessions, latest change first, and then of their entities, most mentioned first.
pub(crate) async fn list(memories: &Memories, cursor: Cursor) -> Result<ListResourcesResult, Fault> {
    let read = &memories.own.read;
    let (resources, next) = match cursor {
        Cursor::Sessions(after) => {
            let slice = read.list_sessions(&SessionFilter::ALL, &Page { first: PAGE, after }).await?;
            let last = slice.items.last().map(|(key, _)| key.clone()).filter(|_| slice.has_next);
            let next = last.map_or(Cursor::Entities(None), |key| Cursor::Sessions(Some(key)));
            (slice.items.iter().map(|(_, s)| session_resource(s)).collect(), Some(next))
        }
        Cursor::Entities(after) => {
            let slice = read.list_entities(&EntityFilter::default(), &Page { first: PAGE, after }).await?;
            let last = slice.items.last().map(|(key, _)| key.clone()).filter(|_| slice.has_next);
            (slice.items.iter().map(|(_, e)| entity_resource(e)).collect(), last.map(|key| Cursor::Entities(Some(key))))
        }
    };
    let mut page = ListResourcesResult::with_all_items(resources);
    page.next_cursor = next.map(|cursor| cursor.write());
    Ok(page)
}

fn session_resource(session: &Session) -> Resource {
    let title = session.title.as_ref().map_or("Untitled", |t| t.as_str());
    Resource::new(format!("recall://session/{}", session.id), format!("session {}", session.id))
        .with_title(title)
        .with_description(format!(
            "Conversation of {}, last on {}",
            counted(session.message_count, "message"),
            session.updated_at.format("%Y-%m-%d")
        ))
        .with_mime_type(MIME_TYPE)
}

fn entity_resource(entity: &Entity) -> Resource {
    Resource::new(format!("recall://entity/{}", entity.id), format!("entity {}", entity.id))
        .with_title(entity.name.clone())
        .with_description(format!("{}, mentioned in {}", entity.entity_type, counted(entity.mention_count, "message")))
        .with_mime_type(MIME_TYPE)
}

/// Reads a resource of the caller's own or of shared memory.
pub(crate) async fn read(memories: &Memories, uri: &str) -> Result<ReadResourceResult, Fault> {
    let text = match uri.parse::<Uri>()? {
        Uri::Session(id) => to_json(&read_session(memories, id).await?),
        Uri::Entity(id) => to_json(&read_entity(memories, id).await?),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MIME_TYPE)]))
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

async fn read_session(memories: &Memories, id: SessionId) -> Result<serde_json::Value, Fault> {
    for memory in memories.all() {
        let Some(session) = memory.read.sessions(&[id]).await?.into_iter().next() else { continue };
        let count = memory.read.count_messages(id).await?;
        let mut bytes = 0;
        let latest = memory.read.list_messages(id, &Page::first(MESSAGES), true).await?.items;
        let fits = |m: &MessageView| {
            bytes += m.text.len();
            bytes <= MAX_BYTES
        };
        let mut messages: Vec<_> = latest.iter().map(|(_, m)| MessageView::whole(m, memory.is_shared)).take_while(fits).collect();
        messages.reverse();
        return Ok(json!({
            "id": id.to_string(),
            "title": session.title.as_ref().map(|t| t.as_str()),
            "created_at": session.created_at,
            "message_count": count,
            "messages_left_out": count.saturating_sub(messages.len() as u64),
            "messages": messages,
        }));
    }
    Err(UseCaseError::NotFound { noun: "session" }.into())
}

async fn read_entity(memories: &Memories, id: EntityId) -> Result<serde_json::Value, Fault> {
    for memory in memories.all() {
        let Some(entity) = memory.read.entities(&[id]).await?.remove(&id) else { continue };
        let filter = FactFilter { entity: Some(entity.id), ..FactFilter::default() };
        let slice = memory.read.list_facts(&filter, &Page::first(FACTS)).await?;
        let facts: Vec<Fact> = slice.items.into_iter().map(|(_, fact)| fact).collect();
        let sides = memory.sides_of(&facts).await?;
        return Ok(json!({
            "entity": EntityView::of(&entity, memory.is_shared),
            "facts": FactView::all(memories, memory, &sides, &facts),
            "more_facts": slice.has_next,
        }));
    }
    Err(UseCaseError::NotFound { noun: "entity" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_sessions_and_entities() {
        let id = "00000000-0000-4000-8000-000000000001";
        assert_eq!(format!("recall://session/{id}").parse(), Ok(Uri::Session(id.parse().unwrap())));
        assert_eq!(format!("recall://entity/{id}").parse(), Ok(Uri::Entity(id.parse().unwrap())));
        for bad in ["", "recall://", "recall://session/7", "recall://fact/7", "file:///etc/passwd", &format!("session/{id}")] {
            assert_eq!(bad.parse::<Uri>().unwrap_err().code, "NOT_FOUND", "{bad}");
        }
    }

    #[test]
    fn cursors_are_opaque_and_checked() {
        for cursor in [Cursor::Sessions(Some("2026:7".to_owned())), Cursor::Entities(None), Cursor::Entities(Some("k".to_owned()))] {
            assert_eq!(Cursor::read(Some(&cursor.write())), Ok(cursor));
        }
        assert_eq!(Cursor::read(None), Ok(Cursor::Sessions(None)));
        for bad in ["", "!", "s:1", &URL_SAFE_NO_PAD.encode("x:1")] {
            assert_eq!(Cursor::read(Some(bad)).unwrap_err().code, "BAD_CURSOR", "{bad}");
        }
    }
}
