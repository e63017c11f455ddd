//! Builds the use cases on top of the adapters that the configuration names.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use signaling::{Hub, HubConfig};
use tokio::sync::Notify;

use super::{
    adapters::{Embedders, OpenStore, built_in_extractor, document_parser, embedders, ontology, passages, store, verifier},
    models, parse,
    reembed::{Pace, Reembedder},
};
use crate::config::{Citations, Config, Originals};
use crate::originals::OriginalsFolder;
use crate::spool::FolderSpool;
use crate::system::{RandomIds, SystemClock};
use recall_answering::{ExtractiveAnswerer, Networks};
use recall_api::event_log::{EventHub, HubAnnouncer, LogSource};
use recall_api::{Admission, Check, Documents, OpenAi, OpenAiSettings};
use recall_comparing::AlignmentComparer;
use recall_facts::SessionLimits;
use recall_ports::{Allowances, Answerer, Clock, Comparer, FileFolder, Store};
use recall_retrieval::{RecallIndex, RecallIndexOptions};
use recall_usecases::{DocumentSettings, OriginalSettings, Parts, UseCases};

/// Names this process in the audit log: `HOSTNAME` or `recall`, and the port.
pub(super) fn instance_name(address: SocketAddr) -> String {
    let machine = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty() && name.len() <= 64);
    format!("{}:{}", machine.as_deref().unwrap_or("recall"), address.port())
}

/// The use cases and everything they need, without the HTTP layer.
pub(super) struct Services {
    pub(super) store: Arc<dyn Store>,
    pub(super) usecases: UseCases,
    pub(super) hub: Arc<EventHub>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) wake: Arc<Notify>,
    pub(super) graph: super::graph::GraphParts,
    pub(super) reembedder: Reembedder,
    /// What the OpenAI protocol needs.
    pub(super) openai: OpenAi,
    /// Readiness checks of the services other than the store.
    pub(super) checks: Vec<Arc<dyn Check>>,
    /// The limits that several servers share through one store.
    pub(super) allowances: Option<Arc<dyn Allowances>>,
}

/// Loads the rules for GraphQL operations: introspection and persisted documents.
pub(super) fn admission(config: &Config) -> anyhow::Result<Admission> {
    let c = &config.graphql;
    let named = |path: &Path| format!("graphql.documents (RECALL_GRAPHQL_DOCUMENTS): {}", path.display());
    let list = c.documents.as_deref().map(|path| std::fs::read_to_string(path).with_context(|| named(path))).transpose()?;
    let documents = Documents::of(list.as_deref(), c.documents_only);
    let documents = documents.with_context(|| named(c.documents.as_deref().unwrap_or(Path::new(""))))?;
    Ok(Admission { introspection: c.introspection, documents: Arc::new(documents) })
}

/// The settings of the OpenAI protocol.
fn openai_settings(config: &Config) -> OpenAiSettings {
    let c = &config.frontend;
    let citations = match c.citations {
        Citations::None => recall_api::Citations::None,
        Citations::Text => recall_api::Citations::Text,
        Citations::Openwebui => recall_api::Citations::OpenWebUi,
    };
    const MEGABYTE: usize = 1024 * 1024;
    OpenAiSettings {
        citations,
        context_tokens: c.context_tokens,
        task_prompts: c.task_prompts.clone(),
        timeout: c.timeout(),
        body_bytes: c.body_megabytes.saturating_mul(MEGABYTE),
        bodies_bytes: c.bodies_megabytes.saturating_mul(MEGABYTE),
    }
}

/// How often the hub polls the log of a stream if other servers write to the same store. A lost notification delays events by at most
/// this.
const SHARED_STORE_POLL: Duration = Duration::from_secs(1);

/// Opens all adapters and builds the use cases.
pub(super) async fn services(config: &Config) -> anyhow::Result<Services> {
    let ontology = ontology(config)?;
    let OpenStore { store, shared } = store(config, config.storage.migrate).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let Embedders { embedder, local, check } = embedders(config).await?;
    let mut checks: Vec<Arc<dyn Check>> = check.into_iter().collect();
    let passages = passages(config)?;
    let mut extractor = built_in_extractor(config, ontology.clone())?;
    let mut comparer: Arc<dyn Comparer> = Arc::new(AlignmentComparer::new(local.clone()));
    let networks = Networks { passages: passages.clone(), verifier: verifier(config)? };
    let mut answerer: Arc<dyn Answerer> = Arc::new(ExtractiveAnswerer::new(&ontology, local, networks));
    let mut openai = OpenAi { upstream: None, answerer: answerer.clone(), extractor: extractor.clone(), settings: openai_settings(config) };
    if let Some(client) = models::client(config)? {
        models::probe_in_background(client.clone());
        checks.push(Arc::new(models::ServerCheck { name: "model", client: client.clone() }));
        let budget = models::budget(config, clock.clone(), store.clone());
        extractor = models::extractor(config, extractor, client.clone(), ontology.clone(), budget.clone());
        openai.upstream = Some(models::upstream(config, client.clone(), budget.clone()));
        comparer = models::comparer(config, comparer, client.clone(), budget.clone());
        answerer = models::answerer(config, answerer, client, ontology.clone(), budget);
    }
    let options = RecallIndexOptions {
        budget_bytes: usize::try_from(config.retrieval.index_megabytes).unwrap_or(usize::MAX).saturating_mul(1024 * 1024),
        ..RecallIndexOptions::default()
    };
    let index = Arc::new(RecallIndex::new(store.clone(), embedder.as_ref(), options));
    let mut hub_config = HubConfig::default();
    if shared.is_some() {
        hub_config.poll = SHARED_STORE_POLL;
    }
    let hub = Hub::new(LogSource::new(store.clone()), hub_config);
    let announcer = Arc::new(HubAnnouncer(hub.clone()));
    store.report_to(Arc::downgrade(&announcer) as _);
    let wake = Arc::new(Notify::new());
    let graph = super::graph::parts(config, &ontology, &store)?;
    checks.extend(graph.checks());
    if let Some(shared) = &shared {
        shared.follow(announcer.clone(), wake.clone());
    }
    let allowances = shared.map(|shared| -> Arc<dyn Allowances> { shared });
    // Session limits protect users from each other. With the static token alone there is only one user.
    let has_several_users = !config.auth.issuers.is_empty() || config.anonymous.enabled || config.frontend.key.is_some();
    let some = |count: u32| (count > 0 && has_several_users).then_some(count);
    let session_limits = SessionLimits { entities: some(config.limits.entities_per_session), facts: some(config.limits.facts_per_session) };
    let reembedder = Reembedder::new(store.clone(), embedder.clone(), clock.clone(), Pace::from_config(config));
    let usecases = UseCases::new(Parts {
        store: store.clone(),
        index,
        embedder,
        passages,
        extractor,
        answerer,
        comparer,
        announcer,
        ontology,
        clock: clock.clone(),
        ids: Arc::new(RandomIds::default()),
        wake: wake.clone(),
        session_limits,
        never_stored: Arc::new(config.privacy.sensitive_patterns()?),
        retention: config.retention.times(),
        documents: Some(document_settings(config)?),
    });
    Ok(Services { store, usecases, hub, clock, wake, graph, reembedder, openai, checks, allowances })
}

/// The folder of documents' files. It need not exist.
pub(super) fn originals_folder(config: &Config) -> Arc<dyn FileFolder> {
    Arc::new(OriginalsFolder::new(config.originals_folder()))
}

/// Documents wait for the parser in a folder beside the data.
fn document_settings(config: &Config) -> anyhow::Result<DocumentSettings> {
    let in_folder = config.documents.originals == Originals::Folder;
    if in_folder {
        let path = config.originals_folder();
        let prepared = OriginalsFolder::new(path.clone()).prepare();
        prepared.with_context(|| format!("documents.folder (RECALL_DOCUMENTS_FOLDER): {} cannot be used", path.display()))?;
    }
    Ok(DocumentSettings {
        parser: document_parser(config)?,
        spool: Arc::new(FolderSpool::new(config.storage.data.join("spool"))),
        originals: OriginalSettings { folder: originals_folder(config), in_folder },
        max_bytes: config.documents.max_bytes,
        chunking: parse::chunking(config),
    })
}
