//! Tests what a sentence says together with the sentences and messages before it.

use super::*;

fn facts_after(previous: &[&str], text: &str) -> Vec<String> {
    let previous = previous.iter().map(|&t| UserText::from(t)).collect();
    fact_lines(&pipeline().extract(&ExtractInput { previous, ..input(text) }))
}

#[test]
fn omitted_subject_continues_the_sentence_before() {
    for (text, expected) in [
        (
            "Rima has quit Rijkswaterstaat. Starts at Deltares now.",
            vec!["Rima WORKS_FOR Deltares affirmed", "Rima WORKS_FOR Rijkswaterstaat ended"],
        ),
        ("Clara moved to Lyon. Works at Airbus.", vec!["Clara LIVES_IN Lyon affirmed", "Clara WORKS_FOR Airbus affirmed"]),
        (
            "I met Wren Calloway. Lives in Montville.",
            vec!["Wren Calloway LIVES_IN Montville affirmed", "user KNOWS Wren Calloway affirmed"],
        ),
        ("Clara moved to Lyon. Left Nestlé last year.", vec!["Clara LIVES_IN Lyon affirmed", "Clara WORKS_FOR Nestlé ended"]),
        ("Clara moved to Lyon. Sold my bike.", vec!["Clara LIVES_IN Lyon affirmed", "user OWNS bike ended"]),
        ("I moved to Lyon. Left Nestlé last year.", vec!["user LIVES_IN Lyon affirmed", "user WORKS_FOR Nestlé ended"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}

#[test]
fn omitted_third_person_continues_the_message_before() {
    assert_eq!(facts_after(&["My sister Clara moved to Lyon."], "Works at Airbus."), ["Clara WORKS_FOR Airbus affirmed"]);
    // A past form in a new message is about the speaker.
    assert_eq!(facts_after(&["My sister Clara moved to Lyon."], "Left Nestlé last year."), ["user WORKS_FOR Nestlé ended"]);
}

#[test]
fn there_means_the_place_or_group_named_before() {
    let expected = ["Clara WORKS_FOR Airbus affirmed", "Tom WORKS_FOR Airbus affirmed"];
    assert_eq!(facts("Clara works at Airbus. Tom works there too."), expected);
    assert_eq!(
        facts_after(&["Clara lives in Lyon."], "My brother Tom lives there too."),
        ["Tom LIVES_IN Lyon affirmed", "user FAMILY_OF Tom affirmed"]
    );
}

#[test]
fn description_after_a_name_tells_what_and_where_it_is() {
    for text in ["I work for Havenlab, the museum in Rotterdam.", "I work for Havenlab. Havenlab is a museum in Rotterdam."] {
        assert!(facts(text).contains(&"Havenlab LOCATED_IN Rotterdam affirmed".to_owned()), "{text}: {:?}", facts(text));
    }
}

#[test]
fn what_replaces_something_is_read_with_its_end() {
    for (text, expected) in [
        ("Tom doesn't live in Oulu anymore, Tampere now.", vec!["Tom LIVES_IN Oulu ended", "Tom LIVES_IN Tampere affirmed"]),
        ("Samir is neither my manager nor my colleague now.", vec!["Samir MANAGES user ended", "user WORKS_WITH Samir ended"]),
        ("Friday was my last day at Airbus.", vec!["user WORKS_FOR Airbus ended"]),
        ("My old boss was Greta. My new boss is Henrik.", vec!["Greta MANAGES user ended", "Henrik MANAGES user affirmed"]),
        ("Greta is my former boss.", vec!["Greta MANAGES user ended"]),
        ("My favourite colour used to be green but it's orange now", vec!["user LIKES green ended", "user LIKES orange affirmed"]),
        ("My boss hopes Anna joins Siemens.", vec!["boss MANAGES user affirmed"]),
        ("Anna left Marco in March.", vec!["Anna FAMILY_OF Marco ended"]),
        ("Anna left Marco with Jules for the weekend.", vec![]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}

#[test]
fn former_thoughts_state_nothing() {
    for (text, expected) in [
        ("I thought Leo was my cousin but he's my uncle", &["user FAMILY_OF Leo affirmed"][..]),
        ("I always thought we lived in Kent", &[]),
        ("I assumed Kim worked at Bosch", &[]),
        ("I said Kim lives in Leeds but it's Hull", &["Kim LIVES_IN Leeds negated"]),
        ("I said my boss is Kevin but it's actually Calvin", &["Kevin MANAGES user negated"]),
        ("I said Kim lives in Leeds but it's a secret", &["Kim LIVES_IN Leeds affirmed"]),
        ("I heard my sister is a nurse", &["user FAMILY_OF sister affirmed"]),
        ("I said Kim lives in Leeds", &["Kim LIVES_IN Leeds affirmed"]),
        ("I think Kim lives in Leeds", &["Kim LIVES_IN Leeds affirmed"]),
        ("In my novel I live in Leeds", &[]),
        ("In my dream I had a tiger", &[]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
    for text in ["I thought I was allergic to cats but I am not", "I used to think I was lactose intolerant", "I feel like I'm 80"] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn questions_that_tell_something_are_read() {
    for (text, expected) in [
        ("Did I mention my brother Al is a pilot?", "Al OCCUPATION pilot affirmed"),
        ("Did I tell you I'm vegan?", "user DIET vegan affirmed"),
        ("Have I told you that my wife is vegan?", "wife DIET vegan affirmed"),
        ("can you remember that I'm vegan", "user DIET vegan affirmed"),
        ("What should I cook for my wife, she's vegan", "wife DIET vegan affirmed"),
    ] {
        assert_eq!(values(text), [expected], "{text}");
    }
    for text in ["Did I tell you my name?", "did I mention where I live", "Have I told you about Al?", "can you remember that day I met Al"]
    {
        let found = pipeline().read(text);
        assert_eq!((found.kind, found.facts.len()), (MessageKind::Question, 0), "{text}");
    }
    for text in ["remind me that the bins go out on tuesday", "could you note that I park on level 3?"] {
        let found = pipeline().read(text);
        assert_eq!((found.kind, found.facts.len()), (MessageKind::Statement, 1), "{text}");
    }
}

#[test]
fn plans_are_no_facts_yet() {
    for text in
        ["I start at Deloitte on Monday", "Tomorrow I move to Salford", "I'm leaving Ikea in March", "I'm starting at Ikea in March"]
    {
        assert_eq!(facts(text), Vec::<String>::new(), "{text}");
    }
    for text in ["I'm turning 40 next month", "I turn 60 on 5 March"] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(values("I turn 40 today"), ["user AGE 40 affirmed"]);
    assert_eq!(values("I've just turned 40"), ["user AGE 40 affirmed"]);
}

#[test]
fn former_jobs_and_studies_have_ended() {
    for (text, expected) in [
        ("My old boss Trish was awful", "Trish MANAGES user ended"),
        ("My old friend Trish sings", "user KNOWS Trish affirmed"),
        ("Kim studied at Harvard", "Kim WORKS_FOR Harvard ended"),
        ("Kim attended Harvard", "Kim WORKS_FOR Harvard ended"),
        ("Kim is studying at Harvard", "Kim WORKS_FOR Harvard affirmed"),
        ("Kim has studied at Harvard for a year", "Kim WORKS_FOR Harvard affirmed"),
        ("I worked at Harvard", "user WORKS_FOR Harvard affirmed"),
    ] {
        assert_eq!(facts(text), [expected], "{text}");
    }
    assert_eq!(values("I'm a barber, before that I was a barista"), ["user OCCUPATION barber affirmed", "user OCCUPATION barista ended"]);
}

#[test]
fn jokes_and_visits_are_no_facts() {
    assert_eq!(values("I'm allergic to Mondays"), Vec::<String>::new());
    assert_eq!(values("Mine is called Ines"), Vec::<String>::new());
    assert_eq!(values("I'm called Ines"), ["user NAME Ines affirmed"]);
    assert_eq!(facts("I left Tesco without the milk"), Vec::<String>::new());
    assert_eq!(facts("I left Tesco without a plan"), ["user WORKS_FOR Tesco ended"]);
    assert_eq!(facts("I crashed my bike into a fence"), ["user OWNS bike affirmed"]);
    assert_eq!(facts("I gave Marcus my guitar, then he gave it back"), ["user OWNS guitar affirmed"]);
}

#[test]
fn listed_names_and_next_employers_are_read() {
    for (text, expected) in [
        ("My kids are called Ana and Ben", &["user FAMILY_OF Ana affirmed", "user FAMILY_OF Ben affirmed"][..]),
        (
            "my sisters are named Liv, Mia and Zoe",
            &["user FAMILY_OF Liv affirmed", "user FAMILY_OF Mia affirmed", "user FAMILY_OF Zoe affirmed"],
        ),
        ("My favourite colours are red and blue", &["user LIKES blue affirmed", "user LIKES red affirmed"]),
        ("My favourite film is long and sad", &[]),
        ("My cats are Tom and Felix", &["user OWNS Felix affirmed", "user OWNS Tom affirmed"]),
        ("we adopted two cats from the shelter, Salt and Pepper", &["user OWNS Pepper affirmed", "user OWNS Salt affirmed"]),
        ("my rabbits are named Fluff and Puff", &["user OWNS Fluff affirmed", "user OWNS Puff affirmed"]),
        ("I left Nokia in 2015 and joined Apple", &["user WORKS_FOR Apple affirmed", "user WORKS_FOR Nokia ended"]),
        ("I left Google to join a startup called Fernly", &["user WORKS_FOR Fernly affirmed", "user WORKS_FOR Google ended"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}

#[test]
fn own_names_are_read_from_requests_and_greetings() {
    for text in ["call me Lexi, everybody does", "You can call me Lexi", "I'm called Lexi"] {
        assert_eq!(values(text), ["user NAME Lexi affirmed"], "{text}");
    }
    for text in ["hi it's Marta again", "Hello, it's Marta here", "hi its Marta", "Hey, this is Marta!", "Hi, it's Marta from accounting"] {
        assert_eq!(values(text), ["user NAME Marta affirmed"], "{text}");
    }
    for text in [
        "hi it's Monday",
        "hi it's raining",
        "It's Marta from accounting",
        "Hi, it's Marta at the door, she wants her keys",
        "Hi, it's Marta from next door who wants her keys",
        "It's Marta",
        "Hi Marta",
        "hi, its Marta's birthday",
        "Call me Friday",
        "Don't call me Lexi",
        "call me when Lexi is in",
        "Mine is called Lexi",
    ] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn clause_after_a_contrast_continues_its_subject() {
    for (text, expected) in [
        ("My boss used to be Greg but it's Calvin", &["Calvin MANAGES user affirmed", "Greg MANAGES user ended"][..]),
        ("My boss was Greg but now it's Calvin.", &["Calvin MANAGES user affirmed", "Greg MANAGES user ended"]),
        ("My boss isn't Greg any more, it's Calvin.", &["Calvin MANAGES user affirmed", "Greg MANAGES user ended"]),
        ("My boss was Greg but it's Monday.", &["Greg MANAGES user ended"]),
        ("Anna isn't my sister, she's my sister-in-law", &["user FAMILY_OF Anna affirmed"]),
        ("Anna isn't my sister.", &["user FAMILY_OF Anna negated"]),
        ("I like tea, but I don't like tea with milk.", &["user LIKES tea negated"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
    assert_eq!(values("My rent was £900 but now it's £950"), ["user AMOUNT rent £900 ended", "user AMOUNT rent £950 affirmed"]);
}

#[test]
fn what_was_given_back_is_a_possible_end() {
    let ends = |previous: &str, text: &str| {
        let found = pipeline().extract(&ExtractInput { previous: vec![UserText::from(previous)], ..input(text) });
        found.possible_ends.iter().map(|e| e.relation.clone()).collect::<Vec<_>>()
    };
    for (previous, text, expected) in [
        ("I bought a violin last year.", "I returned it.", &["OWNS"][..]),
        ("I bought a violin last year.", "I sent it back.", &["OWNS"]),
        ("I bought a violin last year.", "I sent it back for repair.", &[]),
        ("I bought a violin last year.", "I might return it.", &[]),
        ("I bought a violin last year.", "I returned home.", &[]),
    ] {
        assert_eq!(ends(previous, text), expected, "{text}");
    }
    assert_eq!(facts_after(&["I sold my car to Ben."], "Ben sold it back to me."), ["Ben OWNS car ended", "user OWNS car affirmed"]);
}

#[test]
fn question_whether_something_was_told_asks_nothing() {
    for (text, expected) in [
        ("I have a parrot, did I tell you?", MessageKind::Statement),
        ("I have a parrot. Did I mention that?", MessageKind::Statement),
        ("I have a parrot, did I tell you its name?", MessageKind::Mixed),
    ] {
        let found = pipeline().read(text);
        assert_eq!((fact_lines(&found), found.kind), (vec!["user OWNS parrot affirmed".to_owned()], expected), "{text}");
    }
}

#[test]
fn dreams_jokes_and_near_misses_state_nothing() {
    for text in [
        "I dreamt I had a dog",
        "I dreamt I lived in Oslo",
        "last night I dreamt that Tom works at Siemens",
        "I daydreamed that I owned a yacht",
        "I had this dream where I worked at Google",
        "I had a dream last night that I owned a horse",
        "I joked that I live in Rome",
        "I nearly moved to Bath",
        "I pretended I live in Rome",
        "Steve says he owns a Tesla lol, obviously joking",
        "Ed told people he lives in Rome, total lie",
        "I own a yacht, just kidding",
        "Steve says he owns a Tesla. Just kidding.",
    ] {
        assert_eq!(facts(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(facts("Steve says he lives in Rome, no joke"), ["Steve LIVES_IN Rome affirmed"]);
    assert_eq!(facts("I love Rome but Steve says he owns a Tesla, total lie"), ["user LIKES Rome affirmed"]);
    for text in [
        "Steve says he's a secret agent lol, obviously joking",
        "Ed told people he's a pilot, total lie",
        "Steve says he's a pilot but that's a joke",
    ] {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn notices_stays_births_and_orders_are_no_facts() {
    for (text, expected) in [
        ("handed in my notice at Tesco today", &[][..]),
        ("Kim is in Paris this week", &[]),
        ("my dad's in Hull until friday", &["user FAMILY_OF dad affirmed"]),
        ("I'm staying in Paris until friday", &[]),
        ("this week Kim is in Paris", &[]),
        ("Kim is in Paris now", &["Kim LIVES_IN Paris affirmed"]),
        ("I live in Paris until friday", &["user LIVES_IN Paris affirmed"]),
        ("I was born in Norwich", &[]),
        ("I grew up in Norwich", &["user LIVES_IN Norwich affirmed"]),
        ("ordered a bike, arrives next week", &[]),
        ("I ordered a phone, it hasn't arrived yet", &[]),
        ("I ordered a bike", &["user OWNS bike affirmed"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}

#[test]
fn pronoun_after_a_role_that_speaks_is_not_that_role() {
    for (text, expected) in [
        ("the nurse said he is allergic to latex", &[][..]),
        ("the vet said he's allergic to chicken", &[]),
        ("Tom is ill, the nurse said he is allergic to latex", &["Tom ALLERGIC_TO latex affirmed"]),
        ("my mum says she's allergic to cats", &["mum ALLERGIC_TO cats affirmed"]),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
}

#[test]
fn models_and_successors_are_read() {
    for (text, expected) in [
        ("my phone is a Pixel 7", &["user OWNS Pixel 7 affirmed", "user OWNS phone affirmed"][..]),
        ("my van is a white Transit", &["user OWNS Transit affirmed", "user OWNS van affirmed"]),
        ("bought a used car today, a Skoda Fabia", &["user OWNS Skoda Fabia affirmed", "user OWNS car affirmed"]),
        ("my dog is a Labrador", &["user OWNS dog affirmed"]),
        ("my phone is a mess", &["user OWNS phone affirmed"]),
        ("Tess and I broke up, I'm with Lena now", &["user FAMILY_OF Lena affirmed", "user FAMILY_OF Tess ended"]),
        ("Ben and Ida divorced, Ben's with Eva now", &["Ben FAMILY_OF Eva affirmed", "Ben FAMILY_OF Ida ended"]),
        ("I'm with Lena now", &[]),
        ("Priya left, Oliver is the new boss", &["Oliver MANAGES user affirmed", "Priya MANAGES user ended"]),
        ("Priya was fired, my new boss is Oliver", &["Oliver MANAGES user affirmed", "Priya MANAGES user ended"]),
        ("Priya left early, my boss is Oliver", &["Oliver MANAGES user affirmed"]),
        ("Oliver is the new boss of Aldi", &["Oliver MANAGES Aldi affirmed"]),
    ] {
        assert_eq!(facts(text), expected, "{text}");
    }
}
