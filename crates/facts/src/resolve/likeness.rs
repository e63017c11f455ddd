//! What a name and the words around it say for one who may be meant, before the session and the facts are looked at. Pure.

use super::{
    Scene,
    cues::Marks,
    names::{self, Fit},
    roles::{Class, Role},
};
use crate::message_entities::VIEWER_NAME;
use recall_domain::{Entity, EntityKey, EntityType, Mention};

/// What a name is worth less that is not the first one.
const BY_ALIAS: f64 = 0.05;
/// What it costs when a name comes with a mark ("my boss John") that the known one is not known to have.
const NEW_MARK: f64 = 0.35;
const NEW_SOCIAL_MARK: f64 = 0.2;
const SAME_MARK: f64 = 0.2;
/// What it costs that two bearers of one full name are said to be unlike people.
const UNLIKE: f64 = 0.2;

impl Scene<'_> {
    /// How the name fits, and what this is worth.
    pub(super) fn named(&self, m: &Mention, marks: &Marks, e: &Entity, described: &Marks) -> Option<(Option<Fit>, f64, String)> {
        let role = Role::of(&m.name).filter(|_| m.entity_type == EntityType::Person);
        let nameless = Role::of(&e.name).filter(|_| e.entity_type == EntityType::Person);
        let own = marks.own_role();
        match (role, nameless) {
            (Some(role), None) => {
                let same = own.is_some() && described.own_role().is_some_and(|r| r.name == role.name);
                let score = role.holders.of(0.85, 0.7, 0.4);
                same.then(|| (None, score, "the one with this role".to_owned()))
            }
            (Some(role), Some(known)) if role.name == known.name => {
                // "her sister" is not "my sister".
                let owners = marks.role.as_ref().map(|r| &r.0) == described.role.as_ref().map(|r| &r.0);
                let score = if owners && own.is_some() { role.holders.of(0.9, 0.85, 0.5) } else { 0.5 };
                let whose = owners || marks.role.is_none() || described.role.is_none();
                whose.then(|| (Some(Fit::Same), score, "the same role".to_owned()))
            }
            (Some(_), Some(_)) => None,
            (None, Some(known)) => {
                let same = own.is_some_and(|r| r.name == known.name) && described.own_role().is_none_or(|r| r.name == known.name);
                let score = known.holders.of(0.85, 0.65, 0.4);
                same.then(|| (None, score, "a name for the one with this role".to_owned()))
            }
            (None, None) => {
                let (fit, score) = self.best_fit(m, e)?;
                Some((Some(fit), score, fit.reason().to_owned()))
            }
        }
    }

    pub(super) fn best_fit(&self, m: &Mention, e: &Entity) -> Option<(Fit, f64)> {
        let called = !(e.is_viewer && e.name == VIEWER_NAME);
        let first = if called { names::fit(&m.name, &e.name, e.entity_type) } else { None };
        let first = first.map(|f| (f, f.score()));
        let others = e.aliases.iter().filter_map(|a| names::fit(&m.name, a, e.entity_type));
        // An alias that is a part of the name ("Anna" of "Anna Schmidt") may be another's name as well.
        let ceiling = first.map_or(1.0, |(f, s)| if f == Fit::ShortOfFull { s + BY_ALIAS } else { 1.0 });
        let others = others.map(|f| (f, (f.score() - BY_ALIAS).min(ceiling)));
        let key = EntityKey::of(&m.name)?;
        // Found by a key that none of its names has: it was given one by hand.
        let by_key = Role::of(key.as_str()).is_none() && self.by_key.get(key.as_str()).is_some_and(|of| of.iter().any(|o| o.id == e.id));
        let by_key = by_key.then_some((Fit::Same, ceiling.min(Fit::Same.score() - BY_ALIAS)));
        first.into_iter().chain(others).chain(by_key).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }

    /// What the marks of a mention and of an entity say; `None` when they are two people's.
    pub(super) fn marked(&self, marks: &Marks, known: &Marks, e: &Entity, certain: bool) -> Option<(f64, &'static str)> {
        let unlike = |reason| if certain { Some((-UNLIKE, reason)) } else { None };
        let here = self.recent.contains_key(&e.id);
        let mut total = (0.0, "");
        match (&marks.role, &known.role) {
            (Some((a, _)), Some((b, _))) if a != b => {
                let social = marks.own_role().or(known.own_role()).is_none_or(|r| matches!(r.class, Class::Social | Class::Peer));
                if !social {
                    return unlike("known as somebody else's");
                }
            }
            (Some((_, a)), Some((_, b))) => match (Role::of(a), Role::of(b)) {
                (Some(a), Some(b)) if a.name == b.name => total = (SAME_MARK, "same role"),
                (Some(a), Some(b)) if a.excludes(b) => return unlike("known in an unlike role"),
                (None, _) | (_, None) if a == b => total = (SAME_MARK, "same role"),
                _ => {}
            },
            (Some(_), None) if Role::of(&e.name).is_none() && !certain && !here => {
                let social = marks.own_role().is_some_and(|r| matches!(r.class, Class::Social | Class::Peer));
                total = (if social { -NEW_SOCIAL_MARK } else { -NEW_MARK }, "not known in this role");
            }
            _ => {}
        }
        match (&marks.from, &known.from) {
            (Some(a), Some(b)) if a == b => total = (total.0 + SAME_MARK, "from the same place"),
            (Some(_), Some(_)) => return unlike("from another place"),
            (Some(_), None) if !certain => {
                let kin = known.own_role().is_some_and(|r| matches!(r.class, Class::Kin | Class::Partner));
                // Who was spoken of just now needs no new mark; a name that gets one means another.
                if kin || (here && known.role.is_none()) {
                    return None;
                }
                total = (total.0 - NEW_MARK, "not known to be from there");
            }
            _ => {}
        }
        Some(total)
    }
}
