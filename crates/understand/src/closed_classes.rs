//! Lists the words of the closed classes: pronouns, determiners, auxiliaries, prepositions, conjunctions, interjections.

use super::tokens::Pos;

/// Returns the part of speech of a word of a closed class.
pub(crate) fn closed_class(word: &str) -> Option<Pos> {
    Some(match word {
        "i" | "me" | "myself" | "we" | "us" | "ourselves" | "you" | "yourself" | "he" | "him" | "himself" | "she" | "herself" | "it"
        | "itself" | "they" | "them" | "themselves" | "who" | "whom" | "what" | "someone" | "somebody" | "everyone" | "everybody"
        | "anyone" | "anybody" | "nobody" | "something" | "nothing" | "everything" | "anything" | "mine" | "yours" | "hers" | "ours"
        | "theirs" | "none" | "there" => Pos::Pron,
        "a" | "an" | "the" | "my" | "your" | "his" | "its" | "our" | "their" | "whose" | "every" | "each" | "another" | "some" | "any"
        | "no" | "these" | "those" | "this" | "both" | "either" | "neither" | "her" | "all" => Pos::Det,
        "am" | "is" | "are" | "was" | "were" | "be" | "been" | "being" | "have" | "has" | "had" | "do" | "does" | "did" | "will"
        | "would" | "can" | "could" | "shall" | "should" | "may" | "might" | "must" | "having" => Pos::Aux,
        "in" | "on" | "at" | "by" | "for" | "from" | "with" | "about" | "of" | "into" | "onto" | "under" | "during" | "without"
        | "through" | "against" | "between" | "among" | "per" | "via" | "near" | "towards" | "toward" | "up" | "out" | "off" | "down"
        | "around" | "across" | "along" | "over" | "within" | "behind" | "beyond" | "despite" | "besides" | "minus" => Pos::Adp,
        "and" | "or" | "but" | "nor" | "plus" => Pos::Cconj,
        "because" | "if" | "while" | "although" | "though" | "unless" | "whether" | "whereas" | "when" | "whenever" | "once" | "that"
        | "which" | "where" | "since" | "until" | "till" | "before" | "after" | "as" | "than" | "how" | "why" | "so" => Pos::Sconj,
        "not" | "to" => Pos::Part,
        "very" | "really" | "just" | "also" | "too" | "always" | "never" | "still" | "already" | "now" | "currently" | "actually"
        | "probably" | "maybe" | "perhaps" | "definitely" | "only" | "even" | "often" | "sometimes" | "usually" | "recently" | "lately"
        | "again" | "anymore" | "ever" | "yet" | "almost" | "nearly" | "here" | "then" | "currenty" | "honestly" | "mostly" | "mainly"
        | "basically" | "finally" | "totally" | "absolutely" | "kinda" | "pretty" | "quite" | "rather" | "somewhat" | "soon" | "later"
        | "instead" | "together" | "ago" | "away" | "back" | "well" | "else" | "tho" | "well-" => Pos::Adv,
        "yeah" | "yes" | "yep" | "yup" | "nope" | "wow" | "oh" | "hey" | "hi" | "hello" | "thanks" | "ok" | "okay" | "lol" | "haha"
        | "ugh" | "hmm" | "cheers" | "yay" | "please" | "bye" | "omg" | "tbh" | "btw" | "fyi" | "imo" | "congrats" | "whoa" | "aww"
        | "aw" | "ah" | "yo" | "sorry" | "nah" | "welcome" | "lmao" | "hm" | "um" | "uh" | "yikes" | "ooh" | "gosh" | "damn" => Pos::Intj,
        _ => return None,
    })
}
