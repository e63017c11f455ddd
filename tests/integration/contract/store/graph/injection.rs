//! Cypher in texts of users never becomes part of a statement.

use std::sync::Arc;

use recall_domain::{EntityId, UserText};
use recall_ports::{GraphEngine, GraphQueries, NeighbourQuery};
use recall_projection::{Projection, compare};

use super::{
    super::given::{World, at, entity, fact, fresh, new_message},
    Folder, know,
    service::Neo4jServer,
};

const HOSTILE: [&str; 9] = [
    "']) MATCH (n) DETACH DELETE n //",
    "\"}) DETACH DELETE n //",
    "LIKES]->() WITH 1 AS x MATCH (n) DETACH DELETE n //",
    "`LIKES` {x: 1}]-() DELETE r //",
    "$user",
    "{user_id: '*'}",
    "\\u0027 OR 1=1 //",
    "\0\u{1}\u{202e}\u{feff}",
    "LIKES|KNOWS",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cypher_in_user_text_is_never_executed() {
    let Some(server) = Neo4jServer::shared().await else { return };
    let folder = Folder::new().await;
    let projection = Projection::new(folder.feed(), server.graph());
    let feed = projection.prepare().await.unwrap();
    let (w, bystander): (World, World) = (folder.world(), folder.world());
    let other = bystander.john_likes_mary().await;
    projection.catch_up(&feed, &bystander.caller).await.unwrap();

    let session = recall_domain::SessionId(fresh());
    let title = Some(UserText::from(HOSTILE[0]));
    w.store.create_session(&w.caller, session, title, "e".into(), at(0)).await.unwrap();
    let mut all = vec![entity("Anna")];
    let mut facts = Vec::new();
    for text in HOSTILE {
        let mut thing = entity(text);
        thing.aliases = vec![text.to_owned(), HOSTILE[1].to_owned()];
        thing.description = Some(text.to_owned());
        // The store accepts any relation name; only the ontology creates relationship types.
        facts.push(fact(&all[0], text, &thing));
        all.push(thing);
        let mut message = new_message(session, text);
        message.speaker = Some(text.to_owned());
        w.append(message).await;
    }
    know(&w, session, &all.iter().collect::<Vec<_>>(), &facts.iter().collect::<Vec<_>>()).await;
    projection.catch_up(&feed, &w.caller).await.unwrap();

    let mut differences = Vec::new();
    compare(&projection, |d| differences.push(d)).await.unwrap();
    let users = [w.caller.user(), bystander.caller.user()];
    differences.retain(|d| users.contains(&d.user));
    assert_eq!(differences, [], "a text changed, or other data was touched");

    let graph: Arc<dyn GraphQueries> = server.graph();
    for text in HOSTILE {
        let asked = NeighbourQuery { entity: all[0].id, hops: 1, relations: vec![text.to_owned()], first: 10 };
        let found = graph.around(&w.caller, &asked).await.unwrap();
        assert_eq!(found.len(), 1, "the relation is not compared as a value");
        let asked = NeighbourQuery { entity: EntityId(other.john.id.0), relations: vec![text.to_owned()], ..asked };
        assert_eq!(graph.around(&bystander.caller, &asked).await.unwrap(), []);
    }
    assert_eq!(server.graph().contents(&bystander.caller).await.unwrap().facts.len(), 1);
}
