//! Login: tokens of issuers, what they allow, how long streams last, and what attackers try.

mod attacks;
mod issuer;
mod provider;
mod scopes;
mod streams;
