//! Reads messages that only say how they differ from the one before: corrections of it (see `corrections`), and replies to it (see `replies`).

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;

use super::corrections::{Correction, Reach, corrected, correction, ends_statement, has_value, restates};
use super::replies::{assumption, statement};
use recall_domain::{
    Caller, CandidateFact, CandidateValue, EntityType, Extraction, Mention, MessageKind, Party, Polarity, Role, Similarity, Span, UserText,
    nearest,
};
use recall_ports::extract::{EarlierMessage, ExtractError, ExtractInput, Extractor};

mod echoes;

/// An extractor that reads "No, I meant Tuesday" as a correction of what the same person said before, and "Miriam" as the reply to a question.
pub struct DialogueExtractor {
    inner: Arc<dyn Extractor>,
}

/// What a message says once it is corrected.
struct Corrected {
    text: UserText,
    /// What the message and its corrected text state.
    before: Extraction,
    after: Extraction,
    /// Whether the message was right when it was said.
    is_change: bool,
    /// Whether the right words are another spelling of the wrong ones.
    is_spelling: bool,
}

/// The facts that only one of two readings states.
struct Changes<'e> {
    removed: Vec<&'e CandidateFact>,
    added: Vec<&'e CandidateFact>,
}

impl DialogueExtractor {
    /// Makes an extractor that reads corrections with another one.
    pub fn new(inner: Arc<dyn Extractor>) -> Self {
        Self { inner }
    }

    /// Returns what the message before says in the light of this one; `None` if this is no correction of it.
    async fn correct(&self, caller: &Caller, input: &ExtractInput) -> Result<Option<Corrected>, ExtractError> {
        let Some(last) = correction(input.text.as_str()) else { return Ok(None) };
        let earlier = &input.background.earlier;
        let is_own = |place: &usize| earlier[*place].role == Role::User && earlier[*place].speaker == input.speaker;
        let own: Vec<usize> = (0..earlier.len()).filter(is_own).collect();
        let mut said: Option<(usize, UserText)> = None;
        for (n, &place) in own.iter().enumerate() {
            let text = &earlier[place].text;
            // A correction may itself be corrected.
            let again = match (correction(text.as_str()), &said) {
                (Some(again), Some((first, said))) if n > 0 && reaches(&again, &earlier[own[n - 1] + 1..place]) => {
                    self.reread(caller, input, *first, said, &again).await?.map(|c| (*first, c.text))
                }
                _ => None,
            };
            said = again.or_else(|| Some((place, text.clone())));
        }
        let Some((first, said)) = said else { return Ok(None) };
        if own.last().is_none_or(|&place| !reaches(&last, &earlier[place + 1..])) {
            return Ok(None);
        }
        self.reread(caller, input, first, &said, &last).await
    }

    /// Returns what a message states, and what it takes back of the one directly before it: "No, I live in York", "Not anymore".
    async fn with_taken_back(&self, caller: &Caller, input: &ExtractInput, mut read: Extraction) -> Result<Extraction, ExtractError> {
        let (text, earlier) = (input.text.as_str(), &input.background.earlier);
        let (restates, ends) = (restates(text), ends_statement(text));
        let last = earlier.last().filter(|m| m.role == Role::User && m.speaker == input.speaker);
        let Some(said) = last.filter(|_| restates || ends) else { return Ok(read) };
        let before = self.inner.extract(caller, &earlier_input(input, earlier.len() - 1, said.text.clone())).await?;
        let (facts, polarity) =
            if restates { (restated(&before, &read), Polarity::Negated) } else { (Vec::from_iter(told(&before)), Polarity::Ended) };
        for fact in facts {
            let mut party = |party| carry_over(text, &mut read.mentions, &before, party);
            let (subject, object) = (party(fact.subject), party(fact.object));
            read.facts.insert(0, CandidateFact { subject, object, polarity, span: whole(text), ..fact });
        }
        Ok(read)
    }

    /// Returns what a reply states to the question directly before it: "Miriam" after "What's your sister's name?"; `None` if that is nothing.
    async fn reply(&self, caller: &Caller, input: &ExtractInput) -> Result<Option<Extraction>, ExtractError> {
        let Some(asked) = input.background.earlier.last().filter(|m| m.role == Role::Assistant) else { return Ok(None) };
        let (text, asked, place) = (input.text.as_str(), asked.text.as_str(), input.background.earlier.len() - 1);
        if let Some((assumed, denial)) = assumption(asked).zip(correction(text)) {
            let denial = Correction { is_change: denial.is_change || assumed.has_still, ..denial };
            if let Some(corrected) = self.reread(caller, input, place, &assumed.statement.into(), &denial).await? {
                return Ok(Some(extraction_of(text, &corrected)));
            }
        }
        let Some(statement) = statement(asked, text) else { return Ok(None) };
        // What says something by itself, or asks for something, is no answer: "Write a poem about Rome".
        let alone = self.inner.extract(caller, &earlier_input(input, place, input.text.clone())).await?;
        if alone.kind.asks() || alone.facts.iter().any(is_stated) {
            return Ok(None);
        }
        let mut read = self.inner.extract(caller, &earlier_input(input, place, statement.into())).await?;
        // "Do you have other questions?", "no" is not worth a note.
        read.facts.retain(|fact| is_stated(fact) || has_value(text));
        let mut mentions: Vec<Mention> = Vec::new();
        let facts = read.facts.iter().map(|fact| {
            let mut party = |party| carry_over(text, &mut mentions, &read, party);
            let (subject, object) = (party(fact.subject), party(fact.object));
            CandidateFact { subject, object, span: whole(text), ..fact.clone() }
        });
        let facts: Vec<CandidateFact> = facts.collect();
        Ok((!facts.is_empty()).then(|| Extraction { mentions, facts, ..Extraction::empty(MessageKind::Statement) }))
    }

    /// Reads an earlier message again, corrected. Exactly one way to correct it must change what it states, and nothing else.
    async fn reread(
        &self,
        caller: &Caller,
        input: &ExtractInput,
        place: usize,
        said: &UserText,
        correction: &Correction<'_>,
    ) -> Result<Option<Corrected>, ExtractError> {
        let read = |text: UserText| {
            let input = earlier_input(input, place, text);
            async move { self.inner.extract(caller, &input).await }
        };
        let before = read(said.clone()).await?;
        let mut found: Vec<Corrected> = Vec::new();
        for text in corrected(said.as_str(), correction, &places_of_sides(said.as_str(), &before)) {
            let text = UserText::from(text);
            let after = read(text.clone()).await?;
            if is_correction_of(said.as_str(), &before, &after, correction) {
                let is_spelling = is_spelling(&before, &after, correction.right);
                found.push(Corrected { text, before: before.clone(), after, is_change: correction.is_change, is_spelling });
            }
        }
        if found.len() > 1 && found.iter().any(|c| c.is_spelling) {
            found.retain(|c| c.is_spelling);
        }
        if found.len() > 1 {
            // "I meant Bergen" after "Mia lives in York": the right words alone tell that they are no person.
            let alone = read(input.text.clone()).await?;
            let wanted = type_of(&alone, correction.right);
            found.retain(|c| wanted.is_some() && type_of(&c.after, correction.right) == wanted);
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }
}

#[async_trait]
impl Extractor for DialogueExtractor {
    fn together(&self) -> u32 {
        self.inner.together()
    }

    fn reads_background(&self) -> bool {
        self.inner.reads_background()
    }

    fn looks_ahead(&self) -> u32 {
        self.inner.looks_ahead()
    }

    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        self.extract_ahead(caller, input, &[]).await
    }

    async fn extract_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
        if let Some(corrected) = self.correct(caller, input).await? {
            return Ok(extraction_of(input.text.as_str(), &corrected));
        }
        if let Some(reply) = self.reply(caller, input).await? {
            return Ok(reply);
        }
        if let Some(echo) = self.echo(caller, input).await? {
            return Ok(echo);
        }
        let read = self.inner.extract_ahead(caller, input, next).await?;
        self.with_taken_back(caller, input, read).await
    }
}

/// Whether a correction reaches a message, with the messages between both. Otherwise it may reply to one of them: "No, Tuesday".
fn reaches(correction: &Correction<'_>, between: &[EarlierMessage]) -> bool {
    let asks = |m: &EarlierMessage| m.role == Role::Assistant && m.text.as_str().contains('?');
    match correction.reach {
        Reach::Directly => between.is_empty(),
        Reach::PastStatements => !between.iter().any(asks),
        Reach::Anywhere => true,
    }
}

/// Returns the places, in bytes, of the names and nouns that facts are about.
fn places_of_sides(text: &str, read: &Extraction) -> Vec<Range<usize>> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let is_side = |mention: usize| read.facts.iter().any(|f| [f.subject, f.object].contains(&Party::Mention(mention)));
    let sides = read.mentions.iter().enumerate().filter(|(i, _)| is_side(*i));
    let places = sides.filter_map(|(_, m)| {
        let place = *starts.get(m.span.start as usize)?..*starts.get(m.span.end as usize)?;
        // A pronoun stands for the name.
        text.get(place.clone()).filter(|words| words.eq_ignore_ascii_case(&m.name)).map(|_| place)
    });
    places.collect()
}

/// Whether a reading differs from another one in one thing only: each fact that is no longer stated has one that replaces it.
fn is_correction_of(said: &str, before: &Extraction, after: &Extraction, correction: &Correction<'_>) -> bool {
    let Changes { removed, added } = changes(before, after);
    let kinds = |facts: &[&CandidateFact]| {
        let mut kinds: Vec<String> = facts.iter().map(|f| f.relation.clone()).collect();
        kinds.sort();
        kinds
    };
    let holds = removed.iter().chain(&added).all(|f| f.polarity == Polarity::Affirmed);
    if removed.is_empty() || kinds(&removed) != kinds(&added) || !holds || removed.iter().any(|f| has_other_owner(said, before, f)) {
        return false;
    }
    let Some(entity_type) = type_of(after, correction.right) else {
        return correction.is_value() && added.iter().all(|f| f.value.is_some());
    };
    // Names replace names of the same type. Similar names of people are spellings of one name.
    let is_person = entity_type == EntityType::Person;
    let is_renamed = || correction.wrong.is_some() && is_spelling(before, after, correction.right);
    replaced_mention(before, after).is_some_and(|old| old.entity_type == entity_type)
        && !(is_person && (correction.reach == Reach::Directly && !correction.is_change || is_renamed()))
}

/// Returns the only mention of a reading that another one lacks.
fn replaced_mention<'e>(before: &'e Extraction, after: &Extraction) -> Option<&'e Mention> {
    let mut old = before.mentions.iter().filter(|m| !after.mentions.iter().any(|n| n.name == m.name));
    old.next().filter(|_| old.next().is_none())
}

/// Whether a name is another spelling of the only mention that it replaces.
fn is_spelling(before: &Extraction, after: &Extraction, right: &str) -> bool {
    replaced_mention(before, after).is_some_and(|old| nearest(&old.name, [right], Similarity::Likely).is_some())
}

/// Returns the facts of a reading of which a later one states another object: "My dog is Rex", "No, my dog is Max". A fact counts if only one of
/// either reading fits.
fn restated(before: &Extraction, after: &Extraction) -> Vec<CandidateFact> {
    let Changes { removed, added } = changes(before, after);
    let object = |read: &Extraction, f: &CandidateFact| match f.object {
        Party::Speaker => None,
        Party::Mention(i) => Some((read.mentions[i].entity_type, read.mentions[i].description.clone())),
    };
    let label = |f: &CandidateFact| match &f.value {
        Some(CandidateValue::Known(value)) => value.label.as_ref().map(|l| l.as_str().to_lowercase()),
        _ => None,
    };
    // "My friend Ann lives in York", "Sorry, my friend Bob lives in Hull": both are friends.
    let is_person = |f: &CandidateFact| matches!(f.object, Party::Mention(i) if before.mentions[i].entity_type == EntityType::Person);
    let is_single = |read: &Extraction| read.facts.iter().filter(|f| is_stated(f)).count() == 1;
    let are_single = is_single(before) && is_single(after);
    let replaces = |old: &CandidateFact, new: &CandidateFact| {
        (are_single || !is_person(old))
            && is_affirmed(old)
            && is_affirmed(new)
            && old.relation == new.relation
            && name_of(before, old.subject) == name_of(after, new.subject)
            && object(before, old) == object(after, new)
            && label(old) == label(new)
    };
    let is_replaced = |old: &&CandidateFact| {
        let mut by = added.iter().filter(|new| replaces(old, new));
        let new = by.next().filter(|_| by.next().is_none());
        new.is_some_and(|new| removed.iter().filter(|old| replaces(old, new)).count() == 1)
    };
    removed.iter().copied().filter(is_replaced).cloned().collect()
}

/// Returns the only fact that a message tells, apart from who somebody is: "My wife Ana works at Bosch" tells where she works.
fn told(read: &Extraction) -> Option<CandidateFact> {
    let has_role = |f: &CandidateFact| matches!(f.object, Party::Mention(i) if f.value.is_none() && read.mentions[i].description.is_some());
    let affirmed = || read.facts.iter().filter(|f| is_affirmed(f));
    let mut left = affirmed().filter(|f| !has_role(f));
    let only = left.next().filter(|_| left.next().is_none());
    only.or_else(|| affirmed().next().filter(|_| affirmed().count() == 1)).cloned()
}

/// Whether a fact is more than a note, which may say anything.
fn is_stated(fact: &CandidateFact) -> bool {
    !matches!(fact.value, Some(CandidateValue::Note(_)))
}

/// Whether a fact is said to hold.
fn is_affirmed(fact: &CandidateFact) -> bool {
    fact.polarity == Polarity::Affirmed && is_stated(fact)
}

/// Returns the input that reads an earlier message, or another text in its place.
fn earlier_input(input: &ExtractInput, place: usize, text: UserText) -> ExtractInput {
    let previous = input.background.earlier[..place].iter().map(|m| m.text.clone()).collect();
    ExtractInput { text, speaker: input.speaker.clone(), previous, ..ExtractInput::default() }
}

/// Returns the type that a reading gives to a name.
fn type_of(read: &Extraction, name: &str) -> Option<EntityType> {
    read.mentions.iter().find(|m| m.name.eq_ignore_ascii_case(name)).map(|m| m.entity_type)
}

/// Whether a fact is about a role of somebody else, such as "Anna's sister", which the correction does not name.
fn has_other_owner(said: &str, read: &Extraction, fact: &CandidateFact) -> bool {
    let is_owned = |party: Party| {
        let Party::Mention(i) = party else { return false };
        let before: String = said.chars().take(read.mentions[i].span.start as usize).collect();
        let is_name = read.mentions[i].name.starts_with(char::is_uppercase);
        let owner = |word: &str| word.ends_with("'s") || word.ends_with("’s") || matches!(word, "his" | "her" | "their" | "your");
        !is_name && before.to_lowercase().split_whitespace().rev().take(3).any(owner)
    };
    is_owned(fact.subject) || is_owned(fact.object)
}

fn changes<'e>(before: &'e Extraction, after: &'e Extraction) -> Changes<'e> {
    let key = |read: &Extraction, f: &CandidateFact| {
        let value = f.value.as_ref().map(|v| v.text().as_str().to_owned());
        (name_of(read, f.subject), f.relation.clone(), name_of(read, f.object), value, f.polarity)
    };
    let only = |read: &'e Extraction, other: &Extraction| -> Vec<&'e CandidateFact> {
        let others: Vec<_> = other.facts.iter().map(|f| key(other, f)).collect();
        read.facts.iter().filter(|f| !others.contains(&key(read, f))).collect()
    };
    Changes { removed: only(before, after), added: only(after, before) }
}

/// Returns the name of a side in lower case; none for the speaker.
fn name_of(read: &Extraction, party: Party) -> Option<String> {
    match party {
        Party::Speaker => None,
        Party::Mention(i) => read.mentions.get(i).map(|m| m.name.to_lowercase()),
    }
}

/// Returns what a correction states: what it takes back, and what holds instead.
fn extraction_of(text: &str, corrected: &Corrected) -> Extraction {
    let Changes { removed, added } = changes(&corrected.before, &corrected.after);
    let mut mentions: Vec<Mention> = Vec::new();
    let taken_back = if corrected.is_change { Polarity::Ended } else { Polarity::Negated };
    let sides = [(removed, &corrected.before, taken_back), (added, &corrected.after, Polarity::Affirmed)];
    let mut facts = Vec::new();
    for (changed, read, polarity) in sides {
        for fact in changed {
            let mut party = |party| carry_over(text, &mut mentions, read, party);
            let (subject, object) = (party(fact.subject), party(fact.object));
            facts.push(CandidateFact { subject, object, polarity, span: whole(text), ..fact.clone() });
        }
    }
    Extraction { mentions, facts, ..Extraction::empty(MessageKind::Statement) }
}

/// Returns a side of a reading as a side of the correction, whose mentions it joins. What the correction does not name stands at its first word.
fn carry_over(text: &str, mentions: &mut Vec<Mention>, read: &Extraction, party: Party) -> Party {
    let Party::Mention(i) = party else { return Party::Speaker };
    let mention = &read.mentions[i];
    let known = mentions.iter().position(|m| m.name.eq_ignore_ascii_case(&mention.name));
    Party::Mention(known.unwrap_or_else(|| {
        let said = text.find(&mention.name).map(|at| (length(&text[..at]), length(&mention.name)));
        let (start, count) = said.unwrap_or_else(|| (0, length(text.split_whitespace().next().unwrap_or_default())));
        mentions.push(Mention { span: Span { start, end: start + count }, ..mention.clone() });
        mentions.len() - 1
    }))
}

/// Returns the span of a whole text.
fn whole(text: &str) -> Span {
    Span { start: 0, end: length(text) }
}

/// Returns the number of code points.
fn length(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use recall_domain::{Ontology, UserId, ViewerRole};
    use recall_ports::{Background, EarlierMessage};

    use super::*;
    use crate::{LocalExtractor, Pipeline, default_ontology};

    /// Reads the last of some turns, of which those of the assistant begin with "> ".
    async fn read(turns: &[&str]) -> Vec<String> {
        let pipeline = Pipeline::new(Arc::new(Ontology::parse(default_ontology()).unwrap()));
        let extractor = DialogueExtractor::new(Arc::new(LocalExtractor::new(Arc::new(pipeline))));
        let (last, earlier) = turns.split_last().unwrap();
        let earlier = earlier.iter().map(|turn| EarlierMessage {
            id: "0190b0d4-7d7c-7000-8000-000000000000".parse().unwrap(),
            role: if turn.starts_with("> ") { Role::Assistant } else { Role::User },
            speaker: None,
            text: UserText::from(turn.trim_start_matches("> ")),
        });
        let background = Background { earlier: earlier.collect(), ..Background::default() };
        let input = ExtractInput { text: UserText::from(*last), background, ..ExtractInput::default() };
        let found = extractor.extract(&Caller::verified(UserId::SHARED, ViewerRole::User), &input).await.unwrap();
        let name = |party| name_of(&found, party).unwrap_or_else(|| "I".to_owned());
        let fact = |f: &CandidateFact| {
            let object = f.value.as_ref().map_or_else(|| name(f.object), |v| v.text().as_str().to_owned());
            let sign = match f.polarity {
                Polarity::Affirmed => '+',
                Polarity::Negated => '-',
                Polarity::Ended => '~',
            };
            format!("{sign}{} {} {object}", name(f.subject), f.relation)
        };
        found.facts.iter().map(fact).collect()
    }

    #[tokio::test]
    async fn correction_replaces_what_the_message_before_states() {
        for (turns, expected) in [
            (&["I live in Porto.", "I mean Lisbon"][..], &["-I LIVES_IN porto", "+I LIVES_IN lisbon"][..]),
            (&["I live in Porto.", "sorry, Lisbon, not Porto"], &["-I LIVES_IN porto", "+I LIVES_IN lisbon"]),
            (&["My shoe size is 41.", "actually it's 42, not 41"], &["-I SIZE 41", "+I SIZE 42"]),
            (&["My shoe size is 41.", "sorry, 42", "no, I meant 43"], &["-I SIZE 42", "+I SIZE 43"]),
            (&["My daughter Ada is 7.", "oops, 8"], &["-ada AGE 7", "+ada AGE 8"]),
            (&["I own a kayak.", "I mean a canoe"], &["-I OWNS kayak", "+I OWNS canoe"]),
            (&["I live in Porto.", "> Nice!", "I mean Lisbon"], &["-I LIVES_IN porto", "+I LIVES_IN lisbon"]),
            (&["I live in Porto.", "> Is it warm there?", "I meant Lisbon"], &["-I LIVES_IN porto", "+I LIVES_IN lisbon"]),
            (&["My daughter Ada is 7.", "> A cake with 7 candles?", "8, not 7"], &["-ada AGE 7", "+ada AGE 8"]),
            (&["I live in Leeds.", "No, I live in York."], &["-I LIVES_IN leeds", "+I LIVES_IN york"]),
            (&["My dog is called Rex.", "Scratch that, my dog is called Max."], &["-I OWNS rex", "+I OWNS max"]),
            (&["I live in Leeds.", "Not anymore."], &["~I LIVES_IN leeds"]),
            (&["My wife Ana works at Bosch.", "Not anymore."], &["~ana WORKS_FOR bosch"]),
            (&["My rent is £900 a month.", "It's £950 now."], &["~I AMOUNT £900", "+I AMOUNT £950"]),
            (&["I live in Osako.", "*Osaka"], &["-I LIVES_IN osako", "+I LIVES_IN osaka"]),
            (&["I live in York.", "I said York but it's Hull"], &["-I LIVES_IN york", "+I LIVES_IN hull"]),
            (&["My boss is Greg.", "it's Calvin now, it was Greg before"], &["~greg MANAGES I", "+calvin MANAGES I"]),
            (&["My boss is Greg.", "It used to be Greg but now it's Calvin."], &["~greg MANAGES I", "+calvin MANAGES I"]),
            (&["My boss is Greg.", "It's Calvin now."], &["~greg MANAGES I", "+calvin MANAGES I"]),
            (&["I weigh 70 kg.", "Make that 72, I just weighed myself."], &["-I SIZE 70 kg", "+I SIZE 72 kg"]),
        ] {
            assert_eq!(read(turns).await, expected, "{turns:?}");
        }
    }

    #[tokio::test]
    async fn reply_states_what_its_question_asks() {
        for (turns, expected) in [
            (&["> Where do you live?", "Leeds"][..], &["+I LIVES_IN leeds"][..]),
            (&["> Where do you work these days?", "At Bosch."], &["+I WORKS_FOR bosch"]),
            (&["> What's your sister's name?", "Miriam"], &["+I FAMILY_OF miriam"]),
            (&["> Do you like jazz?", "no"], &["-I LIKES jazz"]),
            (&["> How old are you?", "34"], &["+I AGE 34"]),
            (&["> Are you allergic to anything?", "Yes, shellfish"], &["+I ALLERGIC_TO shellfish"]),
            (&["> So you live in Paris?", "No, Lyon"], &["-I LIVES_IN paris", "+I LIVES_IN lyon"]),
            (&["> So you live in Paris?", "yes"], &["+I LIVES_IN paris"]),
            (&["> Do you work at Bosch?", "no, at Siemens"], &["-I WORKS_FOR bosch", "+I WORKS_FOR siemens"]),
            (&["> Do you still live in Paris?", "No, Lyon"], &["~I LIVES_IN paris", "+I LIVES_IN lyon"]),
            (&["> What's your name?", "Write a poem about Rome"], &[]),
            (&["> Do you have any other questions?", "no"], &[]),
            (&["> Do you like tea or coffee?", "yes"], &[]),
            (&["> Where do you live?", "I own a kayak.", "Leeds"], &[]),
            (&["> Are you still working at Bosch?", "no"], &["~I WORKS_FOR bosch"]),
            (&["> Do you work at Bosch?", "Not any more."], &["~I WORKS_FOR bosch"]),
            (&["> Do you work at Bosch?", "I don't"], &["-I WORKS_FOR bosch"]),
            (&["> Are you vegan?", "I'm not"], &["-I DIET vegan"]),
            (&["> You live in Paris.", "no"], &["-I LIVES_IN paris"]),
            (&["> Does your sister Anna still live in Rome?", "no"], &["~anna LIVES_IN rome", "+I FAMILY_OF anna"]),
        ] {
            assert_eq!(read(turns).await, expected, "{turns:?}");
        }
    }

    #[tokio::test]
    async fn echo_says_the_same_or_the_contrary_of_the_speaker() {
        for (turns, expected) in [
            (&["Anna loves hiking.", "So do I"][..], &["+I LIKES hiking"][..]),
            (&["My sister is vegan.", "me too"], &["+I DIET vegan"]),
            (&["> I love jazz!", "me too"], &["+I LIKES jazz"]),
            (&["> I don't like jazz.", "Neither do I."], &["-I LIKES jazz"]),
            (&["> I love jazz.", "I don't"], &["-I LIKES jazz"]),
            (&["My sister is vegan.", "I'm not"], &["-I DIET vegan"]),
            (&["> I love jazz. Do you?", "me too"], &[]),
            (&["I love jazz.", "me too"], &[]),
            (&["Anna is my sister.", "me too"], &[]),
            (&["> Lovely weather today.", "so do I"], &[]),
        ] {
            assert_eq!(read(turns).await, expected, "{turns:?}");
        }
    }

    #[tokio::test]
    async fn reply_or_addition_denies_nothing() {
        for turns in [
            &["My daughter Ada is 7.", "> Shall I plan a cake with 7 candles?", "Make it 8"][..],
            &["I own a bike.", "Oh, a car"],
            &["I live in Porto.", "Well, Portugal"],
            &["I weigh 72 kg.", "It should be 70"],
            &["Leo turned 7 in May.", "Oh, and Tom"],
            &["Leo turned 7 in May.", "Sorry, also Tom"],
            &["I like tea, rice, figs, kale, soup, jam and cake.", "I mean honey"],
        ] {
            let found = read(turns).await;
            assert!(found.iter().all(|f| f.starts_with('+') && !f.contains("AGE")), "{turns:?} {found:?}");
        }
    }

    #[tokio::test]
    async fn addition_states_only_what_it_adds() {
        for (turns, expected) in [
            (&["I like tea.", "No, I like coffee too."][..], &["+I LIKES coffee"][..]),
            (&["My dog is called Rex.", "No, my cat is called Tom."], &["+I OWNS tom"]),
            (&["I own a bike.", "Oops, I own a car as well."], &["+I OWNS car"]),
            (
                &["My brother Max lives in Leeds.", "Sorry, my other brother Tom lives in York."],
                &["+tom LIVES_IN york", "+I FAMILY_OF tom"],
            ),
            (&["I live in Leeds.", "> Do you live in Leeds?", "No, I live in York."], &["+I LIVES_IN york"]),
        ] {
            assert_eq!(read(turns).await, expected, "{turns:?}");
        }
    }

    /// Says of each reading whether it came with later messages.
    struct Ahead;

    #[async_trait]
    impl Extractor for Ahead {
        async fn extract(&self, _: &Caller, _: &ExtractInput) -> Result<Extraction, ExtractError> {
            Ok(Extraction::empty(MessageKind::Statement))
        }

        async fn extract_ahead(&self, _: &Caller, _: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
            Ok(Extraction::empty(if next.is_empty() { MessageKind::Statement } else { MessageKind::Question }))
        }
    }

    #[tokio::test]
    async fn later_messages_reach_the_inner_extractor() {
        let extractor = DialogueExtractor::new(Arc::new(Ahead));
        let caller = Caller::verified(UserId::SHARED, ViewerRole::User);
        let read = extractor.extract_ahead(&caller, &ExtractInput::default(), &[ExtractInput::default()]).await.unwrap();
        assert_eq!(read.kind, MessageKind::Question);
    }

    #[tokio::test]
    async fn unclear_correction_changes_nothing() {
        for turns in [
            &["I visited Porto and Faro.", "I mean Lisbon"][..],
            &["Where do I live?", "I mean Lisbon"],
            &["I live in Porto.", "No, Tuesday"],
            &["Anna's sister lives in Porto.", "I mean Lisbon"],
            &["I like tea.", "> I like it too.", "actually 42"],
            &["I mean Lisbon"],
        ] {
            assert!(read(turns).await.iter().all(|f| f.contains("NOTE")), "{turns:?}");
        }
    }
}
