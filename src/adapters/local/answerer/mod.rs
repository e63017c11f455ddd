//! x
pub struct ExtractiveAnswerer;
