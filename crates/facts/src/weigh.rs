//! Weighs the evidence for and against facts.
//!
//! Each fact has a support r, an opposition s and the time t to which they refer. With h the half-life of the relation:
//!
//! ```text
//! r <- r * 2^(-dt/h) + c      when a message states it (c = confidence of the extraction)
//! s <- s * 2^(-dt/h) + c      when a message denies or ends it, or states a rival
//! weight = r now              belief = (r+1)/(r+s+2)              uncertainty = 2/(r+s+2)
//! ```
//!
//! The formulas of decay, belief and uncertainty are in `recall_domain::belief`. Unconfirmed facts drift to unknown, not to false. A
//! message older than t counts with the weight it would have left at t. So the order in which independent messages arrive does not
//! change the result.

use recall_domain::{
    Evidence, Fact, FactStatus, MessageId, Ontology, Relation, SaidPeriod, Stance, Timestamp,
    belief::{DOCUMENT_MOST, FLAG_BELOW, belief, decay, half_life, is_of_document, uncertainty},
    value::ValueDate,
};
use recall_ports::FactKey;

/// Weight, belief and uncertainty of a fact at one moment.
///
/// The values are rounded to four decimals, so a few minutes of decay do not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Discounted support: 1.0 directly after one plain statement.
    pub weight: f64,
    /// Expected probability that the fact holds, 0 to 1; 0.5 without evidence.
    pub belief: f64,
    /// Uncertainty, 0 to 1; 1 without evidence.
    pub uncertainty: f64,
}

/// Returns weight, belief and uncertainty of a fact at `now`.
pub fn standing(fact: &Fact, relation: Option<&Relation>, now: Timestamp) -> Standing {
    let left = decay(fact.weighed_at, now, half_life(relation));
    let (r, s) = (fact.support * left, fact.opposition * left);
    Standing { weight: round(r), belief: round(belief(r, s)), uncertainty: round(uncertainty(r, s)) }
}

fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

/// Whether two facts contradict each other.
///
/// Rivals are two objects of a functional relation or two values that measure the same, or a relation and its opposite for one pair.
pub fn is_rival(a: &Fact, b: &Fact, ontology: &Ontology) -> bool {
    let Some(relation) = ontology.get(&a.relation) else { return false };
    let same_pair = a.subject == b.subject && a.object == b.object;
    let swapped = relation.symmetric && a.subject == b.object && a.object == b.subject;
    if a.relation == b.relation {
        return relation.functional && measure_the_same(a, b);
    }
    relation.opposite.as_ref() == Some(&b.relation) && (same_pair || swapped)
}

/// Whether a fact usually replaces another one when something changes: a new employer, although one can have two.
pub(super) fn is_predecessor(new: &Fact, old: &Fact, ontology: &Ontology) -> bool {
    let successive = ontology.get(&new.relation).is_some_and(|r| r.successive);
    successive && new.relation == old.relation && measure_the_same(new, old)
}

/// Whether two facts of one relation give their subject another object, or another value of the same measure.
fn measure_the_same(a: &Fact, b: &Fact) -> bool {
    let same_label = match (&a.value, &b.value) {
        (Some(a), Some(b)) => a.same_label(b),
        _ => true,
    };
    a.subject == b.subject && same_label && !a.same_object(b)
}

/// Returns keys that find every rival of a fact. For a functional relation they find the fact itself too.
pub fn rival_keys(fact: &Fact, ontology: &Ontology) -> Vec<FactKey> {
    let Some(relation) = ontology.get(&fact.relation) else { return Vec::new() };
    let mut keys = Vec::new();
    if relation.functional {
        keys.push(FactKey { subject: fact.subject, relation: fact.relation.clone(), object: None, value: None });
    }
    if let Some(opposite) = &relation.opposite {
        keys.push(FactKey { subject: fact.subject, relation: opposite.clone(), object: Some(fact.object), value: None });
        if relation.symmetric {
            keys.push(FactKey { subject: fact.object, relation: opposite.clone(), object: Some(fact.subject), value: None });
        }
    }
    keys
}

/// Returns the share of a fact's support among itself and its rivals, 0 to 1.
///
/// The shares of active facts add up to 1. An ended or retracted fact has 0 while it has an active rival, and 1 otherwise.
///
/// `others` may contain any facts; only rivals count.
pub fn relative_weight<'f>(fact: &Fact, others: impl IntoIterator<Item = &'f Fact>, ontology: &Ontology, now: Timestamp) -> f64 {
    let weight = |f: &Fact| f.support_at(now, half_life(ontology.get(&f.relation)));
    let rivals: Vec<f64> = others
        .into_iter()
        .filter(|o| o.id != fact.id && o.status == FactStatus::Active && is_rival(fact, o, ontology))
        .map(weight)
        .filter(|w| *w > 0.0)
        .collect();
    let against: f64 = rivals.iter().sum();
    if against <= 0.0 {
        return 1.0;
    }
    if fact.status != FactStatus::Active {
        return 0.0;
    }
    let own = weight(fact);
    round(own / (own + against))
}

/// Applies one message to a fact. Returns whether this made the fact active again.
pub fn apply(fact: &mut Fact, stance: Stance, at: Timestamp, confidence: f64, half_life_days: f64) -> bool {
    if at > fact.weighed_at {
        let left = decay(fact.weighed_at, at, half_life_days);
        fact.support *= left;
        fact.opposition *= left;
        fact.weighed_at = at;
    }
    let counts = confidence * decay(at, fact.weighed_at, half_life_days);
    if is_of_document(confidence) {
        apply_document(fact, stance, at, counts);
        return false;
    }
    match stance {
        Stance::Supports => {
            fact.support += counts;
            fact.flagged = fact.flagged && confidence < FLAG_BELOW;
            fact.last_support = Some(fact.last_support.map_or(at, |l| l.max(at)));
            match (fact.status, fact.valid_to) {
                // Only a statement made after the end restores the fact. At the same moment, the one that arrives later counts.
                (FactStatus::Ended | FactStatus::Retracted, Some(end)) if at < end => {}
                (FactStatus::Ended | FactStatus::Retracted, _) => {
                    fact.status = FactStatus::Active;
                    fact.valid_from = Some(at);
                    fact.valid_to = None;
                    return true;
                }
                (FactStatus::Active, _) => fact.valid_from = Some(fact.valid_from.map_or(at, |v| v.min(at))),
            }
        }
        Stance::Opposes => fact.opposition += counts,
        Stance::Ends => {
            fact.opposition += counts;
            let overtaken = fact.last_support.is_some_and(|l| l > at);
            if fact.status != FactStatus::Retracted && !overtaken {
                fact.status = FactStatus::Ended;
                fact.valid_to = Some(fact.valid_to.map_or(at, |v| v.max(at)));
            }
        }
    }
    false
}

/// Keeps when the fact began and ended, as a message that was just applied tells it. Of a month and a day of it the day stays; else the earlier beginning and the
/// later end, so that the order of messages makes no difference while the fact holds. No fact ends before it began.
pub fn keep_period(fact: &mut Fact, stance: Stance, told: &SaidPeriod, is_restored: bool) {
    let known = if is_restored { SaidPeriod::default() } else { std::mem::take(&mut fact.said_period) };
    let ends = stance == Stance::Ends && fact.status == FactStatus::Ended;
    // "I met Anna yesterday" is no beginning of what was known before.
    let is_possible = |from: &ValueDate| fact.valid_from.is_none_or(|stated| from.as_str() <= stated.date_naive().to_string().as_str());
    let from = if stance == Stance::Supports || ends { better(known.from, told.from.clone(), false) } else { known.from };
    let from = from.filter(is_possible);
    let to = if ends { better(known.to, told.to.clone(), true) } else { known.to };
    let is_inverted =
        |to: &ValueDate| from.as_ref().is_some_and(|from| to.as_str() < from.as_str() && !from.as_str().starts_with(to.as_str()));
    fact.said_period = SaidPeriod { to: to.filter(|to| !is_inverted(to)), from };
}

/// Returns the better one of two dates: the more exact one if it lies within the other, else the later or the earlier one.
fn better(a: Option<ValueDate>, b: Option<ValueDate>, later: bool) -> Option<ValueDate> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let takes_b = if b.as_str().starts_with(a.as_str()) || a.as_str().starts_with(b.as_str()) {
        b.as_str().len() > a.as_str().len()
    } else {
        (b.as_str() > a.as_str()) == later
    };
    Some(if takes_b { b } else { a })
}

/// Applies a statement of a document, which never ends or restores what people said, and adds up to little.
fn apply_document(fact: &mut Fact, stance: Stance, at: Timestamp, counts: f64) {
    let add = |sum: f64| sum.max((sum + counts).min(DOCUMENT_MOST));
    match stance {
        Stance::Supports => {
            fact.support = add(fact.support);
            if fact.status == FactStatus::Active && fact.valid_from.is_none() {
                fact.valid_from = Some(at);
            }
        }
        Stance::Opposes | Stance::Ends => fact.opposition = add(fact.opposition),
    }
}

/// Re-weighs a fact from all its evidence.
///
/// Returns `None` if no row is about the fact itself: a stated rival alone does not show that the fact was ever stated. A retracted
/// fact stays retracted.
pub fn reweigh(fact: &Fact, evidence: &[Evidence], half_life_days: f64) -> Option<Fact> {
    let evidence = in_order(evidence.iter());
    let first = evidence.first()?;
    evidence.iter().find(|e| e.span.is_some())?;
    let mut fresh = Fact { flagged: true, ..unweighed(fact, first.created_at) };
    for e in evidence {
        let is_restored = apply(&mut fresh, e.stance, e.created_at, e.confidence, half_life_days);
        keep_period(&mut fresh, e.stance, &e.said_period, is_restored);
    }
    fresh.flagged = fresh.flagged && fresh.support > 0.0;
    if fact.status == FactStatus::Retracted {
        fresh.status = FactStatus::Retracted;
        fresh.valid_to = fact.valid_to;
    }
    Some(fresh)
}

/// A place in time: of a message, among others of the same moment.
pub(super) type Place = (Timestamp, MessageId);

/// Returns the status of a fact after each row of its evidence, in order; `None` as long as no row is about the fact itself.
pub(super) fn statuses<'e>(
    fact: &Fact,
    evidence: impl Iterator<Item = &'e Evidence>,
    half_life_days: f64,
) -> Vec<(Place, Option<FactStatus>)> {
    let evidence = in_order(evidence);
    let Some(first) = evidence.first() else { return Vec::new() };
    let mut weighed = unweighed(fact, first.created_at);
    let mut is_about_it = false;
    let status_after = |e: &Evidence| {
        apply(&mut weighed, e.stance, e.created_at, e.confidence, half_life_days);
        is_about_it |= e.span.is_some();
        ((e.created_at, e.message), is_about_it.then_some(weighed.status))
    };
    evidence.into_iter().map(status_after).collect()
}

fn in_order<'e>(evidence: impl Iterator<Item = &'e Evidence>) -> Vec<&'e Evidence> {
    let mut evidence: Vec<&Evidence> = evidence.collect();
    evidence.sort_by_key(|e| (e.created_at, e.message, stance_order(e.stance)));
    evidence
}

/// Returns a fact without the weight of any evidence.
fn unweighed(fact: &Fact, at: Timestamp) -> Fact {
    Fact {
        support: 0.0,
        opposition: 0.0,
        weighed_at: at,
        status: FactStatus::Active,
        valid_from: None,
        valid_to: None,
        said_period: SaidPeriod::default(),
        last_support: None,
        ..fact.clone()
    }
}

/// Returns the order of stances within one message: an end comes before a new statement ("moved from X to Y").
pub(super) fn stance_order(stance: Stance) -> u8 {
    match stance {
        Stance::Ends => 0,
        Stance::Opposes => 1,
        Stance::Supports => 2,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use recall_domain::{
        EntityId, FactId, SessionId,
        belief::{DOCUMENT_SHARE, DROP_BELOW},
    };

    const HALF_LIFE: f64 = 365.0;

    fn fact() -> Fact {
        let at = Timestamp::UNIX_EPOCH;
        Fact {
            id: FactId(Uuid::nil()),
            subject: EntityId(Uuid::nil()),
            relation: "LIVES_IN".to_owned(),
            object: EntityId(Uuid::nil()),
            value: None,
            support: 0.0,
            opposition: 0.0,
            weighed_at: at,
            status: FactStatus::Active,
            flagged: true,
            valid_from: None,
            valid_to: None,
            said_period: SaidPeriod::default(),
            last_support: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn evidence(number: u128, stance: Stance, confidence: f64) -> Evidence {
        Evidence {
            fact: FactId(Uuid::nil()),
            message: MessageId(Uuid::from_u128(number)),
            session: SessionId(Uuid::nil()),
            stance,
            confidence,
            span: Some(recall_domain::Span { start: 0, end: 1 }),
            excerpt: "x".into(),
            said_period: SaidPeriod::default(),
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn many_documents_count_less_than_one_person() {
        let documents = |stance| (0..100).map(move |n| evidence(n, stance, DOCUMENT_SHARE));
        let all: Vec<Evidence> = documents(Stance::Supports).collect();
        let known = reweigh(&fact(), &all, HALF_LIFE).unwrap();
        assert!(known.support <= DOCUMENT_MOST && known.flagged && known.valid_from.is_some());
        let told: Vec<Evidence> = documents(Stance::Opposes).chain([evidence(1_000, Stance::Supports, DROP_BELOW)]).collect();
        let told = reweigh(&fact(), &told, HALF_LIFE).unwrap();
        assert!(told.belief() > 0.5 && told.support > told.opposition, "{told:?}");
    }

    #[test]
    fn dates_of_a_fact_do_not_depend_on_the_order_of_messages() {
        let period = |text: &str| SaidPeriod::parse(text).unwrap();
        // All told dates are before the messages.
        let said_at = Timestamp::UNIX_EPOCH + chrono::Duration::days(365 * 60);
        let told = |stance, text: &str| Evidence { said_period: period(text), created_at: said_at, ..evidence(1, stance, 1.0) };
        for (texts, expected) in [
            (["2019/", "2017/"], "2017/"),
            (["2019/", "2019-03/"], "2019-03/"),
            (["2010/", "2026-05-04/"], "2010/"),
            (["2010/", "/"], "2010/"),
            // Later than the message.
            (["2040/", "/"], "/"),
        ] {
            for order in [[0, 1], [1, 0]] {
                let rows = order.map(|i| told(Stance::Supports, texts[i]));
                assert_eq!(reweigh(&fact(), &rows, HALF_LIFE).unwrap().said_period, period(expected), "{texts:?}");
            }
        }
        // An older message, which may be read later, shows that the fact was known before the date that a newer one tells.
        let older = Evidence { created_at: said_at - chrono::Duration::days(90), ..told(Stance::Supports, "/") };
        let newer = told(Stance::Supports, "2029-12-01/");
        for rows in [[&older, &newer], [&newer, &older]] {
            let mut known = unweighed(&fact(), rows[0].created_at);
            for row in rows {
                let is_restored = apply(&mut known, row.stance, row.created_at, row.confidence, HALF_LIFE);
                keep_period(&mut known, row.stance, &row.said_period, is_restored);
            }
            assert_eq!(known.said_period, period("/"));
        }
        let later = said_at + chrono::Duration::days(1);
        let ended = |to: &str| {
            let rows = [told(Stance::Supports, "2019/"), Evidence { created_at: later, ..told(Stance::Ends, to) }];
            reweigh(&fact(), &rows, HALF_LIFE).unwrap().said_period
        };
        assert_eq!((ended("/2024"), ended("/2010"), ended("/2019")), (period("2019/2024"), period("2019/"), period("2019/2019")));
    }

    #[test]
    fn document_neither_ends_nor_restores_what_a_person_said() {
        let mut known = fact();
        apply(&mut known, Stance::Supports, Timestamp::UNIX_EPOCH, 1.0, HALF_LIFE);
        apply(&mut known, Stance::Ends, Timestamp::UNIX_EPOCH, DOCUMENT_SHARE, HALF_LIFE);
        assert_eq!((known.status, known.valid_to), (FactStatus::Active, None));
        let later = Timestamp::UNIX_EPOCH + chrono::Duration::days(1);
        apply(&mut known, Stance::Ends, later, 1.0, HALF_LIFE);
        assert!(!apply(&mut known, Stance::Supports, later, DOCUMENT_SHARE, HALF_LIFE));
        assert_eq!(known.status, FactStatus::Ended);
    }
}
