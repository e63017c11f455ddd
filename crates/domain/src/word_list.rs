//! Reads the word lists of `data/lexicon`.

/// Returns the words of a list, and whether each is marked with "~": it is also another common word.
///
/// Words are separated by ", ". A line that begins with "# " is a comment.
pub fn entries(list: &str) -> impl Iterator<Item = (&str, bool)> {
    let lines = list.lines().filter(|l| !l.starts_with("# "));
    lines.flat_map(|l| l.split(", ")).map(str::trim).filter(|w| !w.is_empty()).map(|w| match w.strip_suffix('~') {
        Some(w) => (w, true),
        None => (w, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_marks_read() {
        assert_eq!(entries("# Tools\nGo~, C#\n\nVim").collect::<Vec<_>>(), [("Go", true), ("C#", false), ("Vim", false)]);
    }
}
