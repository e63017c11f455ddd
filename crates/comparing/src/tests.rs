//! Points of whole passages.

use std::sync::LazyLock;

use uuid::Uuid;

use super::*;
use recall_domain::{Chunk, Document, DocumentId, DocumentStatus, MessageId, PointKind, Timestamp};
use recall_ports::ComparedDocument;

static COMPARER: LazyLock<AlignmentComparer> = LazyLock::new(|| AlignmentComparer::new(LocalEmbedder::load().unwrap()));

fn document(n: u128, filename: &str) -> ComparedDocument {
    let document = Document {
        id: DocumentId(Uuid::from_u128(n)),
        collection: "default".to_owned(),
        path: None,
        version: u32::try_from(n).unwrap(),
        is_current: true,
        filename: filename.into(),
        media_type: None,
        bytes: 1,
        sha256: String::new(),
        status: DocumentStatus::Completed,
        error: None,
        title: None,
        pages: None,
        links: Vec::new(),
        summary: None,
        viewed_at: None,
        chunk_count: 1,
        stored: 1,
        understood: 1,
        chunk_chars: 1024,
        chunk_overlap: 200,
        has_original: false,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
    };
    ComparedDocument { document, shared: false }
}

fn passage(document: usize, text: &str) -> ComparedPassage {
    let chunk = Chunk {
        id: MessageId(Uuid::from_u128(document as u128 + 100)),
        document: DocumentId(Uuid::from_u128(document as u128 + 1)),
        position: 0,
        section: 0,
        heading: None,
        char_offset: 0,
        pages: None,
        text: text.into(),
    };
    ComparedPassage { document, chunk }
}

/// Compares two passages. Points that say the opposite of what is expected fail in the caller.
fn compare(question: Option<&str>, left: &str, right: &str) -> Vec<ComparisonPoint> {
    let task = ComparisonTask {
        question: question.map(UserText::from),
        documents: vec![document(1, "old.md"), document(2, "new.md")],
        groups: vec![vec![passage(0, left), passage(1, right)]],
    };
    COMPARER.points(&task)
}

fn texts(points: &[ComparisonPoint], kind: PointKind) -> Vec<&str> {
    points.iter().filter(|p| p.kind == kind).map(|p| p.text.as_str()).collect()
}

#[test]
fn other_amounts_dates_names_and_denials_are_differences() {
    for (left, right, what) in [
        ("Employees have 30 days of paid leave a year.", "Employees have 25 days of paid leave each year.", ": 30 days against 25 days"),
        ("The contract ends on 31 March 2024.", "The contract ends on 30 June 2024.", ": 31 March 2024 against 30 June 2024"),
        ("Expenses are approved by Dana Reyes.", "Expenses are approved by Tom Webb.", ": Dana Reyes against Tom Webb"),
        ("Leave is approved by Dana Reyes at Lumen Labs.", "Leave is approved by Tom Webb.", ": Dana Reyes, Lumen Labs against Tom Webb"),
        ("Flights must be booked by the office.", "Flights may be booked by employees themselves.", ": must against may"),
        ("Dogs are allowed in the office.", "Dogs are not allowed in the office.", ": allowed against not allowed"),
        ("Cats are allowed.", "Cats are not allowed.", ": allowed against not allowed"),
        ("Flights must be booked by the travel office.", "Flights may be booked by employees themselves.", ": must against may"),
        ("Employees must use a VPN.", "The use of a VPN is optional.", ": must against optional"),
        ("Nobody may enter the lab.", "Everybody may enter the lab.", ": nobody … may against may"),
        ("All employees get a laptop.", "Some employees get a laptop.", ": all against some"),
        ("The team lead approves the days.", "The head of department approves the days.", ": team lead against head of department"),
        ("The lamp switches off automatically when it is empty.", "The lamp does not switch off automatically when it is empty.", ""),
        ("You need a permit.", "You don't need a permit.", ""),
        ("The office is in Lisbon.", "The office is in Porto.", ": Lisbon against Porto"),
        ("Colour | black", "Colour | white", ": black against white"),
        ("Colour: black", "Colour: white", ": black against white"),
        ("Cats are allowed in the flat.", "Cats of any breed are forbidden.", ": allowed against forbidden"),
        ("Tenants may keep one cat.", "No tenant may keep a cat.", ": may against no … may"),
        ("Smoking is permitted on the balcony.", "Smoking is prohibited on the balcony.", ": permitted against prohibited"),
        ("The landlord allows subletting.", "The landlord does not allow subletting.", ": allows against not allow"),
        ("A deposit is required.", "A deposit is optional.", ": required against optional"),
        ("Visitors must sign the book.", "Visitors do not have to sign the book.", ": must against not have"),
        ("Helmets must be worn.", "Helmets should be worn.", ": must against should"),
        ("Heating is included in the rent.", "Heating is excluded from the rent.", ": included against excluded"),
        ("The rent includes heating and water.", "The rent does not include heating and water.", ": includes against not include"),
        ("The deposit is refundable within a month.", "The deposit is non-refundable within a month.", ""),
        ("Travel costs are reimbursed.", "Travel costs are not reimbursed.", ""),
        ("The notice period is three months.", "The notice period is 2 months.", ": three months against 2 months"),
        ("The contract ends on 31.03.2024.", "The contract ends on June 30th, 2024.", ": 31.03.2024 against June 30th 2024"),
        ("The fee is €50 per month.", "The fee is $50 per month.", ": €50 against $50"),
        ("The fee is €50 per month.", "The fee is €50 per year.", ": per month against per year"),
        ("The battery lasts 10 hours.", "The battery lasts 600 seconds.", ": 10 hours against 600 seconds"),
        ("Complaints are answered in ten working days.", "Complaints are answered in 10 days.", ": ten working days against 10 days"),
        ("Storage | 256 GB", "Storage | 512 GB", ": 256 GB against 512 GB"),
        ("Waterproof case | ✓", "Waterproof case | ✗", ": yes against no"),
        ("The tenant pays for small repairs.", "The landlord pays for small repairs.", ": tenant against landlord"),
        (
            "Passwords must have at least 12 characters.",
            "Passwords may have at most 10 characters.",
            ": 12 characters against 10 characters; must against may; least against most",
        ),
        ("A second signature is mandatory for travel.", "A second signature is optional for travel.", ": mandatory against optional"),
        (
            "The notice period is three months for the Tenants and six months for the Landlord.",
            "The notice period is six months for the Tenants and three months for the Landlord.",
            ": three months against six months",
        ),
        ("Meals cost €35 within the UK, abroad €48.", "Meals cost €48 within the UK, abroad €35.", ": €35 against €48"),
        ("Filter | 6 months | 12 months", "Filter | 12 months | 6 months", ": 6 months against 12 months"),
        (
            "Electric cars may be charged free of charge.",
            "Electric cars may be charged for 25 pence per kilowatt hour.",
            ": free of charge against 25 pence",
        ),
        ("Parking in the yard is free.", "Parking in the yard costs £3.", ": free against £3"),
        ("Dogs are allowed in the office.", "Dogs are allowed in the office, except on Mondays.", ": only new.md says “except on Mondays”"),
        (
            "Guests may use the pool unless it is raining hard.",
            "Guests may use the pool.",
            ": only old.md says “unless it is raining hard”",
        ),
        (
            "Dogs are allowed, except large breeds.",
            "Dogs are allowed, except in the kitchen.",
            ": except large breeds against except in the kitchen",
        ),
        ("Hunde sind erlaubt.", "Hunde sind nicht erlaubt.", ""),
        ("The monthly rent is €1,350.", "The monthly rent will rise from €1,350 to €1,400 as of 1 June 2026.", ": €1,350 against €1,400"),
        (
            "The monthly rent is €1,350, payable by the third working day of each month.",
            "I hereby inform you that the monthly rent will rise from €1,350 to €1,400 as of 1 June 2026.",
            ": €1,350 against €1,400",
        ),
        ("The travel desk is run by Priya Nair.", "Omar Haddad runs the travel desk.", ": Priya Nair against Omar Haddad"),
        ("Employees get 25 days of paid leave.", "Staff receive 28 vacation days.", ": 25 days against 28 vacation days"),
    ] {
        let points = compare(None, left, right);
        assert_eq!(texts(&points, PointKind::Similarity), [""; 0], "{left}");
        let found = texts(&points, PointKind::Difference);
        assert!(matches!(found.as_slice(), [one] if one.contains("but new.md says") && one.ends_with(&format!("[2]{what}"))), "{found:?}");
        assert!(points.iter().all(|p| p.citations.len() == 2 && p.silent.is_empty()));
    }
}

#[test]
fn same_content_in_other_words_is_a_similarity() {
    for (left, right) in [
        ("Passwords must have at least 12 characters.", "Passwords must have at least 12 characters."),
        ("Reports are due within two weeks of the trip.", "Reports are due within 14 days of the trip."),
        ("The contract ends on 31 March 2024.", "The contract ends on 2024-03-31."),
        ("The contract ends on 03/04/2024.", "The contract ends on 4 March 2024."),
        ("Cats are not allowed.", "Cats are forbidden."),
        ("Smoking is not permitted in the rooms.", "Smoking is prohibited in the rooms."),
        ("Tenants may not keep dogs without consent.", "Tenants may keep dogs with consent."),
        ("Dogs are allowed in the yard.", "Dogs are allowed in the yard but must be kept on a leash."),
        ("Heating is excluded from the rent.", "Heating is not included in the rent."),
        ("The deposit is not refundable at the end.", "The deposit is non-refundable at the end."),
        ("The fee is EUR 1.500,00 per month.", "The monthly fee is €1,500."),
        ("The form must arrive no later than Friday.", "The form must arrive by Friday."),
        ("The bottle holds 1.5 litres of water.", "The bottle holds 1500 ml of water."),
        ("Lunch costs €5 and dinner costs €8.", "Dinner costs €8 and lunch costs €5."),
        ("Core hours are from 10:00 to 15:00.", "Core hours are from 10 am to 3 pm."),
        ("Tea is offered free of charge.", "Tea is offered at no cost."),
        ("The stamp costs 50 cents.", "The stamp costs €0.50."),
        ("The lift is inspected once a year.", "The lift is inspected every year."),
        ("The rent rises from €900 to €950.", "The rent is €950."),
    ] {
        let points = compare(None, left, right);
        assert_eq!(texts(&points, PointKind::Difference), [""; 0], "{left}");
        assert_eq!(texts(&points, PointKind::Similarity).len(), 1, "{left}");
    }
}

#[test]
fn rules_for_other_things_do_not_contradict_each_other() {
    for (left, right) in [
        ("Dogs are allowed in the garden.", "Dogs are not allowed in the kitchen."),
        ("Cats are allowed in the building.", "Dogs are not allowed in the building."),
        ("Dogs must be kept on a leash.", "Dogs are allowed."),
        ("Tenants may keep cats.", "Tenants must pay the rent."),
        ("Cats must not enter the kitchen.", "Cats are allowed."),
        ("Teresa Almeida works at Lumen Labs.", "Teresa Almeida lives in Lisbon."),
        ("Cats require consent.", "You asked whether you may keep a cat."),
        ("The Tenants pay a deposit of two months' rent, that is €2,700.", "The monthly rent will rise to €1,400."),
        (
            "The Tenants pay a deposit of two months' rent, that is €2,700.",
            "I hereby inform you that the monthly rent will rise from €1,350 to €1,400 as of 1 June 2026.",
        ),
        (
            "The rent may be increased once a year by at most 4 percent.",
            "I hereby inform you that the monthly rent will rise from €1,350 to €1,400 as of 1 June 2026.",
        ),
    ] {
        let points = compare(None, left, right);
        let found = texts(&points, PointKind::Difference);
        assert!(found.iter().all(|text| text.starts_with("Only") || text.ends_with("cats against dogs")), "{found:?}");
        assert_eq!(texts(&points, PointKind::Similarity), [""; 0], "{left}");
    }
}

#[test]
fn headings_are_not_compared() {
    let heading = |document: usize| {
        let mut passage = passage(document, "Rules of the house for pets\nCats are allowed in all rooms.");
        passage.chunk.heading = Some("Rules of the house for pets".into());
        passage
    };
    let task = ComparisonTask {
        question: None,
        documents: vec![document(1, "a.md"), document(2, "b.md")],
        groups: vec![vec![heading(0), heading(1)]],
    };
    let points = COMPARER.points(&task);
    assert_eq!(texts(&points, PointKind::Similarity), ["a.md and b.md say “Cats are allowed in all rooms” [1] [2]"]);
    assert_eq!(points[0].citations[0].excerpt.as_str(), "Cats are allowed in all rooms.");
}

#[test]
fn sentence_without_a_counterpart_names_the_silent_document() {
    let shared = "Employees have 30 days of paid leave a year.";
    let points = compare(None, &format!("{shared} The parking garage closes at 22:00 on weekdays."), shared);
    let found = texts(&points, PointKind::Difference);
    assert_eq!(found, ["Only old.md says “The parking garage closes at 22:00 on weekdays” [1]"]);
    let point = points.iter().find(|p| p.kind == PointKind::Difference).unwrap();
    assert_eq!(point.silent, [DocumentId(Uuid::from_u128(2))]);
    assert_eq!(point.citations[0].excerpt.as_str(), "The parking garage closes at 22:00 on weekdays.");
}

#[test]
fn reported_question_is_no_statement() {
    let points = compare(None, "Cats require consent.", "You asked whether you may keep a dog. Please ask whether the door is locked.");
    let found = texts(&points, PointKind::Difference);
    assert_eq!(found, ["Only old.md says “Cats require consent” [1]", "Only new.md says “Please ask whether the door is locked” [1]"]);
}

#[test]
fn new_rules_among_others_are_one_sided() {
    let rules = "Lost devices must be reported to the help desk within 24 hours. Data may be stored only on the company's servers.";
    let further = "Results must be checked by a human before they are sent to customers.";
    let points = compare(None, rules, &format!("{rules} {further}"));
    assert_eq!(texts(&points, PointKind::Difference), [format!("Only new.md says “{}” [1]", further.trim_end_matches('.'))]);
}

#[test]
fn unrelated_passages_have_no_pairs() {
    let points = compare(None, "The cat sleeps on the warm windowsill.", "Invoices are archived for ten years.");
    assert_eq!(texts(&points, PointKind::Similarity), [""; 0]);
    assert!(texts(&points, PointKind::Difference).iter().all(|text| text.starts_with("Only")));
}

#[test]
fn question_raises_the_importance_of_what_it_asks() {
    let left = "Employees have 30 days of paid leave a year. The office opens at 08:00 in the morning.";
    let right = "Employees have 25 days of paid leave a year. The office opens at 09:00 in the morning.";
    let points = compare(Some("How many days of leave do employees have?"), left, right);
    let importance = |word: &str| points.iter().find(|p| p.text.as_str().contains(word)).unwrap().importance;
    assert!(importance("leave") > importance("opens"));
}

#[test]
fn question_finds_what_only_one_side_says() {
    let left = "Cats are welcome in the building. The office opens at 08:00 in the morning. Bicycles stand in the yard of the building.";
    let right = "Parcels are kept in the building. The office opens at 08:00 in the morning.";
    let points = compare(Some("Where do bicycles stand?"), left, right);
    let found = texts(&points, PointKind::Difference);
    assert!(found.contains(&"Only old.md says “Bicycles stand in the yard of the building” [1]"), "{found:?}");
}

#[test]
fn versions_of_one_file_are_named_by_their_version() {
    let task = ComparisonTask {
        question: None,
        documents: vec![document(1, "rules.md"), document(2, "rules.md")],
        groups: vec![vec![passage(0, "Employees have 30 days of leave."), passage(1, "Employees have 25 days of leave.")]],
    };
    let points = COMPARER.points(&task);
    assert!(points[0].text.as_str().starts_with("rules.md (version 1) says"), "{:?}", points[0].text.as_str());
}

#[test]
fn empty_and_odd_passages_are_compared() {
    for text in ["", "\n\n", "…", "12", "? ? ?", "- - -\n• •"] {
        assert_eq!(compare(None, text, text), vec![], "{text:?}");
    }
}
