//! Randomly damaged files: every result is a document or an error, and the memory of the caller does not grow.

use std::process::Command;

use futures_util::{StreamExt, stream};

use super::samples::{content, docx_with, pdf_with};
use super::*;

/// Damaged files of each format.
const FILES: u64 = 100;
/// How much more memory the caller may use after all files than after the first ones.
const GROWTH: u64 = 24 << 20;

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }
}

/// Damages a file: changes, repeats, removes and exchanges parts of it.
fn damage(file: &[u8], random: &mut Random) -> Vec<u8> {
    let mut file = file.to_vec();
    for _ in 0..=random.below(12) {
        let at = random.below(file.len());
        let end = (at + random.below(64)).min(file.len());
        match random.below(6) {
            0 => file[at] = u8::try_from(random.below(256)).unwrap(),
            1 => file[at] ^= 1 << random.below(8),
            2 => _ = file.drain(at..end),
            3 => {
                let part = file[at..end].to_vec();
                let to = random.below(file.len());
                file.splice(to..to, part);
            }
            4 => {
                // Numbers are lengths and references.
                let digits = (0..file.len()).filter(|at| file[*at].is_ascii_digit()).collect::<Vec<_>>();
                if !digits.is_empty() {
                    let digit = digits[random.below(digits.len())];
                    file[digit] = b'0' + u8::try_from(random.below(10)).unwrap();
                }
            }
            _ => file.truncate(file.len() - random.below(file.len() / 4 + 1)),
        }
        if file.is_empty() {
            file.push(b'%');
        }
    }
    file
}

fn originals() -> [Vec<u8>; 2] {
    let pages: Vec<_> = (0..4).map(|n| content(&[(50, 780, 20, &format!("Chapter {n}")), (50, 700, 10, "Some text of it.")])).collect();
    let outline = "/Outlines << /First << /Title (Chapter 0) /Dest [3 0 R /Fit] >> >>";
    let styles = "<w:styles><w:style w:styleId=\"H\"><w:name w:val=\"heading 1\"/></w:style></w:styles>";
    let body =
        "<w:p><w:pPr><w:pStyle w:val=\"H\"/></w:pPr><w:r><w:t>Chapter</w:t></w:r></w:p><w:p><w:r><w:t>Text.</w:t></w:r></w:p>".repeat(20);
    [pdf_with(&pages, outline, "/Info << /Title (Birds) >>"), docx_with(&body, &[("word/styles.xml", styles.as_bytes())])]
}

/// Runs the test below in a process of its own, because other tests use memory too.
#[test]
fn damaged_files_hurt_nobody() {
    let program = std::env::current_exe().unwrap();
    let run = Command::new(program).args(["parser::fuzz::parse_damaged_files", "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && out.contains("1 passed"), "{out}{err}");
}

#[tokio::test]
#[ignore = "damaged_files_hurt_nobody runs it"]
async fn parse_damaged_files() {
    let parser = parser(ChildLimits { seconds: 10, children: 4, ..LIMITS });
    let mut before = None;
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for original in originals() {
        let files = (0..FILES).map(|seed| damage(&original, &mut Random(seed)));
        let parsed = stream::iter(files).map(|file| {
            let parser = parser.clone();
            async move {
                let path = tempfile::NamedTempFile::new().unwrap();
                std::fs::write(path.path(), file).unwrap();
                parser.parse(path.path(), "", CHUNKING).await
            }
        });
        let mut parsed = parsed.buffered(4);
        while let Some(result) = parsed.next().await {
            let name = match &result {
                Ok(_) => "parsed".to_owned(),
                Err(ParseError::Transient(cause)) => panic!("{cause}"),
                Err(error) => format!("{error:?}"),
            };
            *counts.entry(name).or_default() += 1;
            if counts.values().sum::<usize>() == 20 {
                before = Some(memory());
            }
        }
    }
    println!("{counts:?}");
    assert!(counts["parsed"] > 20 && counts.len() > 1, "the files are damaged too much or too little: {counts:?}");
    assert!(memory() < before.unwrap() + GROWTH, "from {before:?} to {}", memory());
}

/// The memory of this process, in bytes. Zero where the system does not tell.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
