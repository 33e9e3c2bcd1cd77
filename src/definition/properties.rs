//! What holds for every definition and every client, tried on generated ones.

use bson::{Array, Bson, Document, bson};
use proptest::prelude::*;

use super::*;

/// Names and texts that mean something somewhere, and some that do not.
fn word() -> impl Strategy<Value = String> {
    let meaningful = prop::sample::select(vec![
        "$match",
        "_$match",
        "$expr",
        "$literal",
        "$var",
        "_$var",
        "$ifvar",
        "$out",
        "$function",
        "$set",
        "$unset",
        "$project",
        "$replaceWith",
        "$mergeObjects",
        "$$ROOT",
        "$fullDocument.x",
        "_$fullDocument.x",
        "a::b",
        "a.b",
        "_id",
        "_id._data",
        "fullDocument::t",
        "@user",
        "@user._id",
        "uri",
        "stages",
        "notify_when",
        "x",
        "y[0]",
        "",
        ".",
        "$",
        "::",
        "_$",
        "'",
        "[",
    ]);
    prop_oneof![4 => meaningful.prop_map(str::to_owned), 1 => "[a-z_$.:@\\[\\]'é\n ]{0,8}"]
}

fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        word().prop_map(Bson::String),
        any::<i32>().prop_map(Bson::Int32),
        any::<f64>().prop_map(Bson::Double),
        any::<bool>().prop_map(Bson::Boolean),
        Just(Bson::Null),
        Just(Bson::MinKey),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            prop::collection::vec((word(), inner), 0..4)
                .prop_map(|pairs| Bson::Document(pairs.into_iter().collect())),
        ]
    })
}

fn definition() -> impl Strategy<Value = Bson> {
    (prop::collection::vec(value(), 0..3), prop::option::of(value())).prop_map(
        |(stages, notify)| {
            let mut element = bson::doc! {"uri": "a", "stages": stages};
            notify.into_iter().for_each(|notify| drop(element.insert("notify_when", notify)));
            Bson::Document(element)
        },
    )
}

/// Definitions that use `x` in every kind of place.
fn template() -> Bson {
    bson!({"uri": "a", "stages": [
        {"$match": {"a": {"$var": "x"}, "b": {"$in": [{"$var": "x"}]}, "$expr": {"$eq": ["$c", {"$var": "x"}]}}},
        {"$set": {"d": {"$var": "x"}, "e": {"$concat": [{"$var": "x"}]}, "f": {"g": [{"$var": "x"}]}}},
        {"$project": {"h": {"$var": "x"}, "i": {"$literal": {"$var": "x"}}}},
        {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"j": {"$var": "x"}}]}},
        {"$redact": {"$cond": [{"$eq": ["$k", {"$var": "x"}]}, "$$KEEP", "$$PRUNE"]}},
    ], "notify_when": {"fullDocument::x": {"$var": "x"}}})
}

/// Every place in a pipeline where MongoDB would evaluate a string as a path or variable.
fn evaluated(value: &Bson, in_expression: bool, found: &mut Vec<String>) {
    match value {
        Bson::String(text) if in_expression && text.starts_with('$') => found.push(text.clone()),
        Bson::Array(items) => items.iter().for_each(|item| evaluated(item, in_expression, found)),
        Bson::Document(document) => {
            document.iter().filter(|(key, _)| *key != "$literal").for_each(|(key, value)| {
                let inside = in_expression && key != "$match" || key == "$expr";
                evaluated(value, inside, found);
            });
        }
        _ => {}
    }
}

fn paths_of(stages: &[ResolvedStage]) -> Vec<String> {
    let mut found = Vec::new();
    for resolved in stages {
        let filters = resolved.stage.contains_key("$match");
        evaluated(&Bson::Document(resolved.stage.clone()), !filters, &mut found);
    }
    found
}

fn operators_of(value: &Bson, found: &mut Vec<String>) {
    match value {
        Bson::Array(items) => items.iter().for_each(|item| operators_of(item, found)),
        Bson::Document(document) => document.iter().for_each(|(key, value)| {
            found.extend((key.starts_with('$') && key != "$literal").then(|| key.clone()));
            operators_of(value, found);
        }),
        _ => {}
    }
}

fn all_operators(stages: &[ResolvedStage]) -> Vec<String> {
    let mut found = Vec::new();
    stages.iter().for_each(|resolved| operators_of(&resolved.stage.clone().into(), &mut found));
    found
}

fn bind_x(x: Bson) -> Result<Vec<ResolvedStage>, BindError> {
    let avars: Document = [("x".to_owned(), x)].into_iter().collect();
    let variables = Variables::client(&Parameters::default(), Some(&avars.into()));
    let variables = variables.map_err(|error| BindError::NotBound(error.to_string()))?;
    StreamDef::parse(&template()).unwrap().bind_stages(&variables)
}

proptest! {
    #[test]
    fn nothing_panics_and_what_is_good_can_be_bound_or_refused(element in definition(), avars in value()) {
        let defs = StreamDefs::parse(&Bson::Array(vec![element]));
        let variables = Variables::client(&Parameters::default(), Some(&avars)).unwrap_or_default();
        let variables = variables.predefine_user(bson!({"_id": "joe"}));
        for def in &defs.good {
            let _ = def.bind_notify_when(&variables);
            let _ = def.variables();
            if let Ok(stages) = def.bind_stages(&variables) {
                for resolved in &stages {
                    prop_assert!(!resolved.stage.to_string().contains("\"$out\":"));
                    prop_assert!(!resolved.stage.to_string().contains("\"$function\":"));
                }
            }
        }
        for bad in &defs.bad {
            prop_assert!(!bad.error.reason.is_empty());
            prop_assert!(bad.error.path.to_string().starts_with("streams[0]"));
        }
    }

    #[test]
    fn a_client_adds_neither_paths_nor_operators(x in value()) {
        let harmless = bind_x(bson!(1)).unwrap();
        if let Ok(stages) = bind_x(x) {
            prop_assert_eq!(paths_of(&stages), paths_of(&harmless));
            prop_assert_eq!(all_operators(&stages), all_operators(&harmless));
        }
    }

    #[test]
    fn what_is_escaped_reads_back(stages in prop::collection::vec(value(), 0..3)) {
        let plain: Array = stages.iter().map(unescape).collect();
        if let Ok(stored) = escape_stages(&plain) {
            // A NaN is not equal to itself, so the texts are compared.
            let back: Array = stored.iter().map(unescape).collect();
            prop_assert_eq!(format!("{:?}", back), format!("{:?}", plain));
        }
    }

    #[test]
    fn any_text_makes_a_file_or_an_error(text in "[a-z{}\\[\\]:,$'\"&*!|>@ \n-]{0,60}") {
        if let Err(notes) = file::parse([(std::path::Path::new("f"), text.as_str())]) {
            prop_assert!(!notes.is_empty());
        }
    }
}
