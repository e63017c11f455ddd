//! Ownership in a real Neo4j: the graph of shared memory, and the adoption of a visitor's graph.

use recall_domain::{Caller, Entity, EntityId, UserId, ViewerRole};
use recall_ports::{GraphEngine, GraphQueries, NeighbourQuery};
use recall_projection::{Projection, compare};

use super::{
    super::{
        given::{World, at, fresh},
        visits::visitor,
    },
    Folder,
    service::Neo4jServer,
};

async fn folders() -> Vec<Folder> {
    [Some(Folder::new().await), Folder::postgres().await].into_iter().flatten().collect()
}

/// Returns the entities next to this one.
async fn beside(server: &Neo4jServer, caller: &Caller, entity: &Entity) -> Vec<EntityId> {
    let asked = NeighbourQuery { entity: entity.id, hops: 1, relations: Vec::new(), first: 10 };
    server.graph().around(caller, &asked).await.unwrap().into_iter().map(|n| n.entity).collect()
}

async fn differences(projection: &Projection, caller: &Caller) -> Vec<String> {
    let mut found = Vec::new();
    compare(projection, |d| found.push(d)).await.unwrap();
    found.into_iter().filter(|d| d.user == caller.user()).map(|d| format!("{} {}", d.kind, d.what)).collect()
}

/// Returns the names of all nodes of a user, without the checkpoint.
async fn of(server: &Neo4jServer, user: UserId) -> Vec<String> {
    server
        .names(&format!(
            "MATCH (n) WHERE n.user_id = '{user}' AND NOT n:Projection RETURN coalesce(n.name, labels(n)[0]) AS name ORDER BY name"
        ))
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_graph_is_readable_by_authenticated_users_only() {
    // A separate server, because shared memory is the same user in every store.
    let Some(server) = Neo4jServer::start().await else { return };
    for folder in folders().await {
        let admin = Caller::verified(UserId(fresh()), ViewerRole::Admin);
        let shared = World { store: folder.store.clone(), caller: admin.shared_writer().unwrap() };
        let anna = folder.world();
        let (common, own) = (shared.john_likes_mary().await, anna.john_likes_mary().await);
        let projection = Projection::new(folder.feed(), server.graph());
        let feed = projection.prepare().await.unwrap();
        for w in [&shared, &anna] {
            projection.catch_up(&feed, &w.caller).await.unwrap();
            assert_eq!(differences(&projection, &w.caller).await, [""; 0]);
        }

        let boris = folder.world();
        for reader in [&anna.caller, &boris.caller, &admin].map(|caller| caller.shared_reader().unwrap()) {
            assert_eq!(beside(&server, &reader, &common.john).await, [common.mary.id]);
            assert_eq!(beside(&server, &reader, &own.john).await, [], "an own entity is visible in shared memory");
        }
        // Own queries find own data only; a visitor cannot query shared memory.
        assert_eq!(beside(&server, &anna.caller, &own.john).await, [own.mary.id]);
        for caller in [&anna.caller, &boris.caller, &admin] {
            assert_eq!(beside(&server, caller, &common.john).await, []);
        }
        let (visitor, _) = visitor(&folder.store, 9, 9).await;
        assert_eq!((visitor.caller.shared_reader(), beside(&server, &visitor.caller, &common.john).await), (None, vec![]));
        assert_eq!(of(&server, UserId::SHARED).await, ["John", "Mary", "Message", "Session"]);
        let across = "MATCH (a)-[r]-(b) WHERE a.user_id <> b.user_id OR r.user_id <> a.user_id RETURN type(r) AS name";
        assert_eq!(server.names(across).await, [""; 0], "a relationship connects two users");

        shared.store.delete_session(&shared.caller, common.session, at(9), &|_, _| None).await.unwrap();
        projection.catch_up(&feed, &shared.caller).await.unwrap();
        assert_eq!(of(&server, UserId::SHARED).await, [""; 0]);
        assert_eq!(beside(&server, &anna.caller, &own.john).await, [own.mary.id]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adoption_moves_graph_to_account_completely() {
    let Some(server) = Neo4jServer::shared().await else { return };
    for folder in folders().await {
        let account = folder.world();
        let own = account.john_likes_mary().await;
        let (w, visit) = visitor(&folder.store, 100, 100).await;
        let theirs = w.john_likes_mary().await;
        let projection = Projection::new(folder.feed(), server.graph());
        let feed = projection.prepare().await.unwrap();
        for caller in [&account.caller, &w.caller] {
            projection.catch_up(&feed, caller).await.unwrap();
        }
        assert_eq!(beside(server, &w.caller, &theirs.john).await, [theirs.mary.id]);

        folder.store.adopt(&account.caller, visit.digest, at(1)).await.unwrap().unwrap();
        projection.catch_up(&feed, &account.caller).await.unwrap();
        for known in [&own, &theirs] {
            assert_eq!(beside(server, &account.caller, &known.john).await, [known.mary.id]);
        }
        while folder.store.erase(&w.caller, at(2), 3).await.unwrap().erasure.ended_at.is_none() {
            projection.catch_up(&feed, &w.caller).await.unwrap();
        }
        projection.catch_up(&feed, &w.caller).await.unwrap();
        assert_eq!(of(server, w.caller.user()).await, [""; 0]);
        assert_eq!(server.graph().size(&w.caller).await.unwrap(), (0, 0));
        let names = of(server, account.caller.user()).await;
        assert_eq!(names, ["John", "John", "Mary", "Mary", "Message", "Message", "Session", "Session"]);
        for caller in [&account.caller, &w.caller] {
            assert_eq!(differences(&projection, caller).await, [""; 0]);
        }
    }
}
