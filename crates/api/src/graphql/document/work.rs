//! Counts what validation and execution of a parsed document would visit.
//!
//! The library (async-graphql 7.2) walks a document in four ways, and the count follows each:
//!
//! 1. Rules visit each definition once. One rule, about fields that cannot be merged, compares each selection set with
//!    everything that its fragments add to it: [`Totals::overlaps`].
//! 2. Depth, directives and cost are counted with every spread replaced by its fragment: [`Totals::selections`].
//! 3. Two rules visit every use of a variable once per operation that reaches it, and search the operation's definitions
//!    for its name: [`Totals::uses`] times variables.
//! 4. For suggestions, unknown names are compared with all names of the schema, byte by byte: [`Totals::name_bytes`].
//!
//! Arguments are cloned with the values of their variables: once by a rule, and by execution once per object with the field:
//! [`Totals::argument_bytes`].

use std::collections::HashMap;

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{Directive, ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};
use async_graphql_value::{ConstValue, Value};

use super::refusal::{bad, within};
use crate::{error::ApiError, limits::DocumentLimits};

/// Maximum depth of fragments that spread fragments. Counting and validation recurse that deep.
const FRAGMENT_DEPTH: usize = 32;
/// Bytes of names that cost as much as visiting a field. 22 rules visit a field; a suggestion compares each byte of an unknown name
/// with about 400 bytes of the schema.
const NAME_BYTES_PER_STEP: usize = 5;
/// Memory of a value in addition to its text, in bytes.
const VALUE_BYTES: usize = 16;

/// The cost of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Steps of validation.
    pub(crate) steps: usize,
    /// Largest number of `__typename` fields of one object. The cost estimate does not include them.
    pub(crate) typenames: usize,
}

/// Counts for a selection set.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Selections of every kind, with all spreads replaced by their fragments.
    selections: usize,
    /// Fields of the set and of the fragments in it, and the values of their arguments.
    flat: usize,
    /// The sum of `flat` over the set and the sets inside of it, without spreads.
    overlaps: usize,
    /// `__typename` fields among `flat`.
    typenames: usize,
    /// Largest number of `__typename` fields of one set inside of it.
    most_typenames: usize,
    /// Uses of variables, with all spreads replaced.
    uses: usize,
    /// Bytes of all arguments, with all spreads and variables replaced.
    argument_bytes: usize,
    /// Bytes of names, without spreads.
    name_bytes: usize,
}

impl Totals {
    /// Adds the counts of a set that belongs to the same object.
    fn add_same_object(&mut self, other: &Self) {
        self.flat = self.flat.saturating_add(other.flat);
        self.typenames = self.typenames.saturating_add(other.typenames);
        self.add_other_object(other);
    }

    /// Adds the counts of a set that belongs to another object, or whose fields are counted already.
    fn add_other_object(&mut self, other: &Self) {
        self.selections = self.selections.saturating_add(other.selections);
        self.most_typenames = self.most_typenames.max(other.most_typenames);
        self.uses = self.uses.saturating_add(other.uses);
        self.argument_bytes = self.argument_bytes.saturating_add(other.argument_bytes);
    }

    /// Adds the visits of rules in a set of the same definition.
    fn add_visits(&mut self, other: &Self) {
        self.overlaps = self.overlaps.saturating_add(other.overlaps);
        self.name_bytes = self.name_bytes.saturating_add(other.name_bytes);
    }
}

/// Counts for the arguments of one field or of its directives.
#[derive(Clone, Copy, Debug, Default)]
struct Arguments {
    values: usize,
    uses: usize,
    bytes: usize,
    name_bytes: usize,
}

/// Counts the cost of a document.
///
/// # Errors
/// `QUERY_TOO_LARGE` with the figure and its limit, `QUERY_TOO_DEEP`, or `GRAPHQL_VALIDATION_FAILED` for a cycle of fragments.
pub(super) fn measure(document: &ExecutableDocument, variables: &Variables, limits: &DocumentLimits) -> Result<Work, ApiError> {
    within(document.operations.iter().count(), limits.operations, "operations")?;
    within(document.fragments.len(), limits.fragments, "fragments")?;
    let defined: usize = document.operations.iter().map(|(_, operation)| operation.node.variable_definitions.len()).sum();
    within(defined, limits.variables, "variables")?;

    let mut counter = Counter { document, limits, memo: HashMap::new(), open: 0, variable_bytes: variable_bytes(document, variables) };
    let (mut steps, mut selections, mut bytes, mut typenames) = (0usize, 0usize, 0usize, 0usize);
    for (_, operation) in document.operations.iter() {
        let total = counter.operation(&operation.node)?;
        let definitions = operation.node.variable_definitions.len();
        selections = selections.saturating_add(total.selections);
        bytes = bytes.saturating_add(total.argument_bytes);
        typenames = typenames.max(total.most_typenames);
        steps = steps
            .saturating_add(visits(&total))
            .saturating_add(total.selections)
            .saturating_add(total.uses.saturating_mul(1 + definitions))
            .saturating_add(document.fragments.len() + definitions);
    }
    within(selections, limits.selections, "fields once fragments are spread")?;
    within(bytes, limits.argument_bytes, "bytes of arguments once variables are put in")?;
    // Rules also visit fragments that nothing spreads.
    for (name, fragment) in &document.fragments {
        counter.directives(&fragment.node.directives)?;
        let total = counter.fragment(name.as_str(), true)?;
        steps = steps.saturating_add(visits(&total)).saturating_add(total.uses);
    }
    within(steps, limits.steps, "steps of validation")?;
    Ok(Work { steps, typenames })
}

/// Returns the steps of the rules that visit each definition once.
fn visits(total: &Totals) -> usize {
    total.overlaps.saturating_add(total.name_bytes / NAME_BYTES_PER_STEP)
}

/// Returns the bytes of each variable: those of its value or its default, whichever is larger.
fn variable_bytes<'d>(document: &'d ExecutableDocument, variables: &Variables) -> HashMap<&'d str, usize> {
    let mut weights = HashMap::new();
    for (_, operation) in document.operations.iter() {
        for definition in &operation.node.variable_definitions {
            let name = definition.node.name.node.as_str();
            let given = variables.get(name).map_or(0, const_bytes);
            let default = definition.node.default_value.as_ref().map_or(0, |value| const_bytes(&value.node));
            let weight = weights.entry(name).or_insert(0);
            *weight = given.max(default).max(*weight);
        }
    }
    weights
}

/// Estimates the memory of a value, in bytes.
fn const_bytes(value: &ConstValue) -> usize {
    let inside: usize = match value {
        ConstValue::String(text) => text.len(),
        ConstValue::Binary(bytes) => bytes.len(),
        ConstValue::List(items) => items.iter().map(const_bytes).sum(),
        ConstValue::Object(fields) => fields.iter().map(|(name, value)| name.len() + const_bytes(value)).sum(),
        _ => 0,
    };
    inside + VALUE_BYTES
}

/// Counts the selection sets of one document.
struct Counter<'d> {
    document: &'d ExecutableDocument,
    limits: &'d DocumentLimits,
    /// Totals by fragment and whether it is spread at the root. `None` while it is being counted: meeting it again is a cycle.
    memo: HashMap<(&'d str, bool), Option<Totals>>,
    /// Number of fragments that are being counted.
    open: usize,
    variable_bytes: HashMap<&'d str, usize>,
}

impl<'d> Counter<'d> {
    fn operation(&mut self, operation: &'d OperationDefinition) -> Result<Totals, ApiError> {
        self.directives(&operation.directives)?;
        let mut names = 0;
        for definition in &operation.variable_definitions {
            self.directives(&definition.node.directives)?;
            names += definition.node.name.node.len() + definition.node.var_type.node.to_string().len();
        }
        let mut total = self.set(&operation.selection_set.node, true)?;
        total.name_bytes = total.name_bytes.saturating_add(names);
        Ok(total)
    }

    // Recursion is bounded. `scan` limits nesting within a document, the memo refuses cycles, and `FRAGMENT_DEPTH` limits
    // chains of spreads.
    fn set(&mut self, set: &'d SelectionSet, root: bool) -> Result<Totals, ApiError> {
        let mut total = Totals::default();
        for item in &set.items {
            total.selections += 1;
            total.flat += 1;
            let directives = self.directives(item.node.directives())?;
            total.uses += directives.uses;
            total.name_bytes += directives.name_bytes;
            match &item.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let arguments = self.arguments(&field.arguments, root)?;
                    total.flat += arguments.values;
                    total.uses += arguments.uses;
                    total.argument_bytes = total.argument_bytes.saturating_add(arguments.bytes);
                    total.name_bytes += field.name.node.len() + arguments.name_bytes;
                    total.typenames += usize::from(field.name.node == "__typename");
                    let inner = self.set(&field.selection_set.node, false)?;
                    total.add_other_object(&inner);
                    total.add_visits(&inner);
                }
                Selection::InlineFragment(inline) => {
                    let inner = self.set(&inline.node.selection_set.node, root)?;
                    total.add_same_object(&inner);
                    total.add_visits(&inner);
                    total.name_bytes += inline.node.type_condition.as_ref().map_or(0, |on| on.node.on.node.len());
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    total.name_bytes += name.len();
                    // An unknown fragment is counted as a spread. Validation reports it.
                    if let Some((name, _)) = self.document.fragments.get_key_value(name) {
                        let inner = self.fragment(name.as_str(), root)?;
                        total.add_same_object(&inner);
                    }
                }
            }
            within(total.selections, self.limits.selections, "fields or more once fragments are spread")?;
        }
        total.most_typenames = total.most_typenames.max(total.typenames);
        within(total.most_typenames, self.limits.typenames, "`__typename` fields on one object")?;
        total.overlaps = total.overlaps.saturating_add(total.flat);
        Ok(total)
    }

    fn fragment(&mut self, name: &'d str, root: bool) -> Result<Totals, ApiError> {
        match self.memo.get(&(name, root)) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(bad("GRAPHQL_VALIDATION_FAILED", "A fragment spreads itself.")),
            None => {}
        }
        if self.open >= FRAGMENT_DEPTH {
            return Err(bad("QUERY_TOO_DEEP", format!("Fragments spread fragments more than {FRAGMENT_DEPTH} deep, which is the limit.")));
        }
        let Some(fragment) = self.document.fragments.get(name) else { return Ok(Totals::default()) };
        self.memo.insert((name, root), None);
        self.open += 1;
        let total = self.set(&fragment.node.selection_set.node, root)?;
        self.open -= 1;
        self.memo.insert((name, root), Some(total));
        Ok(total)
    }

    /// Counts directives. Only `@skip` and `@include` have arguments.
    fn directives(&self, directives: &'d [Positioned<Directive>]) -> Result<Arguments, ApiError> {
        within(directives.len(), self.limits.directives, "directives at one place")?;
        let mut total = Arguments::default();
        for directive in directives {
            let arguments = self.arguments(&directive.node.arguments, false)?;
            total.uses += arguments.uses;
            total.name_bytes += directive.node.name.node.len() + arguments.name_bytes + arguments.values;
        }
        Ok(total)
    }

    fn arguments(&self, arguments: &'d [(Positioned<Name>, Positioned<Value>)], root: bool) -> Result<Arguments, ApiError> {
        within(arguments.len(), self.limits.arguments, "arguments at one place")?;
        let mut total = Arguments::default();
        for (name, value) in arguments {
            total.name_bytes += name.node.len();
            self.value(&value.node, &mut total);
        }
        if !root {
            within(total.bytes, self.limits.nested_argument_bytes, "bytes of arguments on a nested field")?;
        }
        Ok(total)
    }

    /// Counts a value. `scan` bounds the recursion.
    fn value(&self, value: &'d Value, total: &mut Arguments) {
        total.values += 1;
        total.bytes = total.bytes.saturating_add(VALUE_BYTES);
        let text = match value {
            Value::Variable(name) => {
                total.uses += 1;
                self.variable_bytes.get(name.as_str()).copied().unwrap_or(0)
            }
            Value::String(text) => text.len(),
            Value::Binary(bytes) => bytes.len(),
            Value::Enum(name) => name.len(),
            Value::List(items) => {
                items.iter().for_each(|item| self.value(item, total));
                0
            }
            Value::Object(fields) => {
                fields.values().for_each(|field| self.value(field, total));
                fields.keys().map(|name| name.len()).sum()
            }
            Value::Null | Value::Number(_) | Value::Boolean(_) => 0,
        };
        total.bytes = total.bytes.saturating_add(text);
    }
}
