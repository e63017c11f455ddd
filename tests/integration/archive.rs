//! `recall export` and `recall import`, run as programs.
