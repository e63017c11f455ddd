//! Enums of the API, in step with those of the domain: a new value there does not compile without one here.

use async_graphql::Enum;

/// What a caller may do beyond reading and writing their own data.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ViewerRole")]
pub(crate) enum ViewerRole {
    /// May also change shared memory and see the state of the server.
    Admin,
    /// A signed-in person.
    User,
    /// A visitor without an account.
    Anonymous,
}

/// Who wrote a message.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::Role")]
pub(crate) enum MessageRole {
    /// The user, or a person the user talks with (see `speaker`).
    User,
    /// The assistant. Its messages are searched but never taken as evidence for facts.
    Assistant,
}

/// What a message does.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::MessageKind")]
pub(crate) enum MessageKind {
    /// Tells something that can be remembered.
    Statement,
    /// Asks for something.
    Question,
    /// Does both.
    Mixed,
    /// Greeting, thanks, reaction, filler.
    Other,
}

/// How far a message has come.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::MessageStatus")]
pub(crate) enum MessageStatus {
    /// Stored and searchable; its facts are still being worked out.
    Processing,
    /// Its facts are in the graph.
    Processed,
    /// Its facts could not be worked out; the text stays stored and searchable.
    Failed,
}

/// What sort of thing an entity is.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::EntityType")]
pub(crate) enum EntityType {
    /// A named person, or one named by a role ("sister").
    Person,
    /// A company, school, team, band, club.
    Organization,
    /// A country, city, venue, named natural place.
    Place,
    /// A project, repository, initiative, a work the speaker makes.
    Project,
    /// Software, a language, library or service.
    Tool,
    /// An idea, method, topic, hobby or activity.
    Concept,
    /// A named or specific event.
    Event,
    /// A food, animal, object, book, film, song, game.
    Thing,
}

/// Whether a fact holds.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::FactStatus")]
pub(crate) enum FactStatus {
    /// Holds as far as is known; see its belief.
    Active,
    /// Held once, and a message said that it no longer does.
    Ended,
    /// Taken back by the user.
    Retracted,
}

/// What a message does to a fact.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::Stance")]
pub(crate) enum EvidenceStance {
    /// States it.
    Supports,
    /// Denies it, or states a rival.
    Opposes,
    /// Says that it no longer holds.
    Ends,
}

/// Ways of finding.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::context::Method")]
pub(crate) enum RetrievalMethod {
    /// By meaning.
    Vector,
    /// By words.
    Keyword,
    /// By facts about the things named.
    Graph,
}

/// Where to look.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextScope {
    /// All of the user's sessions.
    User,
    /// One session; `sessionId` says which.
    Session,
}

/// What a model server was asked for.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ModelOperation")]
pub(crate) enum ModelOperation {
    /// The facts of messages.
    Extract,
    /// An answer.
    Answer,
}
