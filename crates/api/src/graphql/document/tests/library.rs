//! Generates documents of every shape, and counts the steps that the library takes for them.
//!
//! The walks of the library are repeated here without a memo and without the shortcuts of [`super::super::work`].

use std::{collections::HashSet, sync::Arc};

use async_graphql::{
    Response, Variables,
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute},
    parser::types::{ExecutableDocument, OperationDefinition, Selection, SelectionSet},
};
use async_graphql_value::Value;
use proptest::prelude::*;
use serde_json::json;

/// Extension that stops an operation before execution.
pub(super) struct ValidateOnly;

impl ExtensionFactory for ValidateOnly {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait::async_trait]
impl Extension for ValidateOnly {
    async fn execute(&self, _: &ExtensionContext<'_>, _: Option<&str>, _: NextExecute<'_>) -> Response {
        Response::new(async_graphql::Value::Null)
    }
}

/// A generated document. Indexes are reduced to the number of existing elements.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    operations: Vec<(Vec<Node>, u8)>,
    fragments: Vec<Vec<Node>>,
    /// Length of the value of each variable.
    values: Vec<u16>,
}

#[derive(Clone, Debug)]
enum Node {
    Field { name: u8, alias: bool, arguments: Vec<Argument>, directive: bool, inner: Vec<Node> },
    Inline(Vec<Node>),
    Spread(u8),
    Typename,
}

#[derive(Clone, Debug)]
enum Argument {
    Variable(u8),
    List(Vec<u8>),
    Object(Vec<Argument>),
}

fn argument() -> impl Strategy<Value = Argument> {
    let leaf = prop_oneof![any::<u8>().prop_map(Argument::Variable), prop::collection::vec(any::<u8>(), 0..30).prop_map(Argument::List)];
    leaf.prop_recursive(4, 16, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Argument::Object))
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let leaf = prop_oneof![
        (any::<u8>(), any::<bool>(), prop::collection::vec(argument(), 0..3), any::<bool>())
            .prop_map(|(name, alias, arguments, directive)| Node::Field { name, alias, arguments, directive, inner: Vec::new() }),
        any::<u8>().prop_map(Node::Spread),
        Just(Node::Typename),
    ];
    let node = leaf.prop_recursive(6, 60, 8, |inner| {
        let set = prop::collection::vec(inner, 1..8);
        prop_oneof![
            (any::<u8>(), any::<bool>(), prop::collection::vec(argument(), 0..3), set.clone())
                .prop_map(|(name, alias, arguments, inner)| Node::Field { name, alias, arguments, directive: false, inner }),
            set.prop_map(Node::Inline),
        ]
    });
    prop::collection::vec(node, 1..6)
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    (prop::collection::vec((nodes(), any::<u8>()), 1..5), prop::collection::vec(nodes(), 0..12), prop::collection::vec(0..600_u16, 0..6))
        .prop_map(|(operations, fragments, values)| Plan { operations, fragments, values })
}

impl Plan {
    pub(super) fn document(&self) -> (String, Variables) {
        let mut text = String::new();
        for (n, (nodes, defined)) in self.operations.iter().enumerate() {
            // Some uses refer to variables that are not defined.
            let defined: String = (0..usize::from(*defined) % (self.values.len() + 1)).map(|v| format!("$v{v}: [Int] = [1 2] ")).collect();
            let head = if defined.is_empty() { String::new() } else { format!("({defined})") };
            text.push_str(&format!("query Q{n}{head} {{ {} }} ", self.set(nodes, 0)));
        }
        for (n, nodes) in self.fragments.iter().enumerate() {
            text.push_str(&format!("fragment F{n} on Session {{ {} }} ", self.set(nodes, n + 1)));
        }
        let values = self.values.iter().enumerate().map(|(n, length)| (format!("v{n}"), json!("x".repeat((*length).into()))));
        (text, Variables::from_json(serde_json::Value::Object(values.collect())))
    }

    /// Writes a selection set. Spreads refer to fragments from `from` on, so that most documents have no cycle.
    fn set(&self, nodes: &[Node], from: usize) -> String {
        let names = ["sessions", "nodes", "messages", "facts", "text", "nothing"];
        let node = |node: &Node| match node {
            Node::Field { name, alias, arguments, directive, inner } => {
                let alias = if *alias { format!("a{name}: ") } else { String::new() };
                let written: Vec<_> = arguments.iter().enumerate().map(|(n, a)| format!("x{n}: {}", self.argument(a))).collect();
                let arguments = if written.is_empty() { String::new() } else { format!("({})", written.join(", ")) };
                let directive = if *directive { " @include(if: $v0)" } else { "" };
                let inner = if inner.is_empty() { String::new() } else { format!(" {{ {} }}", self.set(inner, from)) };
                format!("{alias}{}{arguments}{directive}{inner}", names[usize::from(*name) % names.len()])
            }
            Node::Inline(inner) => format!("... on Session {{ {} }}", self.set(inner, from)),
            Node::Spread(n) => {
                let open = self.fragments.len().saturating_sub(from);
                format!("...F{}", if open == 0 { 999 } else { from + usize::from(*n) % open })
            }
            Node::Typename => "__typename".to_owned(),
        };
        nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }

    fn argument(&self, argument: &Argument) -> String {
        match argument {
            Argument::Variable(n) => format!("$v{}", usize::from(*n) % (self.values.len() + 1)),
            Argument::List(items) => format!("[{}]", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
            Argument::Object(fields) => {
                let written: Vec<_> = fields.iter().enumerate().map(|(n, f)| format!("k{n}: {}", self.argument(f))).collect();
                format!("{{{}}}", written.join(", "))
            }
        }
    }
}

/// Counts the steps of the library's walks.
pub(super) fn steps(document: &ExecutableDocument) -> usize {
    let mut steps = 0;
    for (_, operation) in document.operations.iter() {
        let set = &operation.node.selection_set.node;
        // Depth, directives and cost: every spread is replaced.
        steps += inlined(document, set);
        steps += variables(document, &operation.node);
        steps += overlaps(document, set);
    }
    for fragment in document.fragments.values() {
        steps += overlaps(document, &fragment.node.selection_set.node);
    }
    steps
}

fn inlined(document: &ExecutableDocument, set: &SelectionSet) -> usize {
    let inner = |selection: &Selection| match selection {
        Selection::Field(field) => inlined(document, &field.node.selection_set.node),
        Selection::InlineFragment(inline) => inlined(document, &inline.node.selection_set.node),
        Selection::FragmentSpread(spread) => match document.fragments.get(&spread.node.fragment_name.node) {
            Some(fragment) => inlined(document, &fragment.node.selection_set.node),
            None => 0,
        },
    };
    set.items.iter().map(|item| 1 + inner(&item.node)).sum()
}

/// Counts `VariableInAllowedPosition`: it searches the definitions for each use that an operation reaches.
fn variables(document: &ExecutableDocument, operation: &OperationDefinition) -> usize {
    let mut reached = HashSet::new();
    let uses = uses(document, &operation.selection_set.node, &mut reached);
    uses * operation.variable_definitions.len()
}

fn uses<'d>(document: &'d ExecutableDocument, set: &'d SelectionSet, reached: &mut HashSet<&'d str>) -> usize {
    let mut count = 0;
    for item in &set.items {
        for directive in item.node.directives() {
            count += directive.node.arguments.iter().map(|(_, value)| used(&value.node)).sum::<usize>();
        }
        count += match &item.node {
            Selection::Field(field) => {
                let arguments: usize = field.node.arguments.iter().map(|(_, value)| used(&value.node)).sum();
                arguments + uses(document, &field.node.selection_set.node, reached)
            }
            Selection::InlineFragment(inline) => uses(document, &inline.node.selection_set.node, reached),
            Selection::FragmentSpread(spread) => match document.fragments.get(&spread.node.fragment_name.node) {
                Some(fragment) if reached.insert(spread.node.fragment_name.node.as_str()) => {
                    uses(document, &fragment.node.selection_set.node, reached)
                }
                _ => 0,
            },
        };
    }
    count
}

fn used(value: &Value) -> usize {
    match value {
        Value::Variable(_) => 1,
        Value::List(items) => items.iter().map(used).sum(),
        Value::Object(fields) => fields.values().map(used).sum(),
        _ => 0,
    }
}

/// Counts `OverlappingFieldsCanBeMerged`: it starts again at each selection set of a definition.
fn overlaps(document: &ExecutableDocument, set: &SelectionSet) -> usize {
    let within = |item: &Selection| match item {
        Selection::Field(field) => overlaps(document, &field.node.selection_set.node),
        Selection::InlineFragment(inline) => overlaps(document, &inline.node.selection_set.node),
        Selection::FragmentSpread(_) => 0,
    };
    compared(document, set, &mut HashSet::new()) + set.items.iter().map(|item| within(&item.node)).sum::<usize>()
}

fn compared<'d>(document: &'d ExecutableDocument, set: &'d SelectionSet, visited: &mut HashSet<&'d str>) -> usize {
    let mut count = 0;
    for item in &set.items {
        count += 1 + match &item.node {
            Selection::Field(field) => field.node.arguments.iter().map(|(_, value)| size(&value.node)).sum(),
            Selection::InlineFragment(inline) => compared(document, &inline.node.selection_set.node, visited),
            Selection::FragmentSpread(spread) => match document.fragments.get(&spread.node.fragment_name.node) {
                Some(fragment) if visited.insert(spread.node.fragment_name.node.as_str()) => {
                    compared(document, &fragment.node.selection_set.node, visited)
                }
                _ => 0,
            },
        };
    }
    count
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}
