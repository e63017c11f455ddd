//! Enums of the API. A new value in the domain enum fails to compile until it is added here.

use async_graphql::Enum;

/// The role of a caller. Every role can read and write its own data.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ViewerRole")]
pub(crate) enum ViewerRole {
    /// An administrator, who can also change shared memory and read the server's state.
    Admin,
    /// A signed-in user.
    User,
    /// A visitor without an account.
    Anonymous,
}

/// How a front end shows whose data it may use.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::FrontEndKind")]
pub(crate) enum FrontEndKind {
    /// A browser with a login at this server.
    Login,
    /// A program with a personal access token. Its name is that of the token.
    AccessToken,
    /// A chat front end with the server's key, which names its user.
    SignedUser,
    /// A program with a token of the identity provider. Its name is the client id.
    Client,
    /// A program at a server without login. Its name is what it calls itself.
    Open,
}

/// Who wrote a message.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::Role")]
pub(crate) enum MessageRole {
    /// The user, or another person in the conversation (see `speaker`).
    User,
    /// The assistant. Its messages are searched, but no facts are taken from them.
    Assistant,
    /// A document. The message is one of its chunks. Clients cannot send such messages.
    Document,
}

/// The processing state of a document.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::DocumentStatus")]
pub(crate) enum DocumentStatus {
    /// Stored; it waits for the parser.
    Pending,
    /// Its chunks are being stored, and then its facts are extracted. A stored chunk is found by searches.
    Processing,
    /// All chunks are stored, and their facts are extracted.
    Completed,
    /// It could not be read; `error` says why.
    Failed,
}

/// The processing state of a comparison.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ComparisonStatus")]
pub(crate) enum ComparisonStatus {
    /// Stored; it waits for a worker.
    Pending,
    /// Its passages are being compared. Points found so far can be read.
    Processing,
    /// All passages are compared.
    Completed,
    /// It could not be made; `error` says why.
    Failed,
}

/// The order of a list of facts.
#[derive(Enum, Clone, Copy, PartialEq, Eq, Default)]
#[graphql(remote = "recall_ports::FactOrder")]
pub(crate) enum FactOrder {
    /// Latest change first.
    #[default]
    LatestChange,
    /// Learned last first.
    LatestLearned,
    /// Highest belief first, as of the last change.
    MostBelieved,
    /// Lowest belief first, as of the last change.
    LeastBelieved,
}

/// A kind of text that is never stored. A mark replaces it.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_usecases::SensitiveKind")]
pub(crate) enum SensitiveKind {
    /// The number of a payment card.
    CardNumber,
    /// An international bank account number (IBAN).
    BankAccount,
    /// An API key, an access token, a private key, or a password in a URL.
    SecretKey,
    /// A password, a PIN or a one-time code that the text names as such.
    Password,
    /// A social security number, or a similar national number.
    SecurityNumber,
}

/// Whose data it is.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserKind {
    /// A user with an account, or the local user.
    Account,
    /// A visitor without an account.
    Visitor,
    /// Shared memory, which belongs to nobody.
    Shared,
}

/// What a search looks for.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::context::SearchSource")]
pub(crate) enum SearchSource {
    /// Messages of conversations.
    Messages,
    /// Chunks of documents.
    Documents,
}

/// The kind of a message.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::MessageKind")]
pub(crate) enum MessageKind {
    /// States something that can be remembered.
    Statement,
    /// Asks for something.
    Question,
    /// Does both.
    Mixed,
    /// A greeting, thanks, a reaction or filler.
    Other,
}

/// The processing state of a message.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::MessageStatus")]
pub(crate) enum MessageStatus {
    /// Stored and searchable; facts are not extracted yet.
    Processing,
    /// Facts are extracted and stored.
    Processed,
    /// Facts could not be extracted. The text stays stored and searchable.
    Failed,
}

/// How a text refers to a resource.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ResourceOrigin")]
pub(crate) enum ResourceOrigin {
    /// It was sent with the text.
    Part,
    /// The text contains its address.
    Link,
}

/// The type of an entity.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::EntityType")]
pub(crate) enum EntityType {
    /// A person with a name, or one named by a role ("sister").
    Person,
    /// A company, school, team, band or club.
    Organization,
    /// A country, city, venue or named natural place.
    Place,
    /// A project, a repository, an initiative, or a work that the speaker creates.
    Project,
    /// Software, a programming language, a library or a service.
    Tool,
    /// An idea, method, topic, hobby or activity.
    Concept,
    /// A named or specific event.
    Event,
    /// A food, animal, object, book, film, song or game.
    Thing,
}

/// Whether a fact holds.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::FactStatus")]
pub(crate) enum FactStatus {
    /// The fact holds, as far as is known; see `belief`.
    Active,
    /// The fact held once; a message said that it no longer does.
    Ended,
    /// The user retracted the fact.
    Retracted,
}

/// How exactly a date is known.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::DatePrecision")]
pub(crate) enum DatePrecision {
    /// No message tells the date. The moment is that of a message, and only a bound.
    Unknown,
    /// The year; the moment is its beginning, in UTC.
    Year,
    /// The month; the moment is its beginning, in UTC.
    Month,
    /// The day; the moment is its beginning, in UTC.
    Day,
}

/// The effect of a message on a fact.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::Stance")]
pub(crate) enum EvidenceStance {
    /// The message states the fact.
    Supports,
    /// The message denies the fact, or states a rival.
    Opposes,
    /// The message says that the fact no longer holds.
    Ends,
}

/// A retrieval method.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::context::Method")]
pub(crate) enum RetrievalMethod {
    /// Vector search: by meaning.
    Vector,
    /// Keyword search: by words.
    Keyword,
    /// Graph search: facts about the entities that the question names.
    Graph,
}

/// The part of the memory that is searched.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextScope {
    /// All of the user's sessions.
    User,
    /// One session, given in `sessionId`.
    Session,
}

/// The purpose of a request to a model server.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::ModelOperation")]
pub(crate) enum ModelOperation {
    /// Extracting facts from messages.
    Extract,
    /// Writing an answer.
    Answer,
}

/// How a question is best answered.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "recall_domain::context::Route")]
pub(crate) enum RetrievalRoute {
    /// By facts: the question asks for a relation of a known entity.
    Graph,
    /// By messages that match in words or meaning: the question names no known entity, or asks what was said.
    Vector,
    /// By both.
    Combined,
}
