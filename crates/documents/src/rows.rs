//! Writes rows of tables, and reads tables of values separated by commas.

use std::collections::HashSet;

use crate::draft::{Draft, Kind};

/// Longest name of a column, in characters. A longer one is no name.
const MAX_NAME: usize = 40;
/// Size from which the cells of a file are not named, in bytes: names make a text several times as long.
const MAX_NAMED_FILE: usize = 1 << 20;
/// Rows of a file that must have as many cells as the first, in percent. Otherwise it is no table.
const REGULAR_PERCENT: usize = 90;
/// What separates the cells of a file.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// Names that columns usually have.
const USUAL_NAMES: [&str; 33] = [
    "id", "nr", "number", "name", "title", "type", "kind", "category", "status", "role", "date", "time", "month", "year", "due", "price",
    "cost", "fee", "amount", "total", "quantity", "plan", "product", "item", "city", "country", "address", "street", "email", "e-mail",
    "mail", "phone", "notes",
];
/// Most words of such a name: "Date of birth" has three.
const MAX_NAME_WORDS: usize = 3;
/// Words that amounts of money and months begin with.
const CURRENCIES: [&str; 4] = ["eur", "usd", "gbp", "chf"];
const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];

/// Writes a row. With a header for the same columns, each cell has the name of its column, so that a row says by itself what it means: "Plan: Pro | Price: €20".
pub(crate) fn row(header: &[String], cells: &[String]) -> String {
    if header.len() != cells.len() || !names_columns(header) {
        return cells.join(" | ");
    }
    let named = |(name, cell): (&String, &String)| {
        let name = name.trim_end_matches([':', ' ']);
        let is_name = !name.is_empty() && name.chars().count() <= MAX_NAME && name != cell;
        if is_name { format!("{name}: {cell}") } else { cell.clone() }
    };
    let filled = header.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    filled.map(named).collect::<Vec<_>>().join(" | ")
}

/// Whether the cells of a row name columns. The first one may be empty, above the names of rows.
pub(crate) fn names_columns(cells: &[String]) -> bool {
    cells.len() > 1 && cells.iter().skip(1).all(|cell| !cell.is_empty())
}

/// Reads a file of values separated by commas, semicolons, tabs or bars; `None` if it is no table.
pub(crate) fn read_file(text: &str) -> Option<Draft> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let separator = SEPARATORS.into_iter().max_by_key(|separator| first.matches(*separator).count())?;
    let mut rows = cells_of(text, separator);
    rows.retain(|cells| cells.iter().any(|cell| !cell.is_empty()));
    let columns = rows.first().filter(|first| first.len() > 1)?.len();
    let regular = rows.iter().filter(|cells| cells.len() == columns).count();
    if rows.len() < 2 || regular * 100 < rows.len() * REGULAR_PERCENT {
        return None;
    }
    let header = rows.split_first().filter(|(first, below)| text.len() <= MAX_NAMED_FILE && is_header(first, below));
    let header = header.map(|(first, _)| first.clone()).unwrap_or_default();
    let mut draft = Draft::default();
    for (at, cells) in rows.iter().enumerate() {
        draft.push(Kind::Line, &row(if at == 0 { &[] } else { &header }, cells));
    }
    Some(draft)
}

/// Whether the first row of a file looks like a header of the rows below: its cells are different texts, and a usual name is among them or one is above
/// values.
fn is_header(first: &[String], below: &[Vec<String>]) -> bool {
    let distinct: HashSet<String> = first.iter().map(|cell| cell.to_lowercase()).collect();
    let is_text = |cell: &String| cell.contains(char::is_alphabetic) && !is_value(cell);
    let is_usual = |name: &String| {
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
        words.len() <= MAX_NAME_WORDS && words.iter().any(|word| USUAL_NAMES.contains(word))
    };
    let has_values = |column: usize| {
        let values = below.iter().filter(|cells| cells.get(column).is_some_and(|cell| is_value(cell))).count();
        values * 2 > below.len()
    };
    distinct.len() == first.len() && first.iter().all(is_text) && (distinct.iter().any(is_usual) || (0..first.len()).any(has_values))
}

/// Whether a cell is a number, an amount of money or a date.
fn is_value(cell: &str) -> bool {
    let bare = cell.trim_start_matches(['€', '$', '£', '-', '+', '(', '~', ' ']);
    let first = bare.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    let is_month = || first.len() >= 3 && MONTHS.iter().any(|month| *month == first || month.get(..3) == Some(first.as_str()));
    let has_digit = bare.contains(|c: char| c.is_ascii_digit());
    bare.starts_with(|c: char| c.is_ascii_digit()) || has_digit && (CURRENCIES.contains(&first.as_str()) || is_month())
}

/// Splits a file into rows and cells. A cell in quotes may contain separators, line breaks, and quotes that are doubled (RFC 4180).
fn cells_of(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut cells, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let one_line = |cell: &mut String| std::mem::take(cell).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() => is_quoted = true,
            _ if is_quoted => cell.push(c),
            '\n' => {
                cells.push(one_line(&mut cell));
                rows.push(std::mem::take(&mut cells));
            }
            _ if c == separator => cells.push(one_line(&mut cell)),
            _ => cell.push(c),
        }
    }
    cells.push(one_line(&mut cell));
    rows.push(cells);
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Option<Vec<String>> {
        Some(read_file(text)?.blocks.into_iter().map(|block| block.text).collect())
    }

    #[test]
    fn cells_have_the_names_of_their_columns() {
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let header = cells(&["", "Basic", "Pro:"]);
        assert_eq!(row(&header, &cells(&["Price", "€10", "€20"])), "Price | Basic: €10 | Pro: €20");
        assert_eq!(row(&header, &cells(&["Support", "", "yes"])), "Support | Pro: yes");
        assert_eq!(row(&header, &cells(&["Both", "yes"])), "Both | yes");
        assert_eq!(row(&cells(&["Prices", ""]), &cells(&["Pro", "€20"])), "Pro | €20");
    }

    #[test]
    fn files_of_values_are_read_as_tables() {
        let rows = ["Plan | Price", "Plan: Pro, yearly | Price: €20", "Plan: The \"Team\" plan | Price: €50"].map(str::to_owned);
        let file = "Plan,Price\r\n\"Pro,\nyearly\",€20\r\n\r\n\"The \"\"Team\"\" plan\",€50\r\n";
        assert_eq!(lines(file).unwrap(), rows);
        assert_eq!(lines("Plan;Price\nPro;1,20").unwrap(), ["Plan | Price", "Plan: Pro | Price: 1,20"]);
        assert_eq!(lines("1,2\n3,4").unwrap(), ["1 | 2", "3 | 4"]);
        for text in ["", "One line, with a comma", "Dear Ann,\nit rains, snows, and hails.\nYours"] {
            assert_eq!(lines(text), None, "{text}");
        }
    }

    #[test]
    fn cells_are_named_by_a_first_row_that_looks_like_a_header() {
        for (file, expected) in [
            ("City,Mayor\nLinz,Ann", "City: Linz | Mayor: Ann"),
            ("Due date;Payer\nsoon;Ann", "Due date: soon | Payer: Ann"),
            ("Gadget,Cheapest\nDrill,EUR 20\nSaw,€9", "Gadget: Drill | Cheapest: EUR 20"),
            ("Gadget,Bought\nDrill,May 2025\nSaw,2025-06-01", "Gadget: Drill | Bought: May 2025"),
            // The first row is one like the others, or has a number, a date, an empty cell or one cell twice.
            ("Ann,Linz\nBen,Graz", "Ben | Graz"),
            ("Drill,€5\nSaw,€9", "Saw | €9"),
            ("Price,May 2025\nSaw,€9", "Saw | €9"),
            ("Name,\nSaw,€9", "Saw | €9"),
            ("Name,name\nSaw,€9", "Saw | €9"),
            ("Gadget,Cheapest\nDrill,none\nSaw,€9", "Drill | none"),
        ] {
            assert_eq!(lines(file).unwrap()[1], expected, "{file}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[a-c\",;\t|\r\n€1]{0,60}") {
            if let Some(lines) = lines(&text) {
                prop_assert!(lines.iter().all(|line| !line.contains('\n')));
            }
        }
    }
}
