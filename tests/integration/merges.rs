//! Merging entities and undoing merges on the store.

use std::{collections::BTreeMap, sync::Arc};

use proptest::{prelude::*, test_runner::TestRunner};
use recall::system::{RandomIds, SystemClock};
use recall_domain::{Caller, Entity, EntityId, EntityKey, Evidence, Fact, FactId, Ontology, Page, SessionId, UserId, ViewerRole};
use recall_facts::{edit, merge, unmerge};
use recall_ports::{Clock, EntityFilter, FactFilter, Ids, KnowledgeCommit};
use recall_understand::default_ontology;

use crate::entities::LearningFixture;

const ALL: Page = Page { first: 1000, after: None };
const MANY: u32 = 1000;

struct World {
    house: Arc<LearningFixture>,
    caller: Caller,
    session: SessionId,
    ontology: Ontology,
    ids: RandomIds,
}

/// Everything that a merge may change, without timestamps.
#[derive(Debug, PartialEq, Clone)]
struct MemoryState {
    entities: BTreeMap<EntityId, Entity>,
    keys: Vec<(EntityKey, EntityId)>,
    hints: Vec<(String, EntityId)>,
    facts: BTreeMap<FactId, Fact>,
    evidence: Vec<String>,
    mentions: Vec<String>,
}

impl World {
    /// Creates a new user.
    async fn new(house: &Arc<LearningFixture>) -> Self {
        let (house, ids) = (house.clone(), RandomIds::default());
        let caller = Caller::verified(UserId(ids.fresh()), ViewerRole::User);
        let session = SessionId(ids.fresh());
        house.store.create_session(&caller, session, None, "epoch".into(), SystemClock.now()).await.unwrap();
        Self { house, caller, session, ontology: Ontology::parse(default_ontology()).unwrap(), ids }
    }

    async fn tell(&self, text: &str) {
        self.house.say(&self.caller, self.session, None, text.into(), &[], SystemClock.now()).await;
    }

    async fn entities(&self) -> Vec<Entity> {
        let listed = self.house.store.list_entities(&self.caller, &EntityFilter::default(), &ALL).await.unwrap();
        let mut entities: Vec<Entity> = listed.items.into_iter().map(|(_, e)| e).collect();
        entities.sort_by_key(|e| e.id);
        entities
    }

    async fn entity(&self, name: &str) -> Entity {
        let all = self.entities().await;
        all.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("no {name} in {all:?}")).clone()
    }

    async fn facts(&self, of: &[EntityId]) -> (Vec<Fact>, Vec<Evidence>, Vec<Entity>) {
        let store = &self.house.store;
        let facts = store.facts_of_entities(&self.caller, of, MANY).await.unwrap();
        let ids: Vec<FactId> = facts.iter().map(|f| f.id).collect();
        let sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        let evidence = store.evidence_of(&self.caller, &ids, MANY).await.unwrap();
        (facts, evidence, store.entities_by_id(&self.caller, &sides).await.unwrap())
    }

    async fn occasion(&self) -> edit::EditContext<'_> {
        let version = self.house.store.knowledge_version(&self.caller).await.unwrap();
        edit::EditContext { version, session: self.session, ontology: &self.ontology, now: SystemClock.now() }
    }

    async fn commit(&self, plan: &KnowledgeCommit) {
        self.house.store.commit(&self.caller, plan).await.unwrap();
    }

    async fn merge(&self, into: &Entity, from: &Entity) -> KnowledgeCommit {
        let (facts, evidence, sides) = self.facts(&[into.id, from.id]).await;
        let m = merge::Merge { into, from, facts: &facts, evidence: &evidence, sides: &sides };
        let plan = merge::merge(&self.occasion().await, &m, &mut || self.ids.fresh());
        self.commit(&plan).await;
        plan
    }

    async fn unmerge(&self, gone: EntityId) -> KnowledgeCommit {
        let store = &self.house.store;
        let record = store.merge_record(&self.caller, gone).await.unwrap().expect("recorded");
        let survivor = store.entities_by_id(&self.caller, &[gone]).await.unwrap().remove(0);
        assert_eq!(survivor.id, record.holder);
        let (facts, evidence, mut sides) = self.facts(&[survivor.id]).await;
        let recorded: Vec<EntityId> = record.facts.iter().flat_map(|f| [f.subject, f.object]).collect();
        sides.extend(store.entities_by_id(&self.caller, &recorded).await.unwrap());
        let mentions = store.mentions_of(&self.caller, survivor.id).await.unwrap();
        let state = unmerge::EntityState { entity: survivor, facts, evidence, mentions, sides };
        let undo = unmerge::Undo { record: &record, state: &state };
        let plan = unmerge::unmerge(&self.occasion().await, &undo, &mut || self.ids.fresh());
        self.commit(&plan).await;
        plan
    }

    async fn memory_state(&self) -> MemoryState {
        let store = &self.house.store;
        let epoch = chrono::DateTime::UNIX_EPOCH;
        let entities: BTreeMap<EntityId, Entity> =
            self.entities().await.into_iter().map(|e| (e.id, Entity { updated_at: epoch, ..e })).collect();
        let mut words: Vec<String> = Vec::new();
        for e in entities.values() {
            for name in std::iter::once(&e.name).chain(&e.aliases) {
                words.push(name.clone());
                words.extend(name.split(' ').map(str::to_lowercase));
            }
        }
        let asked: Vec<EntityKey> = words.iter().filter_map(|n| EntityKey::of(n)).collect();
        let mut keys: Vec<_> = store.entities_by_key(&self.caller, &asked).await.unwrap().into_iter().map(|(k, e)| (k, e.id)).collect();
        keys.sort();
        let mut hints: Vec<_> =
            store.entities_by_hint(&self.caller, &words, MANY).await.unwrap().into_iter().map(|(h, e)| (h, e.id)).collect();
        hints.sort();
        let facts = store.list_facts(&self.caller, &FactFilter::default(), &ALL).await.unwrap().items.into_iter().map(|(_, f)| (f.id, f));
        let facts: BTreeMap<FactId, Fact> = facts.collect();
        let ids: Vec<FactId> = facts.keys().copied().collect();
        let mut evidence: Vec<String> = store
            .evidence_of(&self.caller, &ids, MANY)
            .await
            .unwrap()
            .into_iter()
            .map(|e| format!("{e:?} {}", e.excerpt.as_str()))
            .collect();
        evidence.sort();
        let mut mentions = Vec::new();
        for e in entities.keys() {
            mentions.extend(store.mentions_of(&self.caller, *e).await.unwrap().into_iter().map(|m| format!("{e} {m:?}")));
        }
        MemoryState { entities, keys, hints, facts, evidence, mentions }
    }

    /// Returns facts as "subject relation object status support/opposition".
    async fn told(&self) -> Vec<String> {
        let p = self.memory_state().await;
        let name = |id: &EntityId| p.entities[id].name.clone();
        let mut told: Vec<String> = p
            .facts
            .values()
            .map(|f| format!("{} {} {} {:?} {:.2}/{:.2}", name(&f.subject), f.relation, name(&f.object), f.status, f.support, f.opposition))
            .collect();
        told.sort();
        told
    }
}

async fn all_stores() -> Vec<Arc<LearningFixture>> {
    LearningFixture::all().await.into_iter().map(Arc::new).collect()
}

impl MemoryState {
    /// Returns the differing lines of two states.
    fn differences(&self, other: &Self) -> Vec<String> {
        let lines = |p: &Self| {
            let mut lines: Vec<String> = p.entities.values().map(|e| format!("{e:?}")).collect();
            lines.extend(p.keys.iter().map(|k| format!("{k:?}")));
            lines.extend(p.hints.iter().map(|k| format!("{k:?}")));
            lines.extend(p.facts.values().map(|f| format!("{f:?}")));
            lines.extend(p.evidence.iter().chain(&p.mentions).cloned());
            lines
        };
        let (a, b) = (lines(self), lines(other));
        let gone = a.iter().filter(|l| !b.contains(l)).map(|l| format!("- {l}"));
        gone.chain(b.iter().filter(|l| !a.contains(l)).map(|l| format!("+ {l}"))).collect()
    }
}

fn kinds(plan: &KnowledgeCommit) -> Vec<String> {
    let data = |e: &recall_domain::EventDraft| serde_json::to_value(&e.body).unwrap();
    plan.events.iter().map(data).map(|v| format!("{} {}", v["type"].as_str().unwrap_or("?"), v["change"].as_str().unwrap_or("?"))).collect()
}

const SUBJECTS: [&str; 6] = ["I", "John", "Johnny", "Anna Schmidt", "Mary", "My sister Mia"];
const CLAIMS: [&str; 8] =
    ["live in Ghent", "live in Gent", "like tea", "don't like tea", "hate tea", "like Mary", "know Johnny", "no longer like tea"];

fn sentence(subject: usize, claim: usize) -> String {
    let (subject, claim) = (SUBJECTS[subject], CLAIMS[claim]);
    if subject == "I" {
        return format!("I {claim}.");
    }
    let third = match claim.split_once(' ') {
        Some(("don't", rest)) => format!("doesn't {rest}"),
        Some(("no", rest)) => format!("no {}", rest.replace("like", "likes")),
        Some((verb, rest)) => format!("{verb}s {rest}"),
        None => claim.to_owned(),
    };
    format!("{subject} {third}.")
}

#[test]
fn merge_undone_at_once_restores_everything() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let all_stores = runtime.block_on(all_stores());
    let mut runner = TestRunner::new(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() });
    let history = prop::collection::vec((0..SUBJECTS.len(), 0..CLAIMS.len()), 2..14);
    runner
        .run(&(history, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), |(said, a, b, twice)| {
            runtime.block_on(async {
                for house in &all_stores {
                    let w = World::new(house).await;
                    for (subject, claim) in &said {
                        w.tell(&sentence(*subject, *claim)).await;
                    }
                    let entities = w.entities().await;
                    let (into, from) = (&entities[a.index(entities.len())], &entities[b.index(entities.len())]);
                    if into.id == from.id {
                        continue;
                    }
                    let before = w.memory_state().await;
                    w.merge(into, from).await;
                    // A second merge on top that is undone first changes nothing either.
                    let third = w.entities().await.into_iter().find(|e| e.id != into.id);
                    if let (true, Some(third)) = (twice, third) {
                        let between = w.memory_state().await;
                        let survivor = w.house.store.entities_by_id(&w.caller, &[into.id]).await.unwrap().remove(0);
                        w.merge(&third, &survivor).await;
                        w.unmerge(survivor.id).await;
                        prop_assert_eq!(between.differences(&w.memory_state().await), Vec::<String>::new());
                    }
                    w.unmerge(from.id).await;
                    prop_assert_eq!(before.differences(&w.memory_state().await), Vec::<String>::new());
                }
                Ok(())
            })
        })
        .unwrap();
}

#[test]
fn merges_undone_in_any_order_lose_no_evidence() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let all_stores = runtime.block_on(all_stores());
    let mut runner = TestRunner::new(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() });
    let said = || prop::collection::vec((0..SUBJECTS.len(), 0..CLAIMS.len()), 2..8);
    runner
        .run(&(said(), said(), any::<bool>()), |(first, then, in_order)| {
            runtime.block_on(async {
                for house in &all_stores {
                    let w = World::new(house).await;
                    for (subject, claim) in &first {
                        w.tell(&sentence(*subject, *claim)).await;
                    }
                    let entities = w.entities().await;
                    let [a, b, c, ..] = entities.as_slice() else { continue };
                    w.merge(a, b).await;
                    w.tell(&sentence(then[0].0, then[0].1)).await;
                    let stayed = w.house.store.entities_by_id(&w.caller, &[a.id]).await.unwrap().remove(0);
                    w.merge(c, &stayed).await;
                    for (subject, claim) in &then[1..] {
                        w.tell(&sentence(*subject, *claim)).await;
                    }
                    let mentions = |p: &MemoryState| p.mentions.len();
                    let own = |p: &MemoryState| p.evidence.iter().filter(|e| e.contains("span: Some")).count();
                    let before = w.memory_state().await;
                    for gone in if in_order { [a.id, b.id] } else { [b.id, a.id] } {
                        w.unmerge(gone).await;
                    }
                    let after = w.memory_state().await;
                    prop_assert_eq!(mentions(&before), mentions(&after));
                    prop_assert!(own(&after) >= own(&before), "{:?}\n{:?}", before.evidence, after.evidence);
                    for f in after.facts.values() {
                        prop_assert!((f.subject != f.object || f.value.is_some()) && f.support >= 0.0 && f.opposition >= 0.0);
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}

#[tokio::test]
async fn undone_merge_assigns_later_facts_by_name() {
    for house in all_stores().await {
        assert_later_facts_follow_names(World::new(&house).await).await;
    }
}

async fn assert_later_facts_follow_names(w: World) {
    for text in ["Hannah likes tea.", "Susanna lives in Ghent.", "Susanna likes tea."] {
        w.tell(text).await;
    }
    let (hannah, susanna) = (w.entity("Hannah").await, w.entity("Susanna").await);
    let plan = w.merge(&hannah, &susanna).await;
    assert_eq!(
        kinds(&plan),
        ["entity_update merged", "fact_update revised", "fact_update revised", "fact_update removed"],
        "a fact changed without an event"
    );
    assert_eq!(w.told().await, ["Hannah LIKES tea Active 2.00/0.00", "Hannah LIVES_IN Ghent Active 0.90/0.00"]);
    for text in ["Hannah likes coffee.", "Susanna likes wine.", "Susanna lives in Ghent.", "Hannah lives in Ghent."] {
        w.tell(text).await;
    }
    let plan = w.unmerge(susanna.id).await;
    assert_eq!(&kinds(&plan)[..2], ["entity_update unmerged", "entity_update restored"]);
    assert_eq!(
        w.told().await,
        [
            "Hannah LIKES coffee Active 1.00/0.00",
            "Hannah LIKES tea Active 1.00/0.00",
            "Hannah LIVES_IN Ghent Active 0.90/0.00",
            "Susanna LIKES tea Active 1.00/0.00",
            "Susanna LIKES wine Active 1.00/0.00",
            "Susanna LIVES_IN Ghent Active 1.80/0.00",
        ]
    );
    let (hannah, susanna) = (w.entity("Hannah").await, w.entity("Susanna").await);
    assert_eq!((hannah.mention_count, susanna.mention_count), (3, 4));
    assert!(hannah.aliases.is_empty() && susanna.aliases.is_empty());
    // Each name resolves to its own entity again.
    w.tell("Susanna likes beer.").await;
    assert!(w.told().await.contains(&"Susanna LIKES beer Active 1.00/0.00".to_owned()));
}

#[tokio::test]
async fn fact_retracted_under_one_name_holds_after_merge() {
    for house in all_stores().await {
        assert_retracted_duplicate_hides_nothing(World::new(&house).await).await;
    }
}

async fn assert_retracted_duplicate_hides_nothing(w: World) {
    for text in ["Hannah likes tea.", "Susanna likes tea.", "Susanna likes wine."] {
        w.tell(text).await;
    }
    let (hannah, susanna) = (w.entity("Hannah").await, w.entity("Susanna").await);
    let (facts, evidence, sides) = w.facts(&[susanna.id]).await;
    for fact in &facts {
        let retraction = edit::EditedFact { fact, rivals: &[], evidence: &evidence, sides: &sides };
        let plan = edit::retract(&w.occasion().await, &retraction, &mut || w.ids.fresh());
        w.commit(&plan).await;
    }
    w.merge(&hannah, &susanna).await;
    assert_eq!(w.told().await, ["Hannah LIKES tea Active 2.00/0.00", "Hannah LIKES wine Retracted 1.00/0.00"]);
}

#[tokio::test]
async fn deleted_session_is_removed_from_merge_record() {
    for house in all_stores().await {
        assert_deletion_removes_merge_record(World::new(&house).await).await;
    }
}

async fn assert_deletion_removes_merge_record(w: World) {
    w.tell("Hannah likes tea.").await;
    let other = SessionId(w.ids.fresh());
    w.house.store.create_session(&w.caller, other, None, "epoch".into(), SystemClock.now()).await.unwrap();
    w.house.say(&w.caller, other, None, "Susanna likes gin.".into(), &[], SystemClock.now()).await;
    let susanna = w.entity("Susanna").await;
    w.merge(&w.entity("Hannah").await, &susanna).await;
    w.house.store.delete_session(&w.caller, other, SystemClock.now(), &|_, left| left.first().map(|_| unreachable!())).await.unwrap();
    assert_eq!(w.house.store.merge_record(&w.caller, susanna.id).await.unwrap(), None);
    let _ = w.house.store.log_state(&w.caller, w.session).await.unwrap();
}
