//! Puts the fragments of a page into reading order and joins them to lines.
//!
//! Most programs draw text in the order in which it is read, so that order is kept if it makes sense. Otherwise the text is ordered by its
//! place: from top to bottom, and column by column.

use super::lines::Line;
use super::script;

/// Largest distance between the base lines of fragments of the same line, in sizes of the font.
const SAME_LINE: f32 = 0.35;
/// Gap from which a line has cells.
const CELL_GAP: f32 = 2.0;
/// Fewest lines of a column.
const MIN_COLUMN: usize = 6;
/// Least width of a column, as a part of the text's width.
const MIN_WIDTH: f32 = 0.25;
/// How much of the width of a column its lines fill at least. Cells of tables are emptier.
const MIN_FILLED: f32 = 0.6;
/// Fewest characters of most lines of a column.
const MIN_CHARS: usize = 15;
/// Most lines that cross the gap between columns, as a part of all.
const MAX_CROSSING: f32 = 0.35;

/// The column of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The only one, or across both.
    Full,
    Left,
    Right,
}

/// Orders the fragments of a page and joins them to lines.
pub(super) fn reading_order(fragments: Vec<Line>, width: f32) -> Vec<Line> {
    let (upright, turned): (Vec<_>, Vec<_>) = fragments.into_iter().partition(|fragment| fragment.is_upright);
    let gutter = find_gutter(&upright, width);
    let column = |line: &Line| match gutter {
        Some(gutter) if line.end <= gutter => Column::Left,
        Some(gutter) if line.x >= gutter => Column::Right,
        _ => Column::Full,
    };
    let mut lines = join(upright.clone(), &column);
    if !is_consistent(&lines, &column) {
        lines = join(by_place(upright, &column), &column);
    }
    set_right_edges(&mut lines, &column);
    mark_short_code(&mut lines);
    // Text along the margin comes last.
    lines.extend(join(turned, &|_| Column::Full));
    for line in &mut lines {
        line.text = script::logical_order(&line.text);
    }
    lines
}

/// Joins fragments that follow each other on the same base line.
fn join(fragments: Vec<Line>, column: &dyn Fn(&Line) -> Column) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::with_capacity(fragments.len());
    for fragment in fragments {
        let Some(line) = lines.last_mut() else {
            lines.push(fragment);
            continue;
        };
        let size = line.size.max(fragment.size);
        let follows = (line.y - fragment.y).abs() <= SAME_LINE * size && column(line) == column(&fragment);
        let gap = fragment.x - line.end;
        // Bold text is sometimes drawn twice, slightly displaced.
        let is_again = line.text == fragment.text && (line.y - fragment.y).abs() + (line.x - fragment.x).abs() < 0.2 * size;
        if is_again {
            continue;
        }
        if follows && gap >= -0.5 * size {
            let is_cell = gap > CELL_GAP * size;
            line.has_cells |= is_cell;
            if is_cell {
                line.text.push_str("  ");
            } else if gap > 0.17 * line.size.min(fragment.size) {
                line.text.push(' ');
            }
            append(line, &fragment, false);
        } else if follows && fragment.end <= line.x + 0.5 * size && line.x - fragment.end <= CELL_GAP * size && is_short(&fragment) {
            // Arabic and Hebrew are drawn from right to left.
            if line.x - fragment.end > 0.17 * size {
                line.text.insert(0, ' ');
            }
            append(line, &fragment, true);
        } else {
            lines.push(fragment);
        }
    }
    lines
}

/// Whether a fragment is a word that was drawn letter by letter from right to left.
fn is_short(fragment: &Line) -> bool {
    script::is_right_to_left_text(&fragment.text)
}

fn append(line: &mut Line, fragment: &Line, before: bool) {
    if fragment.text.len() > line.text.len() {
        (line.size, line.is_bold, line.is_monospace, line.y) = (fragment.size, fragment.is_bold, fragment.is_monospace, fragment.y);
    }
    let same_width = line.glyph_width.zip(fragment.glyph_width).is_some_and(|(a, b)| (a - b).abs() < 0.01);
    line.glyph_width = line.glyph_width.filter(|_| same_width);
    if before {
        line.text.insert_str(0, &fragment.text);
    } else {
        line.text.push_str(&fragment.text);
    }
    line.x = line.x.min(fragment.x);
    line.end = line.end.max(fragment.end);
}

/// Whether lines are in reading order: within a column they rarely go up.
fn is_consistent(lines: &[Line], column: &dyn Fn(&Line) -> Column) -> bool {
    let (mut back, mut alternating) = (0, 0);
    for two in lines.windows(2) {
        let (line, next) = (&two[0], &two[1]);
        let size = line.size.max(next.size);
        let overlaps = next.x < line.end && line.x < next.end;
        let same_line = (next.y - line.y).abs() <= SAME_LINE * size;
        if (next.y < line.y - 0.5 * size && overlaps) || (same_line && next.end <= line.x) {
            back += 1;
        }
        if same_line && column(line) == Column::Left && column(next) == Column::Right {
            alternating += 1;
        }
    }
    let right = lines.iter().filter(|line| column(line) == Column::Right).count();
    back <= 2 + lines.len() / 8 && (right == 0 || alternating * 2 < right)
}

/// Orders fragments by place. Text across both columns divides the page.
fn by_place(mut fragments: Vec<Line>, column: &dyn Fn(&Line) -> Column) -> Vec<Line> {
    fragments.sort_by(|a, b| a.y.total_cmp(&b.y));
    // Fragments of the same line get the same height.
    let mut rows: Vec<Vec<Line>> = Vec::new();
    for fragment in fragments {
        match rows.last_mut() {
            Some(row) if row[0].y + SAME_LINE * row[0].size.min(fragment.size) >= fragment.y => row.push(fragment),
            _ => rows.push(vec![fragment]),
        }
    }
    let (mut ordered, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for mut row in rows {
        row.sort_by(|a, b| a.x.total_cmp(&b.x));
        if row.iter().any(|fragment| column(fragment) == Column::Full) {
            ordered.append(&mut left);
            ordered.append(&mut right);
            ordered.append(&mut row);
            continue;
        }
        for fragment in row {
            if column(&fragment) == Column::Left { left.push(fragment) } else { right.push(fragment) }
        }
    }
    ordered.append(&mut left);
    ordered.append(&mut right);
    ordered
}

/// Finds where the right one of two columns begins.
fn find_gutter(fragments: &[Line], page_width: f32) -> Option<f32> {
    let left_edge = fragments.iter().map(|f| f.x).fold(f32::MAX, f32::min);
    let right_edge = fragments.iter().map(|f| f.end).fold(0.0, f32::max).min(page_width);
    let width = right_edge - left_edge;
    let middle = left_edge + width * 0.3..left_edge + width * 0.75;
    let mut starts: Vec<f32> = fragments.iter().map(|f| f.x).filter(|x| middle.contains(x)).collect();
    starts.sort_by(f32::total_cmp);
    // The most frequent left edge, within two points.
    let near = |x: f32| starts.partition_point(|s| *s <= x + 2.0) - starts.partition_point(|s| *s < x);
    let start = starts.iter().copied().max_by_key(|x| near(*x)).filter(|x| near(*x) >= MIN_COLUMN)?;
    let gutter = start - 0.5;
    let (left, rest): (Vec<&Line>, Vec<&Line>) = fragments.iter().partition(|f| f.end <= gutter);
    let (right, crossing): (Vec<&Line>, Vec<&Line>) = rest.into_iter().partition(|f| f.x >= gutter);
    let few_cross = crossing.len() as f32 <= MAX_CROSSING * (left.len().min(right.len()) as f32);
    (few_cross && is_column(&left, width) && is_column(&right, width)).then_some(gutter)
}

/// Whether fragments are running text and fill their column.
fn is_column(fragments: &[&Line], text_width: f32) -> bool {
    let left = fragments.iter().map(|f| f.x).fold(f32::MAX, f32::min);
    let right = fragments.iter().map(|f| f.end).fold(0.0, f32::max);
    // Several fragments may be one line.
    let mut sorted: Vec<&&Line> = fragments.iter().collect();
    sorted.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut rows: Vec<(f32, f32, usize)> = Vec::new();
    for fragment in sorted {
        let length = fragment.end - fragment.x;
        let chars = fragment.text.chars().count();
        match rows.last_mut() {
            Some((y, filled, count)) if (fragment.y - *y).abs() <= SAME_LINE * fragment.size => {
                *filled += length;
                *count += chars;
            }
            _ => rows.push((fragment.y, length, chars)),
        }
    }
    if rows.len() < MIN_COLUMN || right - left < MIN_WIDTH * text_width {
        return false;
    }
    let median = rows.len() / 2;
    let mut filled: Vec<f32> = rows.iter().map(|row| row.1).collect();
    filled.sort_by(f32::total_cmp);
    let mut chars: Vec<usize> = rows.iter().map(|row| row.2).collect();
    chars.sort_unstable();
    filled[median] >= MIN_FILLED * (right - left) && chars[median] >= MIN_CHARS
}

/// Marks lines that are too short to tell their font, but go on with the font of the code before.
fn mark_short_code(lines: &mut [Line]) {
    for at in 1..lines.len() {
        let (before, line) = (&lines[at - 1], &lines[at]);
        let same_width = before.glyph_width.zip(line.glyph_width).is_some_and(|(a, b)| (a - b).abs() < 0.01);
        if before.is_monospace && same_width && (before.size - line.size).abs() < 0.3 {
            lines[at].is_monospace = true;
        }
    }
}

/// Tells every line where its column ends.
fn set_right_edges(lines: &mut [Line], column: &dyn Fn(&Line) -> Column) {
    for which in [Column::Full, Column::Left, Column::Right] {
        let edge = lines.iter().filter(|line| column(line) == which).map(|line| line.end).fold(0.0, f32::max);
        lines.iter_mut().filter(|line| column(line) == which).for_each(|line| line.right = edge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(text: &str, x: f32, end: f32, y: f32) -> Line {
        let text = text.to_owned();
        Line {
            text,
            x,
            end,
            y,
            size: 10.0,
            is_bold: false,
            is_monospace: false,
            glyph_width: None,
            is_upright: true,
            has_cells: false,
            right: end,
        }
    }

    fn two_columns() -> (Vec<Line>, Vec<Line>) {
        let line =
            |side: &str, n: usize, x: f32| fragment(&format!("{side} column line {n} with words"), x, x + 200.0, 100.0 + 12.0 * n as f32);
        ((0..8).map(|n| line("left", n, 50.0)).collect(), (0..8).map(|n| line("right", n, 270.0)).collect())
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn columns_are_read_one_after_the_other_however_they_are_drawn() {
        let (left, right) = two_columns();
        let in_order: Vec<Line> = left.iter().chain(&right).cloned().collect();
        let by_rows: Vec<Line> = left.iter().zip(&right).flat_map(|(l, r)| [l.clone(), r.clone()]).collect();
        let mut shuffled: Vec<Line> = in_order.iter().rev().cloned().collect();
        shuffled.insert(3, fragment("A title across both columns of the page", 100.0, 400.0, 80.0));
        let expected = texts(&in_order);
        assert_eq!(texts(&reading_order(in_order.clone(), 520.0)), expected);
        assert_eq!(texts(&reading_order(by_rows, 520.0)), expected);
        let ordered = reading_order(shuffled, 520.0);
        assert_eq!(ordered[0].text, "A title across both columns of the page");
        assert_eq!(texts(&ordered[1..]), expected);
    }

    #[test]
    fn rows_of_a_table_stay_together() {
        let rows = (0..9).flat_map(|n| {
            let y = 100.0 + 12.0 * n as f32;
            [fragment(&format!("key {n}"), 50.0, 80.0, y), fragment(&format!("value of {n}"), 270.0, 320.0, y)]
        });
        let lines = reading_order(rows.collect(), 520.0);
        assert_eq!(lines[0].text, "key 0  value of 0");
        assert!(lines.len() == 9 && lines.iter().all(|line| line.has_cells));
    }
}
