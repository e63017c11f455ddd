//! Tests of the schema.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use async_graphql::Variables;
use serde_json::Value;

use super::{document, schema, schema::sdl};
use crate::limits::Limits;

/// The introspection query of GraphiQL and code generators.
pub(super) const INTROSPECTION: &str = "query IntrospectionQuery { __schema { description queryType { name } mutationType { name } subscriptionType { name }
  types { ...FullType } directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL
  fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
  inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";

async fn introspect() -> Value {
    let limits = Limits::default();
    document::admit(INTROSPECTION, &Variables::default(), &limits.document)
        .expect("the introspection query passes the limits of documents");
    let response = schema::builder(&limits).finish().execute(INTROSPECTION).await;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    response.data.into_json().unwrap()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap()
}

#[tokio::test]
async fn every_type_and_field_has_a_description() {
    let schema = introspect().await;
    let mut bare = Vec::new();
    let mut check = |value: &Value, place: String| {
        if value["description"].as_str().is_none_or(|d| d.trim().len() < 5) {
            bare.push(place);
        }
    };
    let mut count = 0;
    for ty in list(&schema["__schema"], "types").filter(|t| !name(t).starts_with("__")) {
        let builtin = ["Boolean", "Float", "ID", "Int", "String"].contains(&name(ty));
        if !builtin {
            check(ty, name(ty).to_owned());
        }
        for field in list(ty, "fields").chain(list(ty, "inputFields")).chain(list(ty, "enumValues")) {
            count += 1;
            check(field, format!("{}.{}", name(ty), name(field)));
            for arg in list(field, "args") {
                check(arg, format!("{}.{}({})", name(ty), name(field), name(arg)));
            }
        }
    }
    assert!(count > 150, "only {count} fields were seen");
    assert!(bare.is_empty(), "without description: {bare:#?}");
}

/// Names that clients depend on. Removing one or changing its type breaks clients.
const CONTRACT: &[&str] = &[
    "Query.viewer: Viewer!",
    "Query.session(id: ID!): Session",
    "Query.sessions(filter: SessionFilter, first: Int, after: String, shared: Boolean! = false): SessionConnection!",
    "Query.message(id: ID!): Message",
    "Query.context(input: ContextInput!): Context!",
    "Query.entity(id: ID!): Entity",
    "Query.entities(filter: EntityFilter, first: Int, after: String, shared: Boolean! = false): EntityConnection!",
    "Query.resolveEntity(input: ResolveEntityInput!): EntityResolution!",
    "Query.fact(id: ID!): Fact",
    "Query.facts(filter: FactFilter, orderBy: FactOrder! = LATEST_CHANGE, first: Int, after: String, shared: Boolean! = false): FactConnection!",
    "Query.relations: [Relation!]!",
    "Mutation.createSession(input: CreateSessionInput!): CreateSessionPayload!",
    "Mutation.deleteSession(input: DeleteSessionInput!): DeleteSessionPayload!",
    "Mutation.sendMessage(input: SendMessageInput!): SendMessagePayload!",
    "Mutation.importMessages(input: ImportMessagesInput!): ImportMessagesPayload!",
    "Mutation.openEventStream(input: OpenEventStreamInput!): OpenEventStreamPayload!",
    "Mutation.assertFact(input: AssertFactInput!): AssertFactPayload!",
    "Mutation.retractFact(input: RetractFactInput!): RetractFactPayload!",
    "Mutation.restoreFact(input: RestoreFactInput!): RestoreFactPayload!",
    "Mutation.updateSession(input: UpdateSessionInput!): UpdateSessionPayload!",
    "Mutation.forget(input: ForgetInput!): ForgetPayload!",
    "Mutation.undoForget(input: UndoForgetInput!): ForgetPayload!",
    "Mutation.deleteMessage(input: DeleteMessageInput!): DeleteMessagePayload!",
    "Mutation.renameEntity(input: RenameEntityInput!): RenameEntityPayload!",
    "Mutation.mergeEntities(input: MergeEntitiesInput!): MergeEntitiesPayload!",
    "Mutation.unmergeEntities(input: UnmergeEntitiesInput!): UnmergeEntitiesPayload!",
    "Subscription.sessionEvents(sessionId: ID!, after: String): Event!",
    "Subscription.memoryEvents(after: String): Event!",
    "Viewer.head: String!",
    "Viewer.id: ID!",
    "Viewer.role: ViewerRole!",
    "Viewer.name: String",
    "Viewer.entity: Entity",
    "CreateSessionInput.title: String",
    "CreateSessionPayload.session: Session",
    "CreateSessionPayload.errors: [UserError!]!",
    "Session.id: ID!",
    "Session.title: String",
    "Session.createdAt: DateTime!",
    "Session.updatedAt: DateTime!",
    "Session.head: String!",
    "Session.messages(first: Int, after: String, last: Int, before: String): MessageConnection!",
    "Session.facts(first: Int, after: String, status: FactStatus, notes: Boolean! = false): FactConnection!",
    "SendMessageInput.sessionId: ID!",
    "SendMessageInput.text: String!",
    "SendMessageInput.role: MessageRole = USER",
    "SendMessageInput.speaker: String",
    "SendMessageInput.sentAt: DateTime",
    "SendMessageInput.sourceMetadata: JSON",
    "SendMessageInput.clientMessageId: String",
    "SendMessagePayload.message: Message",
    "SendMessagePayload.status: MessageStatus",
    "SendMessagePayload.errors: [UserError!]!",
    "ImportMessagesInput.sessionId: ID!",
    "ImportMessagesInput.messages: [ImportedMessage!]!",
    "ImportedMessage.role: MessageRole = USER",
    "ImportedMessage.speaker: String",
    "ImportedMessage.text: String!",
    "ImportedMessage.sentAt: DateTime",
    "ImportedMessage.externalId: String",
    "ImportMessagesPayload.messages: [Message!]!",
    "ImportMessagesPayload.errors: [UserError!]!",
    "Message.id: ID!",
    "Message.role: MessageRole!",
    "Message.speaker: String",
    "Message.text: String!",
    "Message.kind: MessageKind",
    "Message.status: MessageStatus!",
    "Message.sentAt: DateTime!",
    "Message.createdAt: DateTime!",
    "Message.sourceMetadata: JSON",
    "Message.session: Session!",
    "Message.answer: Message",
    "Message.answerTo: Message",
    "Message.citations(first: Int): [Citation!]!",
    "Message.nearest(first: Int): [Citation!]!",
    "Message.entities(first: Int): [Entity!]!",
    "Message.mentions(first: Int): [Mention!]!",
    "Message.facts(first: Int): [Fact!]!",
    "Message.externalId: String",
    "ContextInput.query: String!",
    "ContextInput.sessionId: ID",
    "ContextInput.scope: ContextScope = USER",
    "ContextInput.first: Int = 10",
    "ContextInput.methods: [RetrievalMethod!]",
    "ContextInput.route: RetrievalRoute",
    "ContextInput.asOf: DateTime",
    "Context.messages: [RankedMessage!]!",
    "Context.facts: [RankedFact!]!",
    "Context.entities: [Entity!]!",
    "Context.methodsUsed: [RetrievalMethod!]!",
    "Context.route: RouteChoice!",
    "RouteChoice.chosen: RetrievalRoute!",
    "RouteChoice.reason: String!",
    "Context.timings: RetrievalTimings!",
    "RankedMessage.message: Message!",
    "RankedMessage.score: Float!",
    "RankedMessage.methods: [RetrievalMethod!]!",
    "RankedFact.fact: Fact!",
    "RankedFact.score: Float!",
    "RetrievalTimings.embedMs: Float!",
    "RetrievalTimings.vectorMs: Float!",
    "RetrievalTimings.keywordMs: Float!",
    "RetrievalTimings.graphMs: Float!",
    "RetrievalTimings.totalMs: Float!",
    "Entity.id: ID!",
    "Entity.name: String!",
    "Entity.type: EntityType!",
    "Entity.aliases: [String!]!",
    "Entity.description: String",
    "Entity.mentionCount: Int!",
    "Entity.confidence: Float!",
    "Entity.isViewer: Boolean!",
    "Entity.createdAt: DateTime!",
    "Entity.updatedAt: DateTime!",
    "Entity.facts(first: Int, after: String, status: FactStatus): FactConnection!",
    "Entity.mentions(first: Int, after: String): MessageConnection!",
    "ResolveEntityInput.mention: String!",
    "ResolveEntityInput.type: EntityType",
    "ResolveEntityInput.sessionId: ID",
    "EntityResolution.entity: Entity",
    "EntityResolution.canonicalForm: String",
    "EntityResolution.confidence: Float!",
    "EntityResolution.candidates: [EntityCandidate!]!",
    "Fact.id: ID!",
    "Fact.subject: Entity!",
    "Fact.relation: String!",
    "Fact.object: Entity",
    "Fact.value: FactValue",
    "FactValue.type: ValueType!",
    "FactValue.text: String!",
    "Entity.notes(first: Int, after: String, status: FactStatus): FactConnection!",
    "Fact.weight: Float!",
    "Fact.belief: Float!",
    "Fact.uncertainty: Float!",
    "Fact.relativeWeight: Float!",
    "Fact.status: FactStatus!",
    "Fact.flagged: Boolean!",
    "Fact.validFrom: DateTime",
    "Fact.validTo: DateTime",
    "Fact.createdAt: DateTime!",
    "Fact.updatedAt: DateTime!",
    "Fact.evidence(first: Int, after: String): EvidenceConnection!",
    "Fact.rivals(first: Int): [Fact!]!",
    "Document.summary: String",
    "Document.topics(first: Int): [Topic!]!",
    "Document.viewedAt: DateTime",
    "FactFilter.subjectId: ID",
    "FactFilter.objectId: ID",
    "FactFilter.entityId: ID",
    "FactFilter.relation: String",
    "FactFilter.status: FactStatus",
    "FactFilter.sessionId: ID",
    "FactFilter.minBelief: Float",
    "FactFilter.asOf: DateTime",
    "FactFilter.text: String",
    "Evidence.message: Message!",
    "Evidence.stance: EvidenceStance!",
    "Evidence.confidence: Float!",
    "Evidence.excerpt: String",
    "Evidence.createdAt: DateTime!",
    "Citation.index: Int!",
    "Citation.message: Message",
    "Citation.fact: Fact",
    "Citation.excerpt: String!",
    "Event.seq: Int!",
    "Event.cursor: String!",
    "Event.type: String!",
    "Event.createdAt: DateTime!",
    "Event.data: JSON!",
    "UserError.code: String!",
    "UserError.message: String!",
    "UserError.path: [String!]!",
    "ViewerRole.ADMIN",
    "ViewerRole.USER",
    "ViewerRole.ANONYMOUS",
    "MessageRole.USER",
    "MessageRole.ASSISTANT",
    "MessageKind.STATEMENT",
    "MessageKind.QUESTION",
    "MessageKind.MIXED",
    "MessageKind.OTHER",
    "MessageStatus.PROCESSING",
    "MessageStatus.PROCESSED",
    "MessageStatus.FAILED",
    "ContextScope.USER",
    "ContextScope.SESSION",
    "RetrievalMethod.VECTOR",
    "RetrievalMethod.KEYWORD",
    "RetrievalMethod.GRAPH",
    "RetrievalRoute.GRAPH",
    "RetrievalRoute.VECTOR",
    "RetrievalRoute.COMBINED",
    "EntityType.PERSON",
    "EntityType.ORGANIZATION",
    "EntityType.PLACE",
    "EntityType.PROJECT",
    "EntityType.TOOL",
    "EntityType.CONCEPT",
    "EntityType.EVENT",
    "EntityType.THING",
    "FactStatus.ACTIVE",
    "FactStatus.ENDED",
    "FactStatus.RETRACTED",
    "EvidenceStance.SUPPORTS",
    "EvidenceStance.OPPOSES",
    "EvidenceStance.ENDS",
];

fn type_text(ty: &Value) -> String {
    match ty["kind"].as_str().unwrap() {
        "NON_NULL" => format!("{}!", type_text(&ty["ofType"])),
        "LIST" => format!("[{}]", type_text(&ty["ofType"])),
        _ => name(ty).to_owned(),
    }
}

fn value_text(value: &Value) -> String {
    let default = value["defaultValue"].as_str().map(|d| format!(" = {d}")).unwrap_or_default();
    format!("{}: {}{default}", name(value), type_text(&value["type"]))
}

#[tokio::test]
async fn schema_contains_the_contract() {
    let schema = introspect().await;
    let mut present = BTreeSet::new();
    for ty in list(&schema["__schema"], "types") {
        for field in list(ty, "fields") {
            let args: Vec<_> = list(field, "args").map(value_text).collect();
            let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
            present.insert(format!("{}.{}{args}: {}", name(ty), name(field), type_text(&field["type"])));
        }
        present.extend(list(ty, "inputFields").map(|f| format!("{}.{}", name(ty), value_text(f))));
        present.extend(list(ty, "enumValues").map(|v| format!("{}.{}", name(ty), name(v))));
    }
    let missing: Vec<_> = CONTRACT.iter().filter(|entry| !present.contains(**entry)).collect();
    assert!(missing.is_empty(), "missing or changed: {missing:#?}");
}

#[tokio::test]
async fn mutations_have_one_input_and_return_errors() {
    let schema = introspect().await;
    let types: Vec<_> = list(&schema["__schema"], "types").collect();
    let find = |wanted: &str| *types.iter().find(|t| name(t) == wanted).unwrap();
    for mutation in list(find("Mutation"), "fields") {
        let args: Vec<_> = list(mutation, "args").map(name).collect();
        assert_eq!(args, ["input"], "{}", name(mutation));
        let payload = find(name(&mutation["type"]["ofType"]));
        assert!(list(payload, "fields").any(|f| name(f) == "errors"), "{}", name(mutation));
    }
}

#[test]
fn schema_text_is_stable() {
    let text = sdl();
    assert_eq!(text, sdl());
    assert!(text.contains("type Query {"));
    assert!(async_graphql::parser::parse_schema(&text).is_ok());
}

#[test]
fn event_schema_contains_every_event() {
    let schema: Value = serde_json::from_str(&crate::event_log::events_schema()).unwrap();
    let text = schema.to_string();
    for kind in [
        "message_stored",
        "message_processed",
        "message_failed",
        "message_forgotten",
        "message_restored",
        "document_update",
        "comparison_update",
        "session_update",
        "session_deleted",
        "viewer_update",
        "entity_update",
        "fact_update",
        "answer_completed",
        "answer_failed",
    ] {
        assert!(text.contains(&format!("\"const\":\"{kind}\"")), "{kind}");
    }
}
