//! Graph queries that every engine must answer like the store.

use recall_domain::{Entity, EntityId, FactStatus};
use recall_ports::{Neighbour, NeighbourQuery, PathQuery};

use super::{
    super::given::{World, entity, fact},
    Answering, Folder, ids, know, strong,
};

/// Runs the contract: `$folder` makes a store and `$answering` an [`Answering`] for it, or `None` without the engine.
macro_rules! graph_contract {
    ($folder:expr, $answering:expr) => {
        $crate::contract::store::graph::queries::graph_contract! { @tests $folder, $answering;
            neighbours_are_sorted_by_distance_then_strength,
            only_active_facts_connect_entities,
            neighbours_can_be_filtered_by_relation,
            paths_are_sorted_by_length_and_visit_entities_once,
            common_neighbours_are_weighed_by_weaker_fact,
            graph_queries_never_cross_users,
            unknown_entities_have_no_connections,
            random_graphs_give_same_results_as_store,
        }
    };
    (@tests $folder:expr, $answering:expr; $($test:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let Some(folder) = $folder().await else { return };
            let Some(answering) = $answering(&folder).await else { return };
            $crate::contract::store::graph::queries::$test(&folder, &*answering).await;
        }
    )+};
}
pub(super) use graph_contract;

fn around(entity: &Entity, hops: u8, first: u32) -> NeighbourQuery {
    NeighbourQuery { entity: entity.id, hops, relations: Vec::new(), first }
}

fn found(neighbours: &[Neighbour]) -> Vec<(EntityId, u8)> {
    neighbours.iter().map(|n| (n.entity, n.distance)).collect()
}

async fn people(world: &World, names: &str) -> (recall_domain::SessionId, Vec<Entity>) {
    let session = world.session().await;
    let all: Vec<Entity> = names.split(' ').map(entity).collect();
    know(world, session, &all.iter().collect::<Vec<_>>(), &[]).await;
    (session, all)
}

pub(super) async fn neighbours_are_sorted_by_distance_then_strength(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "Anna Bob Cleo Dan Eve").await;
    // Anna knows Bob by two facts; Cleo and Dan are equally strong; Eve is two steps away, by the stronger of two
    // facts.
    let (weak, best) = (strong(&p[0], "KNOWS", &p[1], 1.0), strong(&p[1], "LIKES", &p[0], 3.0));
    let (c, d) = (strong(&p[0], "LIKES", &p[2], 2.0), strong(&p[3], "KNOWS", &p[0], 2.0));
    let (far, farther) = (strong(&p[4], "KNOWS", &p[1], 5.0), strong(&p[2], "KNOWS", &p[4], 4.0));
    let to_self = strong(&p[0], "LIKES", &p[0], 9.0);
    know(&w, session, &[], &[&weak, &best, &c, &d, &far, &farther, &to_self]).await;
    answering.settle(&w).await;

    let q = answering.queries();
    let one = q.around(&w.caller, &around(&p[0], 1, 10)).await.unwrap();
    assert_eq!(found(&one), [(p[1].id, 1), (p[2].id, 1), (p[3].id, 1)]);
    assert_eq!((one[0].fact, one[0].weight), (best.id, 3.0));
    let two = q.around(&w.caller, &around(&p[0], 2, 10)).await.unwrap();
    assert_eq!(two[..3], one);
    assert_eq!((two[3].entity, two[3].distance, two[3].fact, two.len()), (p[4].id, 2, far.id, 4));
    assert_eq!(q.around(&w.caller, &around(&p[0], 3, 2)).await.unwrap(), one[..2], "a limit does not keep the first neighbours");
    assert_eq!(q.around(&w.caller, &around(&p[0], 3, 0)).await.unwrap(), []);
}

pub(super) async fn only_active_facts_connect_entities(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "Anna Bob Cleo").await;
    let mut ended = fact(&p[0], "KNOWS", &p[1]);
    ended.status = FactStatus::Ended;
    let mut retracted = fact(&p[0], "LIKES", &p[1]);
    retracted.status = FactStatus::Retracted;
    know(&w, session, &[], &[&ended, &retracted, &fact(&p[1], "KNOWS", &p[2])]).await;
    answering.settle(&w).await;
    let q = answering.queries();
    assert_eq!(q.around(&w.caller, &around(&p[0], 3, 10)).await.unwrap(), []);
    let between = PathQuery { from: p[0].id, to: p[2].id, hops: 3, first: 10 };
    assert_eq!(q.ways(&w.caller, &between).await.unwrap(), []);
    assert_eq!(q.shared(&w.caller, p[0].id, p[2].id, 10).await.unwrap(), []);

    ended.status = FactStatus::Active;
    know(&w, session, &[], &[&ended]).await;
    answering.settle(&w).await;
    assert_eq!(found(&q.around(&w.caller, &around(&p[0], 2, 10)).await.unwrap()), [(p[1].id, 1), (p[2].id, 2)]);
}

pub(super) async fn neighbours_can_be_filtered_by_relation(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "Anna Bob Cleo Dan").await;
    // HATES is not in the ontology.
    let facts = [fact(&p[0], "KNOWS", &p[1]), fact(&p[0], "LIKES", &p[2]), fact(&p[0], "HATES", &p[3])];
    know(&w, session, &[], &facts.iter().collect::<Vec<_>>()).await;
    answering.settle(&w).await;
    let over =
        |relations: &[&str]| NeighbourQuery { relations: relations.iter().map(|r| (*r).to_owned()).collect(), ..around(&p[0], 1, 10) };
    let q = answering.queries();
    for (relations, expected) in [
        (&["KNOWS"][..], vec![p[1].id]),
        (&["LIKES", "KNOWS"], vec![p[1].id, p[2].id]),
        (&["HATES"], vec![p[3].id]),
        (&["FACT"], vec![]),
        (&["knows"], vec![]),
        (&["NOTHING"], vec![]),
        (&[], ids(&p[1..])),
    ] {
        let mut got: Vec<_> = q.around(&w.caller, &over(relations)).await.unwrap().iter().map(|n| n.entity).collect();
        got.sort();
        assert_eq!(got, expected, "{relations:?}");
    }
}

pub(super) async fn paths_are_sorted_by_length_and_visit_entities_once(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "Anna Bob Cleo Dan").await;
    let direct = strong(&p[1], "KNOWS", &p[0], 1.0);
    let (a, b) = (strong(&p[0], "LIKES", &p[2], 5.0), strong(&p[1], "LIKES", &p[2], 4.0));
    let (c, d) = (strong(&p[2], "KNOWS", &p[3], 3.0), strong(&p[3], "KNOWS", &p[1], 9.0));
    know(&w, session, &[], &[&direct, &a, &b, &c, &d]).await;
    answering.settle(&w).await;
    let q = answering.queries();
    let ways = q.ways(&w.caller, &PathQuery { from: p[0].id, to: p[1].id, hops: 3, first: 10 }).await.unwrap();
    let lines: Vec<_> = ways.iter().map(|w| (w.facts.clone(), w.weight)).collect();
    assert_eq!(lines, [(vec![direct.id], 1.0), (vec![a.id, b.id], 4.0), (vec![a.id, c.id, d.id], 3.0)]);
    assert_eq!(ways[2].entities, [p[0].id, p[2].id, p[3].id, p[1].id]);
    for (hops, first, expected) in [(2, 10, 2), (1, 10, 1), (3, 2, 2), (3, 0, 0)] {
        let fewer = q.ways(&w.caller, &PathQuery { from: p[0].id, to: p[1].id, hops, first }).await.unwrap();
        assert_eq!(fewer, ways[..expected]);
    }
    let backwards = q.ways(&w.caller, &PathQuery { from: p[1].id, to: p[0].id, hops: 2, first: 10 }).await.unwrap();
    assert_eq!(backwards[1].facts, [b.id, a.id]);
    assert_eq!(q.ways(&w.caller, &PathQuery { from: p[0].id, to: p[0].id, hops: 3, first: 10 }).await.unwrap(), []);
}

pub(super) async fn common_neighbours_are_weighed_by_weaker_fact(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "Anna Bob Hiking Chess Tea").await;
    let facts = [
        strong(&p[0], "LIKES", &p[2], 9.0),
        strong(&p[1], "LIKES", &p[2], 1.0),
        strong(&p[0], "LIKES", &p[3], 2.0),
        strong(&p[3], "PART_OF", &p[1], 3.0),
        strong(&p[0], "LIKES", &p[4], 9.0),
        strong(&p[0], "KNOWS", &p[1], 9.0),
    ];
    know(&w, session, &[], &facts.iter().collect::<Vec<_>>()).await;
    answering.settle(&w).await;
    let q = answering.queries();
    let shared = q.shared(&w.caller, p[0].id, p[1].id, 10).await.unwrap();
    let lines: Vec<_> = shared.iter().map(|s| (s.entity, s.facts, s.weight)).collect();
    assert_eq!(lines, [(p[3].id, [facts[2].id, facts[3].id], 2.0), (p[2].id, [facts[0].id, facts[1].id], 1.0)]);
    assert_eq!(q.shared(&w.caller, p[0].id, p[1].id, 1).await.unwrap(), shared[..1]);
    assert_eq!(q.shared(&w.caller, p[0].id, p[0].id, 10).await.unwrap(), []);
}

pub(super) async fn graph_queries_never_cross_users(folder: &Folder, answering: &dyn Answering) {
    let (mine, other) = (folder.world(), folder.world());
    let (session, p) = people(&other, "Anna Bob Cleo").await;
    know(&other, session, &[], &[&fact(&p[0], "KNOWS", &p[1]), &fact(&p[2], "KNOWS", &p[1])]).await;
    // This user has the same entities under the same ids, without facts.
    let own = mine.session().await;
    know(&mine, own, &p.iter().collect::<Vec<_>>(), &[]).await;
    answering.settle(&other).await;
    answering.settle(&mine).await;
    let q = answering.queries();
    assert_eq!(q.around(&other.caller, &around(&p[0], 3, 10)).await.unwrap().len(), 2);
    assert_eq!(q.around(&mine.caller, &around(&p[0], 3, 10)).await.unwrap(), []);
    let between = PathQuery { from: p[0].id, to: p[2].id, hops: 3, first: 10 };
    assert_eq!(q.ways(&mine.caller, &between).await.unwrap(), []);
    assert_eq!(q.shared(&mine.caller, p[0].id, p[2].id, 10).await.unwrap(), []);
}

pub(super) async fn unknown_entities_have_no_connections(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (stranger, other) = (entity("Nobody"), entity("Nothing"));
    answering.settle(&w).await;
    let q = answering.queries();
    assert_eq!(q.around(&w.caller, &around(&stranger, 3, 10)).await.unwrap(), []);
    let between = PathQuery { from: stranger.id, to: other.id, hops: 3, first: 10 };
    assert_eq!(q.ways(&w.caller, &between).await.unwrap(), []);
    assert_eq!(q.shared(&w.caller, stranger.id, other.id, 10).await.unwrap(), []);
}

/// Compares with the store; the store's unit tests compare its paths with an exhaustive search.
pub(super) async fn random_graphs_give_same_results_as_store(folder: &Folder, answering: &dyn Answering) {
    let w = folder.world();
    let (session, p) = people(&w, "A B C D E F G H").await;
    // A fixed seed, so that a failure can be reproduced.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..3 {
        let mut facts = Vec::new();
        for relation in ["KNOWS", "LIKES", "HATES"] {
            let mut pairs = std::collections::BTreeSet::new();
            for _ in 0..6 {
                pairs.insert((next(p.len()), next(p.len())));
            }
            for (s, o) in pairs {
                let mut f = strong(&p[s], relation, &p[o], [0.5, 1.0, 1.0, 2.5][next(4)]);
                f.status = [FactStatus::Active, FactStatus::Active, FactStatus::Ended][next(3)];
                facts.push(f);
            }
        }
        let known = w.store.facts_of_entities(&w.caller, &ids(&p), 1_000).await.unwrap();
        let plan = recall_ports::KnowledgeCommit { deleted_facts: known.iter().map(|f| f.id).collect(), facts, ..w.plan(session).await };
        w.commit(plan).await;
        answering.settle(&w).await;
        let (q, truth) = (answering.queries(), folder.graph());
        for (i, from) in p.iter().enumerate() {
            for hops in 1..=3 {
                let asked = around(from, hops, [3, 100][i % 2]);
                let (got, expected) = (q.around(&w.caller, &asked).await.unwrap(), truth.around(&w.caller, &asked).await.unwrap());
                assert_eq!(got, expected, "{asked:?}");
            }
            for to in &p {
                let asked = PathQuery { from: from.id, to: to.id, hops: 3, first: [1, 4, 1_000][i % 3] };
                let (got, expected) = (q.ways(&w.caller, &asked).await.unwrap(), truth.ways(&w.caller, &asked).await.unwrap());
                assert_eq!(got, expected, "{asked:?}");
                let (got, expected) =
                    (q.shared(&w.caller, from.id, to.id, 5).await.unwrap(), truth.shared(&w.caller, from.id, to.id, 5).await.unwrap());
                assert_eq!(got, expected);
            }
        }
    }
}

mod stores {
    use std::sync::Arc;

    use recall_ports::GraphQueries;

    use super::super::{Answering, Folder, World};

    struct Store(Arc<dyn GraphQueries>);

    #[async_trait::async_trait]
    impl Answering for Store {
        fn queries(&self) -> Arc<dyn GraphQueries> {
            self.0.clone()
        }
        async fn settle(&self, _world: &World) {}
    }

    async fn answering(folder: &Folder) -> Option<Box<dyn Answering>> {
        Some(Box::new(Store(folder.graph())))
    }

    mod sqlite {
        use super::super::super::Folder;

        async fn folder() -> Option<Folder> {
            Some(Folder::new().await)
        }
        super::super::graph_contract!(folder, super::answering);
    }

    mod postgres {
        super::super::graph_contract!(super::Folder::postgres, super::answering);
    }
}
