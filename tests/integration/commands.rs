//! Commands of the built program that talk to a running server.

use super::server::{Server, recall};

#[test]
fn health_is_what_the_server_says_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let health = || recall().args(["health", "--listen", &server.address]).output().unwrap();
    let ready = health();
    assert!(ready.status.success(), "{}", String::from_utf8_lossy(&ready.stderr));
    assert_eq!(String::from_utf8_lossy(&ready.stdout), "ready\n");

    let address = server.address.clone();
    server.stop();
    let gone = recall().args(["health", "--listen", &address]).output().unwrap();
    assert!(!gone.status.success());
    assert!(String::from_utf8_lossy(&gone.stderr).contains(&format!("nothing answers on {address}")));
}
