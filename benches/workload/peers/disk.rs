//! The time of one append with fdatasync, which every durable publish needs.

use std::{
    fs::OpenOptions,
    io::Write,
    time::{Duration, Instant},
};

use crate::figures::Times;

const BYTES: usize = 1024;

/// Appends to a new file at a steady pace.
pub(crate) fn append(count: usize, pace: Duration) -> anyhow::Result<Times> {
    let folder = tempfile::tempdir()?;
    let mut file = OpenOptions::new().create(true).append(true).open(folder.path().join("appended"))?;
    let mut times = Times::default();
    for _ in 0..count {
        let begun = Instant::now();
        file.write_all(&[b'x'; BYTES])?;
        file.sync_data()?;
        times.note(begun.elapsed());
        std::thread::sleep(pace.saturating_sub(begun.elapsed()));
    }
    Ok(times)
}
