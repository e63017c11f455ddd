//! Valid lines read back unchanged; others are refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::archive::SHAPES;

fn value(field: &Field) -> BoxedStrategy<Value> {
    let there = match field.holds {
        Holds::Id => any::<u128>().prop_map(|n| Value::Id(Uuid::from_u128(n))).boxed(),
        Holds::Count => (0..=MOST).prop_map(Value::Count).boxed(),
        Holds::Small => (0..=i64::from(i32::MAX)).prop_map(Value::Count).boxed(),
        Holds::Time => (-8_334_601_228_800_000..=8_210_266_876_799_999i64).prop_map(Value::Count).boxed(),
        Holds::Weight => prop_oneof![0.0..1.0f64, 0.0..HEAVIEST, Just(5e-324)].prop_map(Value::Real).boxed(),
        Holds::Share => prop_oneof![0.0..=1.0f64, Just(5e-324)].prop_map(Value::Real).boxed(),
        Holds::Text | Holds::Key => any::<String>().prop_map(Value::Text).boxed(),
        Holds::Interval => "(2[0-9]{3}(-0[1-9])?)?/(2[0-9]{3})?".prop_map(Value::Text).boxed(),
        Holds::Word(words) => proptest::sample::select(words).prop_map(|w| Value::Text(w.to_owned())).boxed(),
        Holds::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Holds::Json(Form::Any) => {
            any::<(String, f64)>().prop_map(|(s, n)| Value::Json(serde_json::json!({ s: [n, null] }).to_string())).boxed()
        }
        Holds::Json(Form::Names) => any::<Vec<String>>().prop_map(|v| Value::Json(serde_json::to_string(&v).unwrap())).boxed(),
        Holds::Json(Form::Terms) => any::<Vec<(String, u32)>>().prop_map(|v| Value::Json(serde_json::to_string(&v).unwrap())).boxed(),
        Holds::Json(Form::FactValue) => {
            let stored = |text: &str| serde_json::to_string(&FactValue::of_text(text).stored()).unwrap();
            "[a-z]{1,9}( [a-z]{1,9})?".prop_map(move |text| Value::Json(stored(&text))).boxed()
        }
        Holds::Json(Form::Sources) => Just(Value::Json(r#"{"of":["documents"],"collections":["a"],"documents":[]}"#.to_owned())).boxed(),
        Holds::Json(Form::Citations) => Just(Value::Json("[]".to_owned())).boxed(),
        Holds::Bytes => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
        Holds::Vector => proptest::collection::vec(-1.0e30..1.0e30f32, 0..8).prop_map(Value::Vector).boxed(),
    };
    if field.optional { prop_oneof![Just(Value::Missing), there].boxed() } else { there }
}

fn record() -> impl Strategy<Value = Record> {
    let archived: Vec<_> = SHAPES.iter().filter(|s| !s.internal).collect();
    proptest::sample::select(archived).prop_flat_map(|shape| {
        let values: Vec<_> = shape.fields.iter().map(value).collect();
        values.prop_map(move |values| {
            let mut record = Record { shape, values };
            if let (Value::Count(start), Value::Count(end)) = (record.get("span_start").clone(), record.get("span_end").clone()) {
                record.set("span_start", Value::Count(start.min(end)));
                record.set("span_end", Value::Count(start.max(end)));
            }
            record
        })
    })
}

proptest! {
    #[test]
    fn records_read_back_the_same_to_the_last_bit(record in record()) {
        let line = Line::Record(record.clone());
        let text = line.write();
        prop_assert!(!text.contains(['\n', '\r']));
        let Line::Record(back) = Line::parse(&text).unwrap() else { panic!("no record") };
        prop_assert!(back == record, "{text}");
        prop_assert_eq!(Line::Record(back).write(), text);
    }

    #[test]
    fn header_user_and_end_lines_read_back(program: String, ms in 0..4_000_000_000_000i64, user: u128, visitor: bool, a in 0..1u64 << 53, b in 0..1u64 << 53, sum in proptest::option::of("[0-9a-f]{64}")) {
        let user = UserId(Uuid::from_u128(user));
        let header = Header { version: VERSION, program, exported_at: moment(ms).unwrap(), local_user: user };
        for line in [Line::Header(header), Line::User(Owner { user, feed_head: a, knowledge_version: b, visitor }), Line::End(End { records: a, sha256: sum })] {
            prop_assert_eq!(Line::parse(&line.write()).unwrap(), line);
        }
    }

    #[test]
    fn arbitrary_input_does_not_panic(text in r#"[{}\[\]",:a-z0-9\\.-]{0,60}|.*"#) {
        let _ = Line::parse(&text);
    }

    #[test]
    fn changed_record_is_read_or_refused_without_panic(record in record(), at: proptest::sample::Index, with: char) {
        let mut text: Vec<char> = Line::Record(record).write().chars().collect();
        let at = at.index(text.len());
        text[at] = with;
        let _ = Line::parse(&text.into_iter().collect::<String>());
    }
}

const ID: &str = "00000000-0000-0000-0000-000000000001";

fn refused(line: &str) -> Damage {
    Line::parse(&line.replace("ID", ID)).unwrap_err()
}

#[test]
fn hostile_lines_are_refused_by_field() {
    let session = r#"{"type":"session","id":"ID","created_at":1,"updated_at":1,"message_count":0}"#;
    assert!(Line::parse(&session.replace("ID", ID)).is_ok());
    for (from, to, damage) in [
        ("\"ID\"", "\"x\"", Damage::Field("id")),
        ("\"ID\"", "null", Damage::Field("id")),
        (":0", ":-1", Damage::Field("message_count")),
        (":0", ":1.5", Damage::Field("message_count")),
        (":0", ":99999999999999999999", Damage::Field("message_count")),
        ("\"updated_at\":1,", "", Damage::Field("updated_at")),
        ("\"created_at\":1", "\"created_at\":9223372036854775807", Damage::Field("created_at")),
        (":0}", ":0,\"user_id\":\"ID\"}", Damage::UnknownField("session")),
        ("\"session\"", "\"users; DROP TABLE users\"", Damage::UnknownType),
        ("}", "", Damage::NotJson),
    ] {
        assert_eq!(refused(&session.replacen(from, to, 1)), damage, "{from} {to}");
    }
    assert_eq!(refused("[]"), Damage::NotJson);
    assert_eq!(refused(""), Damage::NotJson);
    assert_eq!(refused("{}"), Damage::UnknownType);
}

#[test]
fn unreadable_values_are_refused() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let message = |metadata: &str, citations: &str| {
        format!(
            r#"{{"type":"message","id":"{ID}","session_id":"{ID}","position":1,"feed_row":1,"role":"user","text":"x","status":"processed","sent_at":1,"created_at":1,"source_metadata":{metadata},"citations":{citations}}}"#
        )
    };
    assert!(Line::parse(&message("{\"a\":1}", "[]")).is_ok());
    assert_eq!(refused(&message(&deep, "[]")), Damage::Field("source_metadata"));
    assert_eq!(refused(&message("\"\\ud800\"", "[]")), Damage::Field("source_metadata"));
    assert_eq!(refused(&message("1", "[{\"index\":\"one\"}]")), Damage::Field("citations"));
    let nearest = |v: &str| format!(r#"[{{"index":1,"message_id":null,"fact_id":null,"excerpt":"x","nearest":{v}}}]"#);
    assert!(Line::parse(&message("1", &nearest("true"))).is_ok());
    assert_eq!(refused(&message("1", &nearest("1"))), Damage::Field("citations"));
    let index = |v: &str| format!(r#"{{"type":"index","message_id":"{ID}","model":"m","terms":[["a",1]],"embedding":{v}}}"#);
    assert!(Line::parse(&index("[1,0.5]")).is_ok());
    assert_eq!(refused(&index("[1e300]")), Damage::Field("embedding"));
    assert_eq!(refused(&index("[null]")), Damage::Field("embedding"));
}

#[test]
fn newer_version_is_reported_first() {
    assert_eq!(refused(r#"{"format":"recall-archive","version":3,"new":true}"#), Damage::TooNew(3));
    assert_eq!(refused(r#"{"format":"recall-archive","version":0}"#), Damage::Field("version"));
    assert_eq!(refused(r#"{"format":"tar"}"#), Damage::NotAnArchive);
}

#[test]
fn numbers_beyond_their_bounds_are_refused() {
    let fact = |support: &str, created: &str| {
        format!(
            r#"{{"type":"fact","id":"{ID}","subject_id":"{ID}","relation":"LIKES","object_id":"{ID}","support":{support},"opposition":0.0,"weighed_at":1,"status":"active","flagged":false,"created_at":{created},"updated_at":1}}"#
        )
    };
    assert!(Line::parse(&fact("1.5", "1")).is_ok());
    for support in ["1e308", "1e10", "-0.5", "null"] {
        assert_eq!(refused(&fact(support, "1")), Damage::Field("support"), "{support}");
    }
    assert_eq!(refused(&fact("1", "9223372036854775807")), Damage::Field("created_at"));
    let owner = |head: &str| format!(r#"{{"type":"user","id":"{ID}","feed_head":{head},"knowledge_version":1}}"#);
    assert!(Line::parse(&owner("7")).is_ok());
    // A counter that cannot grow would refuse every message.
    assert_eq!(refused(&owner("9223372036854775807")), Damage::Field("feed_head"));
    let key = |confidence: &str, span: &str| {
        format!(
            r#"{{"type":"evidence","fact_id":"{ID}","message_id":"{ID}","stance":"supports","session_id":"{ID}","confidence":{confidence},{span}"excerpt":"x","created_at":1}}"#
        )
    };
    assert!(Line::parse(&key("1.0", r#""span_start":1,"span_end":2,"#)).is_ok());
    assert_eq!(refused(&key("1.1", "")), Damage::Field("confidence"));
    assert_eq!(refused(&key("1.0", r#""span_start":3,"span_end":2,"#)), Damage::Field("span_end"));
}
