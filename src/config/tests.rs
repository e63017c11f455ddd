//! Tests that every setting can be set from every source, and that every error names its key.

use super::*;

fn load(file: &str, env: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Result<Config, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recall.toml");
    std::fs::write(&path, file).unwrap();
    let flags = Flags { values: flags.iter().map(|(k, v)| (*k, (*v).to_owned())).collect() };
    Config::load(Some(&path), env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())), &flags)
}

fn error(file: &str, env: &[(&str, &str)]) -> String {
    load(file, env, &[]).unwrap_err().to_string()
}

#[test]
fn empty_configuration_has_the_defaults() {
    let c = load("", &[("PATH", "/bin")], &[]).unwrap();
    assert_eq!(c, Config::default());
    assert_eq!(c.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(c.storage.engine(), Engine::Sqlite("recall-data/recall.db".into()));
}

#[test]
fn example_file_contains_the_defaults() {
    let example = include_str!("../../recall.example.toml");
    assert_eq!(load(example, &[], &[]).unwrap(), Config::default());
    // The settings in comments must be valid too.
    let all: String =
        example.lines().map(|l| if l.starts_with("# ") && l.contains(" = ") { &l[2..] } else { l }).collect::<Vec<_>>().join("\n");
    assert_ne!(load(&all, &[], &[]).unwrap(), Config::default());
}

#[test]
fn flags_override_environment_and_environment_overrides_file() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\n[processing]\nworkers = 2\n[stream]\nmax_peers = 7";
    let c = load(file, &[("RECALL_LISTEN", "127.0.0.1:2"), ("RECALL_WORKERS", "3")], &[("server.listen", "127.0.0.1:3")]).unwrap();
    assert_eq!((c.server.listen.port(), c.processing.workers, c.stream.max_peers), (3, 3, 7));
}

#[test]
fn every_variable_sets_an_existing_key() {
    let sample = |key: &str| match key {
        "server.listen" | "stream.udp_listen" => "127.0.0.1:9",
        "server.public_url" => "http://recall.localhost:9000",
        "storage.data" | "understanding.ontology" => "somewhere",
        "storage.database_url" => "sqlite:/tmp/x.db",
        "storage.migrate" => "false",
        "anonymous.enabled" | "storage.pooler" | "storage.require_row_security" | "graphql.documents_only" => "true",
        "graphql.introspection" => "false",
        "graphql.documents" => "documents.json",
        "stream.udp_public_addresses" => "192.0.2.1, 2001:db8::1",
        "webrtc.stun_urls" => "stun:stun.example.org",
        "webrtc.turn_urls" => "turn:turn.example.org, turns:turn.example.org:5349?transport=tcp",
        "webrtc.turn_secret" => "0123456789abcdef",
        "webrtc.turn_ttl_seconds" => "600",
        "neo4j.url" => "bolt://127.0.0.1:7687",
        "neo4j.user" | "neo4j.password" | "neo4j.database" => "memory",
        "auth.issuers" | "auth.audiences" | "auth.introspection_issuer" | "login.issuer" => "https://login.example.org",
        "http.cors_origins" => "http://localhost:3000",
        "http.trusted_proxies" => "10.0.0.0/8, 2001:db8::1",
        "http.tls_certificate" | "http.tls_key" => "other.pem",
        "auth.algorithms" => "ES256",
        "login.scopes" => "openid, email",
        "auth.token" | "frontend.key" | "frontend.user_secret" => "0123456789abcdef0123456789abcdef",
        "frontend.user_header" => "x-user",
        "frontend.unsigned_user" => "true",
        "frontend.citations" => "text",
        "frontend.bodies_megabytes" => "99",
        "frontend.task_prompts" => "### Task:, Do this",
        "understanding.extraction" => "local",
        "understanding.learned" | "documents.encoder" => "false",
        "model.url" | "embeddings.url" => "https://models.example.org/v1",
        "model.key" | "model.name" | "embeddings.key" | "embeddings.model" => "some-word",
        "privacy.never_store" => "card_number, password",
        "privacy.patterns" => "EMP-[0-9]+",
        "documents.originals" => "folder",
        "documents.folder" => "/srv/originals",
        "documents.chunk_chars" => "500",
        "documents.parser_megabytes" => "256",
        "log.filter" => "debug",
        "log.format" => "json",
        _ => "9",
    };
    for v in VARIABLES {
        // Some settings are valid only with a server or a provider.
        let servers = "[model]\nurl = \"http://localhost:1\"\nname = \"a\"\n[embeddings]\nurl = \"http://localhost:2\"\nmodel = \"b\"
            [http]\ntls_certificate = \"a.pem\"\ntls_key = \"a.key\"
            [auth]\nissuers = [\"https://a.example\"]\naudiences = [\"a\"]\nintrospection_client_id = \"a\"\nintrospection_client_secret = \"a\"
            [frontend]\nkey = \"a-key-of-a-front-end-0123456789abcdef\"\nuser_secret = \"a-secret-of-a-front-end-0123456789ab\"
            [login]\nclient_id = \"a\"
            [webrtc]\nturn_urls = [\"turn:a\"]\nturn_secret = \"another-secret-of-turn\"";
        // The issuer for introspection and logins must be one of the issuers.
        let base: &[_] = match v.key {
            "auth.introspection_issuer" | "login.issuer" => &[("RECALL_OIDC_ISSUER", "https://login.example.org")],
            "graphql.documents_only" => &[("RECALL_GRAPHQL_INTROSPECTION", "false")],
            _ => &[],
        };
        let set = load(servers, &[base, &[(v.name, sample(v.key))]].concat(), &[]).unwrap_or_else(|e| panic!("{}: {e}", v.name));
        assert_ne!(set, load(servers, base, &[]).unwrap(), "{}", v.name);
    }
}

#[test]
fn errors_name_the_key() {
    for (file, env, expected) in [
        (
            "[server]\nlisten = \"localhost:9000\"",
            &[][..],
            "server.listen (RECALL_LISTEN): is no IP address with a port; write one such as",
        ),
        ("", &[("RECALL_LISTEN", "9000")][..], "server.listen (RECALL_LISTEN): is no IP address with a port; write one such as"),
        ("", &[("RECALL_WORKERS", "many")][..], "processing.workers (RECALL_WORKERS)"),
        ("", &[("RECALL_WORKERS", "0")][..], "processing.workers (RECALL_WORKERS)"),
        ("", &[("RECALL_LISTEN", "0.0.0.0:8080")][..], "server.listen (RECALL_LISTEN): 0.0.0.0:8080 can be reached from other machines"),
        ("", &[("RECALL_TLS_CERTIFICATE", "a.pem")][..], "http.tls_key (RECALL_TLS_KEY): is needed"),
        ("", &[("RECALL_GRAPHQL_DOCUMENTS_ONLY", "true")][..], "graphql.introspection (RECALL_GRAPHQL_INTROSPECTION): must be false"),
        ("", &[("RECALL_TLS_KEY", "a.key")][..], "http.tls_certificate (RECALL_TLS_CERTIFICATE): is needed"),
        ("", &[("RECALL_DATABASE_URL", "mysql://x")][..], "storage.database_url (RECALL_DATABASE_URL)"),
        ("", &[("RECALL_LISTN", "x")][..], "RECALL_LISTN is not a setting of this version; did you mean RECALL_LISTEN?"),
        ("", &[("RECALL_OIDC_CLIENT_ID", "x")][..], "auth.issuers (RECALL_OIDC_ISSUER): is needed with login.client_id"),
        ("", &[("RECALL_OIDC_CLIENT_SECRET", "x")][..], "login.client_id (RECALL_OIDC_CLIENT_ID): is needed"),
        ("", &[("RECALL_OIDC_CLIENT_SCOPES", "profile")][..], "login.scopes (RECALL_OIDC_CLIENT_SCOPES): must name openid"),
        ("", &[("RECALL_ANONYMOUS", "true")][..], "anonymous.enabled (RECALL_ANONYMOUS): needs a login"),
        ("", &[("RECALL_ANONYMOUS_HOURS", "0")][..], "retention.anonymous_hours (RECALL_ANONYMOUS_HOURS)"),
        ("", &[("RECALL_TURN_URLS", "turn:a")][..], "webrtc.turn_secret (RECALL_TURN_SECRET): is needed"),
        ("", &[("RECALL_TURN_SECRET", "0123456789abcdef")][..], "webrtc.turn_urls (RECALL_TURN_URLS): is needed"),
        ("", &[("RECALL_TURN_URLS", "turn:a"), ("RECALL_TURN_SECRET", "short")][..], "webrtc.turn_secret (RECALL_TURN_SECRET): must have"),
        ("", &[("RECALL_STUN_URLS", "turn:a")][..], "webrtc.stun_urls (RECALL_STUN_URLS): turn:a must be"),
        ("", &[("RECALL_STUN_URLS", "stun:a>; x")][..], "webrtc.stun_urls (RECALL_STUN_URLS)"),
        ("", &[("RECALL_TURN_TTL_SECONDS", "5")][..], "webrtc.turn_ttl_seconds (RECALL_TURN_TTL_SECONDS)"),
        ("", &[("RECALL_LOGIN_HOURS", "0")][..], "login.hours (RECALL_LOGIN_HOURS)"),
        (
            "[auth]\nissuers = [\"https://a.example\", \"https://b.example\"]\naudiences = [\"x\"]",
            &[("RECALL_OIDC_CLIENT_ID", "x")][..],
            "login.issuer (RECALL_OIDC_CLIENT_ISSUER): is needed",
        ),
        (
            "[auth]\nissuers = [\"https://a.example\"]\naudiences = [\"x\"]\n[server]\npublic_url = \"http://memory.example.org\"",
            &[("RECALL_OIDC_CLIENT_ID", "x")][..],
            "server.public_url (RECALL_PUBLIC_URL): must begin with https://",
        ),
        (
            "",
            &[("RECALL_OIDC_ISSUER", "http://login.example.org")][..],
            "auth.issuers (RECALL_OIDC_ISSUER): http://login.example.org must be",
        ),
        ("", &[("RECALL_OIDC_ISSUER", "https://login.example.org")][..], "auth.audiences (RECALL_OIDC_AUDIENCE): is needed"),
        ("", &[("RECALL_OIDC_AUDIENCE", "x")][..], "auth.issuers (RECALL_OIDC_ISSUER): is needed"),
        ("", &[("RECALL_OIDC_ALGORITHMS", "RS256,HS256")][..], "auth.algorithms (RECALL_OIDC_ALGORITHMS): HS256 is not one of"),
        ("", &[("RECALL_OIDC_ALGORITHMS", "none")][..], "auth.algorithms"),
        ("", &[("RECALL_OIDC_TOKEN_TYPES", ",")][..], "auth.token_types"),
        (
            "",
            &[("RECALL_OIDC_INTROSPECTION_CLIENT_ID", "x")][..],
            "auth.introspection_client_secret (RECALL_OIDC_INTROSPECTION_CLIENT_SECRET)",
        ),
        ("", &[("RECALL_OIDC_INTROSPECTION_CLIENT_SECRET", "x")][..], "auth.introspection_client_id"),
        (
            "[auth]\nissuers = [\"https://a.example\", \"https://b.example\"]\naudiences = [\"x\"]\nintrospection_client_id = \"x\"",
            &[("RECALL_OIDC_INTROSPECTION_CLIENT_SECRET", "x")][..],
            "auth.introspection_issuer (RECALL_OIDC_INTROSPECTION_ISSUER): is needed",
        ),
        ("", &[("RECALL_TOKEN", "short")][..], "auth.token (RECALL_TOKEN): must have at least 32"),
        ("", &[("RECALL_TOKEN", "0123456789abcdef 0123456789abcdef")][..], "auth.token (RECALL_TOKEN): may have"),
        ("", &[("RECALL_FRONTEND_KEY", "short")][..], "frontend.key (RECALL_FRONTEND_KEY): must have at least 32"),
        (
            "",
            &[("RECALL_FRONTEND_KEY", "0123456789abcdef0123456789abcdef")][..],
            "frontend.user_secret (RECALL_FRONTEND_USER_SECRET): is needed",
        ),
        ("", &[("RECALL_FRONTEND_UNSIGNED_USER", "true")][..], "frontend.key (RECALL_FRONTEND_KEY): is needed"),
        ("", &[("RECALL_FRONTEND_USER_HEADER", "a b")][..], "frontend.user_header (RECALL_FRONTEND_USER_HEADER)"),
        ("", &[("RECALL_FRONTEND_CITATIONS", "html")][..], "frontend.citations (RECALL_FRONTEND_CITATIONS)"),
        ("", &[("RECALL_FRONTEND_CONCURRENCY", "0")][..], "frontend.concurrency (RECALL_FRONTEND_CONCURRENCY)"),
        ("[server]\nlissen = 1", &[][..], "server.lissen is not a setting of this version; did you mean server.listen?"),
        ("[sever]\nlisten = 1", &[][..], "sever is not a setting of this version; did you mean server?"),
        ("[server]\nworkers = 1", &[][..], "server.workers is not a setting of this version; did you mean processing.workers?"),
        ("listen = \"127.0.0.1:1\"", &[][..], "listen is not a setting of this version; did you mean server.listen?"),
        ("[server]\nxyzzy = 1", &[][..], "server.xyzzy is not a setting of this version"),
        ("", &[("RECALL_DATABASE_ULR", "x")][..], "did you mean RECALL_DATABASE_URL?"),
        ("", &[("RECALL_POSTGRES_URL", "x")][..], "RECALL_POSTGRES_URL is not a setting of this version"),
        ("", &[("RECALL_TOKN_FILE", "x")][..], "did you mean RECALL_TOKEN_FILE?"),
        ("[log]\nformat = \"xml\"", &[][..], "log.format (RECALL_LOG_FORMAT)"),
        ("", &[("RECALL_LOG", "a=b=c")][..], "log.filter (RECALL_LOG)"),
        ("", &[("RECALL_LISTEN_FILE", "/does/not/exist")][..], "RECALL_LISTEN_FILE"),
        ("", &[("RECALL_PUBLIC_URL", "memory.example.org/x")][..], "server.public_url (RECALL_PUBLIC_URL)"),
        ("", &[("RECALL_PUBLIC_URL", "https://memory.example.org")][..], "memory.example.org can be reached from other machines"),
        ("", &[("RECALL_NEO4J_URL", "http://127.0.0.1:7474")][..], "neo4j.url (RECALL_NEO4J_URL)"),
        ("", &[("RECALL_NEO4J_URL", "bolt://neo4j:secret@127.0.0.1")][..], "must not hold the password"),
        (
            "",
            &[("RECALL_NEO4J_URL", "bolt://graph:7687"), ("RECALL_NEO4J_PASSWORD", "")][..],
            "neo4j.password (RECALL_NEO4J_PASSWORD): must not be empty",
        ),
        ("", &[("RECALL_TOKEN", "")][..], "auth.token (RECALL_TOKEN): must have at least 32"),
        ("", &[("RECALL_EXTRACTION", "hybrid")][..], "understanding.extraction (RECALL_EXTRACTION): needs a model"),
        ("", &[("RECALL_EXTRACTION", "magic")][..], "understanding.extraction (RECALL_EXTRACTION)"),
        ("", &[("RECALL_MODEL_KEY", "k")][..], "model.url (RECALL_MODEL_URL): is needed"),
        ("", &[("RECALL_MODEL_URL", "http://localhost:1")][..], "model.name (RECALL_MODEL_NAME): is needed"),
        ("", &[("RECALL_MODEL_URL", "http://me:pw@localhost")][..], "model.url (RECALL_MODEL_URL): must be an address"),
        ("", &[("RECALL_EMBEDDINGS_URL", "localhost:1")][..], "embeddings.url (RECALL_EMBEDDINGS_URL): must be an address"),
        ("[model]\ntimeout_seconds = 901", &[][..], "model.timeout_seconds (RECALL_MODEL_TIMEOUT_SECONDS): must be at most 900"),
        ("", &[("RECALL_CORS_ORIGINS", "*")][..], "http.cors_origins (RECALL_CORS_ORIGINS): * must be a scheme and a host"),
        ("", &[("RECALL_CORS_ORIGINS", "http://localhost:3000/x")][..], "http.cors_origins"),
        ("", &[("RECALL_CORS_ORIGINS", "null")][..], "http.cors_origins"),
        ("", &[("RECALL_NEVER_STORE", "card")][..], "privacy.never_store (RECALL_NEVER_STORE): card is unknown"),
        ("", &[("RECALL_NEVER_STORE_PATTERNS", "(")][..], "privacy.patterns (RECALL_NEVER_STORE_PATTERNS)"),
        ("", &[("RECALL_CORS_ORIGINS", "https://app.example.org")][..], "without a login the pages of https://app.example.org could read"),
        ("[auth]\ntoken = \"0123456789abcdef0123456789abcdef\"", &[("RECALL_CORS_ORIGINS", "http://app.example.org")][..], "is not safe"),
        (
            "",
            &[("RECALL_TRUSTED_PROXIES", "proxy.example.org")][..],
            "http.trusted_proxies (RECALL_TRUSTED_PROXIES): proxy.example.org must",
        ),
        ("", &[("RECALL_TRUSTED_PROXIES", "10.0.0.1, ::/0")][..], "::/0 would trust every address"),
        ("", &[("RECALL_LEASE_SECONDS", "999999999")][..], "processing.lease_seconds (RECALL_LEASE_SECONDS): must be at most"),
    ] {
        let e = error(file, env);
        assert!(e.contains(expected), "{e:?} should contain {expected:?}");
    }
}

#[test]
fn debug_output_hides_a_password() {
    let c = load("", &[("RECALL_NEO4J_PASSWORD", "sesame")], &[]).unwrap();
    assert_eq!(c.neo4j.password.as_ref().map(Secret::expose), Some("sesame"));
    assert!(!format!("{c:?}").contains("sesame"));
}

#[test]
fn file_variable_reads_the_value_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("listen");
    std::fs::write(&path, "127.0.0.1:7777\n").unwrap();
    let c = load("", &[("RECALL_LISTEN_FILE", path.to_str().unwrap())], &[]).unwrap();
    assert_eq!(c.server.listen.port(), 7777);
}

#[test]
fn database_url_selects_the_engine_and_hides_the_password() {
    let engine = |url: &str| load("", &[("RECALL_DATABASE_URL", url)], &[]).unwrap().storage.engine();
    assert_eq!(engine("sqlite:/var/x.db"), Engine::Sqlite("/var/x.db".into()));
    assert_eq!(engine("sqlite://x.db"), Engine::Sqlite("x.db".into()));
    for (url, shown) in [
        ("postgres://recall:ge@heim@db:5432/recall?sslmode=verify-full", "postgres://db:5432/recall"),
        ("postgresql://db/recall", "postgres://db/recall"),
        ("postgres:///recall?host=/run/postgresql&password=geheim", "postgres:///recall"),
    ] {
        assert_eq!(engine(url), Engine::Postgres(url.into()));
        assert!(!format!("{:?}", engine(url)).contains("heim"));
        assert_eq!(engine(url).to_string(), shown);
    }
}

#[test]
fn output_and_errors_hide_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "sk-hidden\n").unwrap();
    let env = [("RECALL_MODEL_URL", "http://localhost:1"), ("RECALL_MODEL_NAME", "m"), ("RECALL_MODEL_KEY_FILE", path.to_str().unwrap())];
    let c = load("[model.headers]\nx-team = \"also-hidden\"", &env, &[]).unwrap();
    assert_eq!(c.model.key.as_ref().unwrap().expose(), "sk-hidden");
    let shown = format!("{c:?} {}", serde_json::to_string(&c).unwrap());
    assert!(!shown.contains("hidden"), "{shown}");
    let broken =
        error("", &[("RECALL_MODEL_URL", "http://localhost:1"), ("RECALL_MODEL_NAME", "m"), ("RECALL_MODEL_KEY", "two hidden words")]);
    assert!(broken.contains("model.key (RECALL_MODEL_KEY)") && !broken.contains("hidden"), "{broken}");
}

#[test]
fn login_allows_public_listeners_and_hides_the_token() {
    let token = ("RECALL_TOKEN", "0123456789abcdef0123456789abcdef");
    let public = ("RECALL_PUBLIC_URL", "https://memory.example.org");
    let listen = ("RECALL_LISTEN", "0.0.0.0:8080");
    let udp = ("RECALL_UDP_PUBLIC_ADDRESSES", "192.0.2.1");
    let c = load("", &[token, public, listen, udp], &[]).unwrap();
    assert!(!format!("{c:?}").contains("0123456789"), "{c:?}");
    assert!(load("", &[token, public], &[]).is_ok());
    assert!(load("", &[token, listen, udp], &[]).unwrap_err().to_string().contains("server.public_url (RECALL_PUBLIC_URL): is needed"));
    let local = [("RECALL_OIDC_ISSUER", "http://127.0.0.1:9000/x"), ("RECALL_OIDC_AUDIENCE", "x")];
    assert!(load("", &local, &[]).is_ok(), "a provider on this machine needs no TLS");
}

#[test]
fn only_a_loopback_server_announces_the_machine_address() {
    let is_local = |env: &[(&str, &str)]| {
        let c = load("", env, &[]).unwrap();
        c.stream.is_for_this_machine(&c.server)
    };
    let token = ("RECALL_TOKEN", "0123456789abcdef0123456789abcdef");
    let public = ("RECALL_PUBLIC_URL", "https://memory.example.org");
    assert!(is_local(&[]));
    assert!(is_local(&[token, ("RECALL_LISTEN", "[::1]:8080")]));
    assert!(!is_local(&[token, public]), "behind a proxy");
    assert!(!is_local(&[("RECALL_UDP_LISTEN", "127.0.0.1:3478")]));
    assert!(!is_local(&[("RECALL_UDP_PUBLIC_ADDRESSES", "192.0.2.1")]));
    assert!(!is_local(&[token, public, ("RECALL_LISTEN", "192.168.1.5:8080")]));
}
