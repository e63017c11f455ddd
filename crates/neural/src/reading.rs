//! Turns what the network says into an extraction.

use std::collections::BTreeMap;

use recall_domain::{CandidateFact, CandidateValue, Extraction, MessageKind, Ontology, Party, Polarity, PossibleEnd, Span};

use crate::coordination::{are_coordinated, is_coordinated_with_speaker};
use crate::kinds::kind_of;
use crate::marks::{KINDS, POLARITIES, RELATIONS, TYPES, covered, is_pronoun, marks, place};
use crate::names::{Names, is_name};
use crate::network::{Network, Pair, PairScores, States, TAGS};
use crate::others::{ends_for_another, is_between_others, is_said_of_owned};
use crate::quotations::quotations;
use crate::tokens::{MAX_TOKENS, Token, tokenise};
use crate::unasserted::is_unasserted;
use crate::unsettled::{is_taken_back, is_unsettled};

/// Relations without a direction.
pub(crate) const SYMMETRIC: [&str; 3] = ["KNOWS", "FAMILY_OF", "WORKS_WITH"];
/// Most candidates of one message, because their pairs cost the square of it.
const MAX_CANDIDATES: usize = 24;
/// Probability from which a fact is taken that no rule found.
const NEW_FACT: f32 = 0.6;
/// The same for two people other than the speaker, because few texts state a relation between them without a word that the rules know.
const NEW_FACT_OF_OTHERS: f32 = 0.85;
/// Probability below which a fact of the rules is dropped.
const RULES_FACT: f32 = 0.02;
/// Characters after a sentence in which it may be taken back.
const MAX_REMARK: usize = 40;
/// Highest confidence of a fact that no rule found.
const MAX_CONFIDENCE: f64 = 0.9;

/// A range of tokens: the first, and one past the last.
pub(crate) type Range = (usize, usize);
/// The speaker's place.
pub(crate) const SPEAKER: Range = (0, 1);

/// A word or several that the network takes for an entity.
pub(crate) struct Tagged {
    pub(crate) range: Range,
    pub(crate) entity_type: usize,
}

/// The scores of pairs of candidates, by the places of subject and object among the candidates.
type Scores = BTreeMap<(usize, usize), PairScores>;

/// Corrects and completes what the rules found in a text.
pub(crate) fn reread(network: &Network, ontology: &Ontology, text: &str, rules: Extraction) -> Extraction {
    let tokens = tokenise(text, network.vocabulary());
    let unknown = tokens.iter().filter(|t| !t.known).count();
    if tokens.len() < 2 || unknown * 2 > tokens.len() - 1 {
        // There is nothing to read, or it is in another script.
        return rules;
    }
    let states = network.states(&tokens, &marks(&tokens, &rules));
    let kind = kind_of(text, &rules, KINDS[largest(&network.kinds(&states))]);
    let of_rules: Vec<Option<Range>> = rules.mentions.iter().map(|m| covered(&tokens, m.span)).collect();
    let tagged = tagged_entities(&network.tags(&states), text, &tokens, &of_rules);
    let ranges = candidates(&rules, &of_rules, &tagged);
    let scores = scores_of_pairs(network, &states, &pairs_of_rules(&rules, &of_rules, &ranges), &ranges);

    let mut names = Names { text, tokens: &tokens, rules: &rules, of_rules: &of_rules, tagged: &tagged, mentions: Vec::new() };
    for t in tagged.iter().filter(|t| of_rules.contains(&Some(t.range)) || is_name(text, span_of(&tokens, t.range))) {
        names.party(t.range);
    }
    let (mut facts, doubted_ends) = likely_facts_of_rules(&mut names, &ranges, &scores);
    // What is a value and a thing, as in "allergic to peanuts", stays a thing.
    let values: Vec<String> = rules.facts.iter().filter_map(|f| value_words(f.value.as_ref()?)).collect();
    for (i, mention) in rules.mentions.iter().enumerate() {
        if values.contains(&mention.name.to_lowercase()) {
            names.party_of_rules(Party::Mention(i));
        }
    }
    // A question states nothing, also if it presumes something: "Where does my sister live?"
    if kind == MessageKind::Question {
        facts.retain(|f| !matches!(f.value, Some(CandidateValue::Note(_))));
    } else {
        add_new_facts(&mut facts, &mut names, ontology, &ranges, &scores);
    }
    if tokens.len() == MAX_TOKENS {
        // The rest of the text is read by the rules alone.
        for (i, range) in of_rules.iter().enumerate() {
            if range.is_none() {
                names.party_of_rules(Party::Mention(i));
            }
        }
    }
    let possible_ends = rules.possible_ends.iter().map(|e| names.end_of_rules(e)).chain(doubted_ends).collect();
    let said = rules.names.iter().filter_map(|n| names.statement_of_rules(*n)).collect();
    names.finish(kind, facts, possible_ends, said)
}

/// Returns the entities that the network tags. What somebody else says of themselves is no statement of the speaker.
fn tagged_entities(tags: &[[f32; TAGS]], text: &str, tokens: &[Token], of_rules: &[Option<Range>]) -> Vec<Tagged> {
    let quoted = quotations(text);
    let is_quoted = |t: &Tagged| quoted.iter().any(|q| q.start <= tokens[t.range.0].span.start && tokens[t.range.1 - 1].span.end <= q.end);
    entities(tags, tokens).into_iter().filter(|t| !is_quoted(t)).map(|t| with_title(t, text, tokens, of_rules)).collect()
}

/// Returns the places that a fact may connect, at most [`MAX_CANDIDATES`] and the speaker, which comes first.
fn candidates(rules: &Extraction, of_rules: &[Option<Range>], tagged: &[Tagged]) -> Vec<Range> {
    let in_facts: Vec<Range> = rules.facts.iter().flat_map(|f| [f.subject, f.object]).filter_map(|p| range_of(p, of_rules)).collect();
    let is_candidate = |range: &Range| in_facts.contains(range) || !overlaps_other(*range, tagged);
    let mut ranges: Vec<Range> = tagged.iter().map(|t| t.range).chain(of_rules.iter().flatten().copied().filter(is_candidate)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    ranges.truncate(MAX_CANDIDATES);
    ranges.insert(0, SPEAKER);
    ranges
}

/// Scores all pairs of candidates. `said` has the marks of what the rules say about a pair.
fn scores_of_pairs(network: &Network, states: &States, said: &BTreeMap<(usize, usize), Vec<usize>>, ranges: &[Range]) -> Scores {
    let candidates = network.candidates(states, ranges);
    let others = |subject: usize| (0..ranges.len()).filter(move |&object| object != subject);
    let pairs: Vec<Pair> = (0..ranges.len())
        .flat_map(|subject| others(subject).map(move |object| (subject, object)))
        .map(|pair| Pair { subject: pair.0, object: pair.1, said: said.get(&pair).map_or(&[][..], Vec::as_slice) })
        .collect();
    let scores = network.pairs(&candidates, &pairs);
    pairs.iter().map(|p| (p.subject, p.object)).zip(scores).collect()
}

/// Returns the facts of the rules that the network does not exclude, and the ends that it excludes: these still end what is known.
///
/// If the network did not see a fact or does not know its relation, the rules decide alone. It reads one message, so it cannot know who
/// "he" is.
fn likely_facts_of_rules(names: &mut Names<'_>, ranges: &[Range], scores: &Scores) -> (Vec<CandidateFact>, Vec<PossibleEnd>) {
    let (text, rules, of_rules) = (names.text, names.rules, names.of_rules);
    let is_likely = |fact: &CandidateFact| {
        let relation = RELATIONS.iter().position(|r| *r == fact.relation);
        let seen = pair_of(fact, of_rules, ranges).filter(|_| ![fact.subject, fact.object].iter().any(|p| is_pronoun(text, rules, *p)));
        seen.zip(relation).is_none_or(|(pair, relation)| scores[&pair].relations[relation] >= RULES_FACT)
    };
    let (mut facts, mut ends) = (Vec::new(), Vec::new());
    for fact in &rules.facts {
        // "Lena and I went to Oaxaca": what is likely of one is likely of the other.
        let says_of = |other: &CandidateFact| {
            other.value.is_none() && (&other.relation, other.object, other.polarity) == (&fact.relation, fact.object, fact.polarity)
        };
        if is_likely(fact) || rules.facts.iter().any(|other| says_of(other) && is_likely(other)) {
            let parties = [fact.subject, fact.object].map(|p| names.party_of_rules(p));
            facts.push(CandidateFact { subject: parties[0], object: parties[1], ..fact.clone() });
        } else if fact.polarity == Polarity::Ended {
            let [subject, object] = [fact.subject, fact.object].map(|p| names.party_of_rules(p));
            let (relation, object) = (fact.relation.clone(), Some(object));
            ends.push(PossibleEnd { subject, relation, object, confidence: fact.confidence, span: fact.span });
        }
    }
    (facts, ends)
}

/// Adds the likely facts that no rule found, unless a likelier one excludes them.
fn add_new_facts(facts: &mut Vec<CandidateFact>, names: &mut Names<'_>, ontology: &Ontology, ranges: &[Range], scores: &Scores) {
    let chars: Vec<char> = names.text.chars().collect();
    for new in new_facts(scores, ranges, names.tagged) {
        let relation = RELATIONS[new.relation];
        let polarity = POLARITIES[largest(&scores[&(new.subject, new.object)].polarities)];
        let span = joined(names.tokens, ranges[new.subject], ranges[new.object]);
        let at = |place: usize| (ranges[place] != SPEAKER).then(|| span_of(names.tokens, ranges[place]));
        let sentence: String = chars[span.sentence(&chars)].iter().collect();
        let after: String = chars[span.sentence(&chars).end..].iter().take(MAX_REMARK).collect();
        if is_unsettled(&sentence, relation, polarity)
            || is_taken_back(&after)
            || is_unasserted(&chars, at(new.subject), at(new.object), polarity)
            || is_said_of_owned(names, ranges, &new, facts)
            || polarity == Polarity::Ended && ends_for_another(names, ranges, &new)
            || is_between_others(names, ranges, &new, polarity)
        {
            continue;
        }
        let (subject, object) = (names.party(ranges[new.subject]), names.party(ranges[new.object]));
        let is_known = ontology.get(relation).is_some();
        let joined_with = |f: &CandidateFact| match (f.subject, subject) {
            (Party::Mention(a), Party::Mention(b)) => are_coordinated(names.text, names.mentions[a].span, names.mentions[b].span),
            (Party::Speaker, Party::Mention(i)) | (Party::Mention(i), Party::Speaker) => {
                is_coordinated_with_speaker(names.text, names.mentions[i].span)
            }
            _ => false,
        };
        let is_value = || matches!(object, Party::Mention(i) if is_stated_as_value(facts, subject, &names.mentions[i].name));
        if is_known && subject != object && !facts.iter().any(|f| excludes(f, subject, relation, object) && !joined_with(f)) && !is_value()
        {
            facts.push(CandidateFact {
                subject,
                relation: relation.to_owned(),
                object,
                value: None,
                polarity,
                confidence: confidence(new.chance),
                span,
            });
        }
    }
}

/// Whether the rules state a value of the subject with which the name begins: who has "a peanut allergy" is allergic to peanuts, and owns nothing.
fn is_stated_as_value(facts: &[CandidateFact], subject: Party, name: &str) -> bool {
    let name = name.to_lowercase();
    let begins = |words: String| name.strip_prefix(words.trim_end_matches('s')).is_some_and(|rest| rest.starts_with([' ', 's']));
    facts.iter().filter(|f| f.subject == subject).filter_map(|f| value_words(f.value.as_ref()?)).any(begins)
}

/// Returns the words of a value in lower case; none for a note.
fn value_words(value: &CandidateValue) -> Option<String> {
    (!matches!(value, CandidateValue::Note(_))).then(|| value.text().as_str().to_lowercase())
}

/// A fact that no rule found, between two candidates.
pub(crate) struct NewFact {
    pub(crate) subject: usize,
    pub(crate) relation: usize,
    pub(crate) object: usize,
    chance: f32,
}

/// Returns the likely facts, likeliest first.
fn new_facts(scores: &Scores, ranges: &[Range], tagged: &[Tagged]) -> Vec<NewFact> {
    let mut facts = Vec::new();
    for (&(subject, object), score) in scores {
        if [subject, object].iter().any(|&i| overlaps_other(ranges[i], tagged)) {
            continue;
        }
        for (relation, name) in RELATIONS.iter().enumerate() {
            let symmetric = SYMMETRIC.contains(name);
            // A fact without direction is taken once.
            if symmetric && subject > object {
                continue;
            }
            let chance = match scores.get(&(object, subject)) {
                Some(back) if symmetric => (score.relations[relation] + back.relations[relation]) / 2.0,
                _ => score.relations[relation],
            };
            let of_speaker = subject == 0 || object == 0;
            if chance >= if symmetric && !of_speaker { NEW_FACT_OF_OTHERS } else { NEW_FACT } {
                facts.push(NewFact { subject, relation, object, chance });
            }
        }
    }
    facts.sort_by(|a, b| b.chance.total_cmp(&a.chance));
    facts
}

/// Whether a fact leaves no room for a less likely one.
///
/// A text rarely says the same of two subjects in different words, so another subject with this relation to this object is a misreading. In
/// the same way, two people whom the speaker knows are rarely said to know each other.
fn excludes(fact: &CandidateFact, subject: Party, relation: &str, object: Party) -> bool {
    if fact.relation != relation {
        return false;
    }
    if !SYMMETRIC.contains(&relation) {
        return fact.object == object;
    }
    let of_speaker = fact.subject == Party::Speaker || fact.object == Party::Speaker;
    let parties = [subject, object];
    let shared = [fact.subject, fact.object].iter().filter(|p| parties.contains(p)).count();
    shared == 2 || (of_speaker && shared == 1 && !parties.contains(&Party::Speaker))
}

/// Returns the share of new facts with such a probability that are right, measured on authors that the network was not trained on.
fn confidence(chance: f32) -> f64 {
    let chance = f64::from(chance);
    let right = if chance < 0.75 { 0.5 + (chance - f64::from(NEW_FACT)) / 3.0 } else { 0.55 + (chance - 0.75) * 1.5 };
    right.clamp(0.5, MAX_CONFIDENCE)
}

/// Reads the tags of words: a word that begins an entity, and the words that continue it.
fn entities(tags: &[[f32; TAGS]], tokens: &[Token]) -> Vec<Tagged> {
    let words: Vec<usize> = (1..tokens.len()).filter(|&i| tokens[i].begins).chain([tokens.len()]).collect();
    let mut found = Vec::new();
    let mut word = 0;
    while word + 1 < words.len() {
        let first = words[word];
        word += 1;
        if largest(&tags[first]) == 0 {
            continue;
        }
        let mut types = [0.0; TYPES.len()];
        for (ty, score) in types.iter_mut().enumerate() {
            *score = tags[first][1 + ty] + tags[first][1 + TYPES.len() + ty];
        }
        while word + 1 < words.len() && largest(&tags[words[word]]) > TYPES.len() {
            for (ty, score) in types.iter_mut().enumerate() {
                *score += tags[words[word]][1 + TYPES.len() + ty];
            }
            word += 1;
        }
        found.push(Tagged { range: (first, words[word]), entity_type: largest(&types) });
    }
    found
}

/// Returns what the rules say about pairs of candidates, as marks of the pair.
fn pairs_of_rules(rules: &Extraction, of_rules: &[Option<Range>], ranges: &[Range]) -> BTreeMap<(usize, usize), Vec<usize>> {
    let mut pairs: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut set = |pair, mark| {
        let marks = pairs.entry(pair).or_default();
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    };
    for fact in &rules.facts {
        let (Some((subject, object)), Some(polarity)) = (pair_of(fact, of_rules, ranges), place(&POLARITIES, &fact.polarity)) else {
            continue;
        };
        let Some(relation) = RELATIONS.iter().position(|r| *r == fact.relation) else { continue };
        set((subject, object), relation);
        set((subject, object), RELATIONS.len() + polarity);
        if SYMMETRIC.contains(&RELATIONS[relation]) {
            set((object, subject), relation);
            set((object, subject), RELATIONS.len() + polarity);
        }
    }
    pairs
}

/// Returns the candidates that a fact of the rules connects.
fn pair_of(fact: &CandidateFact, of_rules: &[Option<Range>], ranges: &[Range]) -> Option<(usize, usize)> {
    let candidate = |party| range_of(party, of_rules).and_then(|range| ranges.iter().position(|r| *r == range));
    let pair = (candidate(fact.subject)?, candidate(fact.object)?);
    (pair.0 != pair.1).then_some(pair)
}

/// Returns the place of a party of the rules.
fn range_of(party: Party, of_rules: &[Option<Range>]) -> Option<Range> {
    match party {
        Party::Speaker => Some(SPEAKER),
        Party::Mention(i) => *of_rules.get(i)?,
    }
}

/// Whether a range shares words with an entity of the network and is not that entity.
fn overlaps_other(range: Range, tagged: &[Tagged]) -> bool {
    let same = |t: &Tagged| t.range == range;
    !tagged.iter().any(same) && tagged.iter().any(|t| t.range.0 < range.1 && range.0 < t.range.1)
}

/// Extends a name by the title before it, if the rules read both as one name: "Dr. Haidar".
fn with_title(tagged: Tagged, text: &str, tokens: &[Token], of_rules: &[Option<Range>]) -> Tagged {
    let titled = of_rules.iter().flatten().find(|r| r.1 == tagged.range.1 && r.0 < tagged.range.0);
    let Some(&range) = titled else { return tagged };
    let (start, end) = (tokens[range.0].span.start, tokens[tagged.range.0].span.start);
    let title: String = text.chars().skip(start as usize).take((end - start) as usize).collect();
    let title = title.trim().trim_end_matches('.').to_lowercase();
    let known = matches!(title.as_str(), "dr" | "mr" | "mrs" | "ms" | "miss" | "prof" | "professor" | "sir");
    if known { Tagged { range, ..tagged } } else { tagged }
}

pub(crate) fn span_of(tokens: &[Token], (first, end): Range) -> Span {
    Span { start: tokens[first].span.start, end: tokens[end - 1].span.end }
}

/// Returns the part of the text from one party to the other.
fn joined(tokens: &[Token], a: Range, b: Range) -> Span {
    match (a == SPEAKER, b == SPEAKER) {
        (true, _) => span_of(tokens, b),
        (_, true) => span_of(tokens, a),
        _ => span_of(tokens, (a.0.min(b.0), a.1.max(b.1))),
    }
}

/// Returns the place of the largest value.
fn largest(values: &[f32]) -> usize {
    values.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use recall_domain::{EntityType, Polarity};
    use recall_ports::Extractor;

    use super::*;
    use crate::tokens::Case;

    fn network() -> Network {
        Network::load().unwrap()
    }

    fn tokens(begins: &[bool]) -> Vec<Token> {
        let span = |i| Span { start: i, end: i + 1 };
        (0..).zip(begins).map(|(i, &begins)| Token { id: 0, span: span(i), begins, known: true, case: Case::Lower, opens: false }).collect()
    }

    fn tag(tag: usize, chance: f32) -> [f32; TAGS] {
        let mut tags = [(1.0 - chance) / TAGS as f32; TAGS];
        tags[tag] = chance;
        tags
    }

    #[test]
    fn words_of_one_entity_are_joined_with_all_their_pieces() {
        let continues = 1 + TYPES.len();
        let tags = [tag(0, 0.9), tag(0, 0.9), tag(1, 0.4), tag(0, 0.9), tag(continues + 2, 0.9), tag(0, 0.9), tag(3, 0.9), tag(3, 0.9)];
        let found = entities(&tags, &tokens(&[true, true, true, false, true, true, true, true]));
        let found: Vec<_> = found.iter().map(|t| (t.range, TYPES[t.entity_type])).collect();
        let place = EntityType::Place;
        assert_eq!(found, [((2, 5), place), ((6, 7), place), ((7, 8), place)]);
    }

    fn scores(facts: &[((usize, usize), usize, f32)], candidates: usize) -> BTreeMap<(usize, usize), PairScores> {
        let mut scores = BTreeMap::new();
        for s in 0..candidates {
            for o in (0..candidates).filter(|&o| o != s) {
                scores.insert((s, o), PairScores { relations: [0.0; RELATIONS.len()], polarities: [1.0, 0.0, 0.0] });
            }
        }
        for (pair, relation, chance) in facts {
            scores.get_mut(pair).unwrap().relations[*relation] = *chance;
        }
        scores
    }

    #[test]
    fn jobs_that_somebody_applies_for_and_ends_to_come_are_unsettled() {
        for (text, relation, polarity, expected) in [
            ("I have an interview at Novotek on Friday.", "WORKS_FOR", Polarity::Affirmed, true),
            ("I work at Novotek.", "WORKS_FOR", Polarity::Affirmed, false),
            ("I met Ann at an interview.", "KNOWS", Polarity::Affirmed, false),
            ("I’ll leave Deloitte in May.", "WORKS_FOR", Polarity::Ended, true),
            ("I'm quitting Deloitte at the end of the year.", "WORKS_FOR", Polarity::Ended, true),
            ("I quit Deloitte.", "WORKS_FOR", Polarity::Ended, false),
        ] {
            assert_eq!(is_unsettled(text, relation, polarity), expected, "{text}");
        }
    }

    #[test]
    fn owner_of_what_the_rules_name_is_not_meant() {
        let found = reread(&network(), &ontology(), "Rita married Sam's brother", rules("Rita married Sam's brother"));
        let name = |party| match party {
            Party::Mention(i) => found.mentions[i].name.as_str(),
            Party::Speaker => "I",
        };
        let pairs: Vec<_> = found.facts.iter().map(|f| [name(f.subject), name(f.object)]).collect();
        assert!(pairs.contains(&["Rita", "brother"]) && !pairs.iter().any(|p| p.contains(&"Rita") && p.contains(&"Sam")), "{pairs:?}");
    }

    #[test]
    fn separation_says_nothing_of_the_next_partner_and_the_last() {
        for (text, partners) in
            [("Tess and I broke up, I'm with Lena now", ["Tess", "Lena"]), ("Ben and Ida divorced, Ben's with Eva now", ["Ida", "Eva"])]
        {
            let found = reread(&network(), &ontology(), text, rules(text));
            let is_partner = |party| matches!(party, Party::Mention(i) if partners.contains(&found.mentions[i].name.as_str()));
            let mut ties = found.facts.iter().filter(|f| f.relation == "FAMILY_OF");
            assert!(!ties.any(|f| is_partner(f.subject) && is_partner(f.object)), "{text}: {:?}", found.facts);
        }
    }

    #[test]
    fn opinion_of_others_gives_them_nothing() {
        let text = "my brother thinks I bought a Tesla";
        let found = reread(&network(), &ontology(), text, rules(text));
        assert!(!found.facts.iter().any(|f| f.relation == "OWNS"), "{:?}", found.facts);
    }

    #[test]
    fn what_is_not_asserted_does_not_come_back() {
        for text in [
            "Jim doubts that Kim works for Nokia.",
            "Peter may work for Acme from 2027.",
            "Nobody at Acme uses Windows.",
            "If Kim works for Nokia, she gets a discount.",
            "Suppose Kim works for Nokia.",
            "I nearly moved to Bath",
            "I almost married Tom",
            "I dreamt I lived in Oslo",
            "I pretended I live in Rome",
            "apparently Ed works for the CIA, yeah right",
            "Steve says he owns a Tesla. Just kidding.",
            "Jo is on maternity leave from Siemens",
            "Kim is in Paris this week",
            "I was born in Norwich",
            "our trip to Oslo got cancelled",
            "my trip to Oslo is in May",
            "staying at Hotel Mundial for 4 nights in May",
            "I run with Aisha every sunday morning",
            "Our hosting provider is Hetzner. Payments are processed by Stripe. Crash reports go to Sentry.",
        ] {
            let found = reread(&network(), &ontology(), text, rules(text));
            let is_note = |f: &CandidateFact| matches!(f.value, Some(CandidateValue::Note(_)));
            assert!(found.facts.iter().all(is_note), "{text}: {:?}", found.facts);
        }
        let text = "Peter works with Ann. Laura would like to work for Siemens.";
        let relations: Vec<_> = reread(&network(), &ontology(), text, rules(text)).facts.into_iter().map(|f| f.relation).collect();
        assert!(relations.contains(&"WORKS_WITH".to_owned()) && !relations.contains(&"WORKS_FOR".to_owned()), "{relations:?}");
    }

    #[test]
    fn people_of_one_name_stay_two() {
        let text = "My brother Tom lives in Leeds and my colleague Tom lives in York.";
        let found = reread(&network(), &ontology(), text, rules(text));
        let toms = found.mentions.iter().filter(|m| m.name == "Tom").count();
        let homes: Vec<_> = found.facts.iter().filter(|f| f.relation == "LIVES_IN").map(|f| f.subject).collect();
        assert_eq!(toms, 2, "{:?}", found.mentions);
        assert!(homes.len() == 2 && homes[0] != homes[1], "{:?}", found.facts);
    }

    #[test]
    fn question_keeps_no_note() {
        let note = CandidateFact {
            subject: Party::Speaker,
            relation: "NOTE".to_owned(),
            object: Party::Speaker,
            value: Some(CandidateValue::Note(recall_domain::FactValue::of_text("where does ann live"))),
            polarity: Polarity::Affirmed,
            confidence: 0.6,
            span: Span { start: 0, end: 19 },
        };
        let text = "where does ann live";
        let found = reread(&network(), &ontology(), text, Extraction { facts: vec![note], ..Extraction::empty(MessageKind::Statement) });
        assert_eq!((found.kind, found.facts), (MessageKind::Question, Vec::new()));
    }

    #[test]
    fn end_that_the_network_doubts_still_ends_what_is_known() {
        for text in ["We had to put Monty down.", "I cancelled my membership at Riverside Gym.", "I sold the car."] {
            let rules = rules(text);
            assert!(rules.facts.iter().any(|f| f.polarity == Polarity::Ended), "{text}");
            let found = reread(&network(), &ontology(), text, rules.clone());
            for end in rules.facts.iter().filter(|f| f.polarity == Polarity::Ended) {
                let is_fact = found.facts.iter().any(|f| f.relation == end.relation && f.polarity == Polarity::Ended);
                let is_possible = found.possible_ends.iter().any(|e| e.relation == end.relation && e.object.is_some());
                assert!(is_fact != is_possible, "{text}: {found:?}");
            }
        }
    }

    #[test]
    fn likely_facts_are_taken_once_and_likeliest_first() {
        let knows = RELATIONS.iter().position(|r| *r == "KNOWS").unwrap();
        let ranges = [SPEAKER, (1, 2), (3, 5), (3, 4)];
        let tagged = [Tagged { range: (1, 2), entity_type: 0 }, Tagged { range: (3, 5), entity_type: 0 }];
        let scores = scores(
            &[((0, 1), 0, 0.7), ((1, 2), 0, 0.99), ((2, 1), knows, 0.9), ((1, 2), knows, 0.9), ((0, 2), 0, 0.2), ((0, 3), 0, 0.99)],
            4,
        );
        let found: Vec<_> = new_facts(&scores, &ranges, &tagged).iter().map(|f| (f.subject, f.relation, f.object)).collect();
        // (0, 3) is a part of an entity.
        assert_eq!(found, [(1, 0, 2), (1, knows, 2), (0, 0, 1)]);
    }

    #[test]
    fn facts_exclude_other_readings_of_the_same_words() {
        let fact = |subject, relation: &str, object| CandidateFact {
            subject,
            relation: relation.to_owned(),
            object,
            value: None,
            polarity: Polarity::Affirmed,
            confidence: 1.0,
            span: Span { start: 0, end: 1 },
        };
        let (speaker, a, b, c) = (Party::Speaker, Party::Mention(0), Party::Mention(1), Party::Mention(2));
        let likes = fact(speaker, "LIKES", a);
        assert!(excludes(&likes, b, "LIKES", a) && !excludes(&likes, speaker, "LIKES", b) && !excludes(&likes, b, "OWNS", a));
        let knows = fact(speaker, "KNOWS", a);
        assert!(excludes(&knows, a, "KNOWS", speaker) && excludes(&knows, a, "KNOWS", b));
        assert!(!excludes(&knows, speaker, "KNOWS", b) && !excludes(&knows, b, "KNOWS", c));
        assert!(!excludes(&fact(a, "KNOWS", b), a, "KNOWS", c) && excludes(&fact(a, "KNOWS", b), b, "KNOWS", a));
    }

    fn ontology() -> Ontology {
        Ontology::parse(recall_understand::default_ontology()).unwrap()
    }

    fn rules(text: &str) -> Extraction {
        recall_understand::Pipeline::new(std::sync::Arc::new(ontology())).read(text)
    }

    #[test]
    fn relations_of_another_ontology_are_not_stated() {
        let text = "I really love hiking, and I love jazz.";
        let relations = |ontology: &Ontology| {
            let found = reread(&network(), ontology, text, Extraction::empty(MessageKind::Other));
            found.facts.into_iter().map(|f| f.relation).collect::<Vec<_>>()
        };
        assert!(relations(&ontology()).contains(&"LIKES".to_owned()));
        let other = "[[relation]]\nname = \"MENTORS\"\nphrase = \"mentors\"\ndescription = \"Guides.\"\nhalf_life_days = 100.0\n";
        assert_eq!(relations(&Ontology::parse(other).unwrap()), Vec::<String>::new());
    }

    #[test]
    fn plain_statements_stay_as_the_rules_read_them() {
        let network = network();
        for text in ["John likes Mary.", "I use Vim.", "My manager Dave lives in Ghent.", "I no longer use Jenkins."] {
            let found = reread(&network, &ontology(), text, rules(text));
            let stated = |e: &Extraction| {
                let name = |p| match p {
                    Party::Speaker => "I".to_owned(),
                    Party::Mention(i) => e.mentions[i].name.clone(),
                };
                e.facts.iter().map(|f| (name(f.subject), f.relation.clone(), name(f.object), f.polarity, f.confidence)).collect::<Vec<_>>()
            };
            assert_eq!(stated(&found), stated(&rules(text)), "{text}");
            assert_eq!(found.kind, MessageKind::Statement);
        }
    }

    #[test]
    fn fact_about_somebody_named_earlier_is_kept() {
        let (network, text) = (network(), "He lives in Rome.");
        let mut of_rules = rules("Otto lives in Rome.");
        for span in of_rules.mentions.iter_mut().map(|m| &mut m.span).chain(of_rules.facts.iter_mut().map(|f| &mut f.span)) {
            (span.start, span.end) = (span.start.saturating_sub(2), span.end - 2);
        }
        let found = reread(&network, &ontology(), text, of_rules);
        let names: Vec<_> = found.mentions.iter().map(|m| m.name.as_str()).collect();
        assert_eq!((names, found.facts.len()), (vec!["Otto", "Rome"], 1));
    }

    #[test]
    fn question_states_no_new_fact() {
        let network = network();
        for text in ["Where does my sister live?", "What does my brother Tom do at Siemens?", "Can you write to my boss Ann?"] {
            let found = reread(&network, &ontology(), text, rules(text));
            assert_eq!(found.kind, MessageKind::Question, "{text}");
            assert_eq!(found.facts.len(), rules(text).facts.len(), "{text}");
        }
    }

    #[test]
    fn any_text_gives_a_consistent_extraction() {
        let network = network();
        let long = "My sister Ann likes Bob and my brother Carl works for Acme in Ghent. ".repeat(60);
        for text in ["", " ", "👩‍👩‍👧 🎉", "日本語のテキスト", "\u{0}\u{1}", "?", "ok", long.as_str(), &"a ".repeat(5000), &"Ann ".repeat(300)]
        {
            let of_rules = rules(text);
            let (facts, mentions) = (of_rules.facts.len(), of_rules.mentions.len());
            let found = reread(&network, &ontology(), text, of_rules);
            let points = u32::try_from(text.chars().count()).unwrap();
            assert!(found.mentions.iter().all(|m| m.span.start < m.span.end && m.span.end <= points && !m.name.is_empty()));
            assert!(found.mentions.windows(2).all(|w| w[0].span.start <= w[1].span.start));
            for f in &found.facts {
                let known = |p| matches!(p, Party::Speaker) || matches!(p, Party::Mention(i) if i < found.mentions.len());
                assert!(
                    known(f.subject)
                        && known(f.object)
                        && (f.subject != f.object || f.value.is_some())
                        && (0.5..=1.0).contains(&f.confidence)
                );
            }
            assert!(found.facts.len() <= facts + 100 && found.mentions.len() <= mentions + 128);
        }
    }

    #[test]
    fn extractor_reads_messages_of_a_batch_like_single_ones() {
        let ontology = std::sync::Arc::new(ontology());
        let pipeline = std::sync::Arc::new(recall_understand::Pipeline::new(ontology.clone()));
        let local = std::sync::Arc::new(recall_understand::LocalExtractor::new(pipeline));
        let extractor = crate::NeuralExtractor::new(local, std::sync::Arc::new(network()), ontology.clone());
        assert!((2..32).contains(&extractor.together()));
        let caller = recall_domain::Caller::verified(recall_domain::UserId(uuid::Uuid::nil()), recall_domain::ViewerRole::User);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let text = "My sister Ann moved to Ghent.";
        let found = runtime.block_on(extractor.extract(&caller, &recall_understand::input(text))).unwrap();
        assert_eq!(found, reread(&network(), &ontology, text, rules(text)));
    }
}
