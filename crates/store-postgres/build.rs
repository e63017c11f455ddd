//! Makes cargo notice a new migration. `sqlx::migrate!` tells it of changes in known files only.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations/postgres");
}
