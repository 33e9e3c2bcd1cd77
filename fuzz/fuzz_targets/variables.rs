//! Any query string for a stream with variables everywhere: what it binds is data, and no name of the server's.
#![no_main]

use std::sync::LazyLock;

use bson::{Bson, bson};
use libfuzzer_sys::fuzz_target;
use tailwater::{
    definition::{Parameters, StreamDef, Variables},
    json::{self, Limits},
};

static STREAM: LazyLock<StreamDef> = LazyLock::new(|| {
    let stages = bson!([
        { "$match": { "fullDocument.a": { "$var": "a" }, "fullDocument.o": { "$var": ["@user._id", "nobody"] } } },
        { "$ifvar": [["a", "b.c"], { "$match": { "fullDocument.b": { "$in": { "$var": ["b.c", [1]] } } } }] },
        { "$set": { "t": { "$var": ["t", 1] } } },
    ]);
    let notify = bson!({ "fullDocument::n": { "$var": ["n", 1] } });
    StreamDef::parse(&bson!({ "uri": "s", "stages": stages, "notify_when": notify })).expect("a stream")
});

fuzz_target!(|input: (Vec<(&str, &str)>, &str)| {
    let (mut pairs, avars) = input;
    pairs.push(("avars", avars));
    let Ok(parameters) = Parameters::from_query(pairs) else { return };
    let avars = parameters.avars().map(|text| json::parse_value(text, Limits::default()));
    let Ok(avars) = avars.transpose() else { return };
    let Ok(variables) = Variables::client(&parameters, avars.as_ref()) else { return };
    let variables = variables.predefine_user(Bson::Null);
    if let Ok(stages) = STREAM.bind_stages(&variables) {
        let first = stages[0].stage.to_string();
        assert!(first.contains("nobody"), "{first}");
        assert!(!first.contains("$where") && !first.contains("$ne"), "{first}");
    }
    let _ = STREAM.bind_notify_when(&variables);
});
