//! Scores a candidate by name and cues, before session and facts are considered. Pure.

use super::{
    Resolver,
    cues::NameCues,
    names::{MentionedName, NameMatch},
    person_names,
    roles::{Role, RoleClass},
};
use recall_domain::{Entity, EntityType, Mention, entity::VIEWER_NAME};

/// Penalty for a match with an alias.
const ALIAS_PENALTY: f64 = 0.05;
/// Penalty if the cues ("my boss John") are not known of the candidate.
const NEW_CUE_PENALTY: f64 = 0.35;
/// The same penalty for a social role, such as "friend".
const NEW_SOCIAL_CUE_PENALTY: f64 = 0.2;
/// Bonus if a cue is known of the candidate.
const SAME_CUE_BONUS: f64 = 0.2;
/// Penalty if the cues contradict the candidate although the full name matches.
const CONFLICT_PENALTY: f64 = 0.2;

impl Resolver<'_> {
    /// Returns how the name matches, with score and reason; `None` without a match.
    pub(super) fn score_name(
        &self,
        m: &Mention,
        name: &MentionedName<'_>,
        cues: &NameCues,
        e: &Entity,
        described: &NameCues,
    ) -> Option<(Option<NameMatch>, f64, String)> {
        let role = Role::of(&m.name).filter(|_| m.entity_type == EntityType::Person);
        let nameless = Role::of(&e.name).filter(|_| e.entity_type == EntityType::Person);
        let own = cues.own_role();
        match (role, nameless) {
            (Some(role), None) => {
                let same = own.is_some() && described.own_role().is_some_and(|r| r.name == role.name);
                let score = role.holders.of(0.85, 0.7, 0.4);
                same.then(|| (None, score, "the one with this role".to_owned()))
            }
            (Some(role), Some(known)) if role.name == known.name => {
                // "her sister" is not "my sister".
                let owners = cues.role.as_ref().map(|r| &r.0) == described.role.as_ref().map(|r| &r.0);
                let score = if owners && own.is_some() { role.holders.of(0.9, 0.85, 0.5) } else { 0.5 };
                let whose = owners || cues.role.is_none() || described.role.is_none();
                whose.then(|| (Some(NameMatch::Same), score, "the same role".to_owned()))
            }
            (Some(_), Some(_)) => None,
            (None, Some(known)) => {
                let same = own.is_some_and(|r| r.name == known.name) && described.own_role().is_none_or(|r| r.name == known.name);
                let score = known.holders.of(0.85, 0.65, 0.4);
                same.then(|| (None, score, "a name for the one with this role".to_owned()))
            }
            (None, None) => {
                let (fit, score) = self.best_name_match(name, e)?;
                Some((Some(fit), score, fit.reason().to_owned()))
            }
        }
    }

    pub(super) fn best_name_match(&self, name: &MentionedName<'_>, e: &Entity) -> Option<(NameMatch, f64)> {
        // Martin Dushkov is not the Martin who is known as Martin Iliev.
        let of_another =
            || e.entity_type == EntityType::Person && names_of(e).any(|known| person_names::are_namesakes(name.as_str(), known));
        self.names_in_common(name, e).filter(|(fit, _)| *fit == NameMatch::Same || !of_another())
    }

    fn names_in_common(&self, name: &MentionedName<'_>, e: &Entity) -> Option<(NameMatch, f64)> {
        let called = !(e.is_viewer && e.name == VIEWER_NAME);
        let first = if called { name.match_known(&e.name, e.entity_type) } else { None };
        let first = first.map(|f| (f, f.score()));
        let others = e.aliases.iter().filter_map(|a| name.match_known(a, e.entity_type));
        // An alias that is a part of the name ("Anna" of "Anna Schmidt") may be another person's name too.
        let ceiling = first.map_or(1.0, |(f, s)| if f == NameMatch::ShortOfFull { s + ALIAS_PENALTY } else { 1.0 });
        let others = others.map(|f| (f, (f.score() - ALIAS_PENALTY).min(ceiling)));
        let key = name.key()?;
        // The key belongs to none of its names, so it was set by hand.
        let by_key = Role::of(key.as_str()).is_none() && self.by_key.get(key.as_str()).is_some_and(|of| of.iter().any(|o| o.id == e.id));
        let by_key = by_key.then_some((NameMatch::Same, ceiling.min(NameMatch::Same.score() - ALIAS_PENALTY)));
        first.into_iter().chain(others).chain(by_key).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }

    /// Compares the cues of a mention with those of an entity; `None` if they describe two people.
    pub(super) fn score_cues(&self, cues: &NameCues, known: &NameCues, e: &Entity, certain: bool) -> Option<(f64, &'static str)> {
        let unlike = |reason| if certain { Some((-CONFLICT_PENALTY, reason)) } else { None };
        let here = self.recent.contains_key(&e.id);
        if cues.adds_role {
            return Some((0.0, ""));
        }
        let mut total = (0.0, "");
        if let (Some(word), Some((_, known))) = (&cues.qualifier, &known.role) {
            match (Role::of(word), Role::of(known)) {
                (Some(a), Some(b)) if a.name == b.name => total = (SAME_CUE_BONUS, "same role"),
                (Some(a), Some(b)) if a.excludes(b) => return unlike("known in an unlike role"),
                (None, None) if word == known => total = (SAME_CUE_BONUS, "same role"),
                _ => {}
            }
        }
        match (&cues.role, &known.role) {
            (Some((a, _)), Some((b, _))) if a != b => {
                let social = cues.own_role().or(known.own_role()).is_none_or(|r| matches!(r.class, RoleClass::Social | RoleClass::Peer));
                if !social {
                    return unlike("known as somebody else's");
                }
            }
            (Some((_, a)), Some((_, b))) => match (Role::of(a), Role::of(b)) {
                (Some(a), Some(b)) if a.name == b.name => total = (SAME_CUE_BONUS, "same role"),
                (Some(a), Some(b)) if a.excludes(b) => return unlike("known in an unlike role"),
                (None, _) | (_, None) if a == b => total = (SAME_CUE_BONUS, "same role"),
                _ => {}
            },
            (Some(_), None) if Role::of(&e.name).is_none() && !certain && !here => {
                let social = cues.own_role().is_some_and(|r| matches!(r.class, RoleClass::Social | RoleClass::Peer));
                total = (if social { -NEW_SOCIAL_CUE_PENALTY } else { -NEW_CUE_PENALTY }, "not known in this role");
            }
            _ => {}
        }
        match (&cues.from, &known.from) {
            (Some(a), Some(b)) if a == b => total = (total.0 + SAME_CUE_BONUS, "from the same place"),
            (Some(_), Some(_)) => return unlike("from another place"),
            (Some(_), None) if !certain => {
                let kin = known.own_role().is_some_and(|r| matches!(r.class, RoleClass::Kin | RoleClass::Partner));
                // A recently mentioned entity needs no new cue; a name with a new cue means another one.
                if kin || (here && known.role.is_none()) {
                    return None;
                }
                total = (total.0 - NEW_CUE_PENALTY, "not known to be from there");
            }
            _ => {}
        }
        Some(total)
    }
}

/// Returns the name of an entity and its other names.
pub(crate) fn names_of(e: &Entity) -> impl Iterator<Item = &str> {
    std::iter::once(&e.name).chain(&e.aliases).map(String::as_str)
}

/// Returns how many letters must be added, removed or replaced to get from one word to another.
pub(super) fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
