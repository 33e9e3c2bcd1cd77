//! Rows: files, and what is stored or refused.

use std::path::Path;

use bson::{Bson, bson, oid::ObjectId};

use super::super::streams::StreamDefs;
use super::*;

fn parse_all(files: &[(&str, &str)]) -> Result<Vec<CollectionStreams>, Vec<Note>> {
    parse(files.iter().map(|(name, text)| (Path::new(*name), *text)))
}

fn errors(files: &[(&str, &str)]) -> Vec<String> {
    parse_all(files).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_is_read_and_its_stages_escaped() {
    let text = r#"
# comments are fine
db: shop
coll: orders
streams:
  - uri: by-tenant
    stages:
      - $match: { operationType: { $in: [insert, update] }, fullDocument.n: { $gt: 1.5 } }
      - _$match: { fullDocument::id: { $oid: 5f9d88b9a9f8e8b0c0a1b2c3 } }
      - $set: { fullDocument.div: { $divide: [1, "$fullDocument.n"] } }
    notify_when:
      fullDocument::tenantId: { $var: tid }
"#;
    let collections = parse_all(&[("a.yaml", text)]).unwrap();
    assert_eq!(collections.len(), 1);
    let orders = &collections[0];
    assert_eq!((orders.db.as_str(), orders.coll.as_str()), ("shop", "orders"));
    assert_eq!(orders.origin[0].to_string(), "a.yaml:6:5");
    let oid = ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap();
    assert_eq!(
        orders.streams,
        [bson!({
            "uri": "by-tenant",
            "stages": [
                {"_$match": {"operationType": {"_$in": ["insert", "update"]}, "fullDocument::n": {"_$gt": 1.5}}},
                {"_$match": {"fullDocument::id": oid}},
                {"_$set": {"fullDocument::div": {"_$divide": [1, "$fullDocument.n"]}}},
            ],
            "notify_when": {"fullDocument::tenantId": {"$var": "tid"}},
        })]
    );
    assert_eq!(StreamDefs::parse(&Bson::Array(orders.streams.clone())).bad, []);
    assert!(
        orders.warnings[0].to_string().starts_with("a.yaml:6:5: stream `by-tenant`: any caller")
    );
}

#[test]
fn json_lists_and_several_files_are_gathered() {
    let json = "[\n\t{\"db\": \"d\", \"coll\": \"c\", \"streams\": [{\"uri\": \"a\", \"stages\": [{\"$match\": {\"s\": \"\\ud83d\\ude00\", \"n\": 3000000000, \"z\": null}}]}]},\n\t{\"db\": \"d\", \"coll\": \"e\", \"streams\": []}\n]";
    let yaml = "{db: d, coll: c, streams: [{uri: b, stages: []}]}";
    let collections = parse_all(&[("1.json", json), ("2.yml", yaml)]).unwrap();
    let names: Vec<&str> = collections.iter().map(|found| found.coll.as_str()).collect();
    assert_eq!(names, ["c", "e"]);
    assert_eq!(
        collections[0].streams,
        [
            bson!({"uri": "a", "stages": [{"_$match": {"s": "😀", "n": 3_000_000_000_i64, "z": null}}]}),
            bson!({"uri": "b", "stages": []}),
        ]
    );
    let origin: Vec<String> = collections[0].origin.iter().map(ToString::to_string).collect();
    assert_eq!(origin, ["1.json:2:39", "2.yml:1:28"]);
}

#[test]
fn values_keep_their_types() {
    let text = "{db: d, coll: c, streams: [{uri: a, stages: [{$match: {
        int: 1, long: 5000000000, double: 1.0, text: '1', yes: yes, no: no, on: true, nil: ~,
        date: {$date: '2024-05-01T00:00:00Z'}, day: 2024-05-01, dec: {$numberDecimal: '0.1'},
        uuid: {$uuid: 123e4567-e89b-12d3-a456-426614174000}, re: {$regex: '^a', $options: i},
        re2: {$regularExpression: {pattern: '^a', options: ''}}, long2: {$numberLong: '7'}}}]}]}";
    let collections = parse_all(&[("a.yaml", text)]).unwrap();
    let stage = collections[0].streams[0].as_document().unwrap().get_array("stages").unwrap();
    let query = stage[0].as_document().unwrap().get_document("_$match").unwrap();
    for (field, expected) in [
        ("int", bson!(1)),
        ("long", bson!(5_000_000_000_i64)),
        ("double", bson!(1.0)),
        ("text", bson!("1")),
        ("yes", bson!("yes")),
        ("no", bson!("no")),
        ("on", bson!(true)),
        ("nil", Bson::Null),
        ("date", bson::DateTime::from_millis(1_714_521_600_000).into()),
        ("day", bson!("2024-05-01")),
        ("dec", Bson::Decimal128("0.1".parse().unwrap())),
        ("uuid", bson::Uuid::parse_str("123e4567-e89b-12d3-a456-426614174000").unwrap().into()),
        ("re", bson!({"_$regex": "^a", "_$options": "i"})),
        ("long2", bson!(7_i64)),
    ] {
        assert_eq!(query.get(field), Some(&expected), "{field}");
    }
    assert!(matches!(query.get("re2"), Some(Bson::RegularExpression(_))));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let stream = |body: &str| format!("db: d\ncoll: c\nstreams:\n  - uri: a\n{body}");
    for (text, expected) in [
        (
            "db: d\ncol: c\nstreams: []\n".to_owned(),
            "f.yaml:2:1: unknown key `col`; did you mean `coll`",
        ),
        ("db: d\nstreams: []\n".to_owned(), "f.yaml:1:1: `coll` is missing"),
        ("db: d\ncoll: c\n".to_owned(), "f.yaml:1:1: `streams` is missing"),
        ("db: 1\ncoll: c\nstreams: []\n".to_owned(), "f.yaml:1:5: `db` must be a string"),
        ("db: admin\ncoll: c\nstreams: []\n".to_owned(), "f.yaml:1:5: `admin`: reserved resource"),
        (
            "db: tailwater\ncoll: settings\nstreams: []\n".to_owned(),
            "f.yaml:2:7: `settings`: reserved",
        ),
        (
            "db: d\ncoll: a$b\nstreams: []\n".to_owned(),
            "f.yaml:2:7: `a$b`: invalid collection name",
        ),
        ("db: d\ncoll: c\nstreams: {}\n".to_owned(), "f.yaml:3:10: `streams` must be a list"),
        ("- 1\n".to_owned(), "f.yaml:1:3: a declaration has the keys"),
        ("just text".to_owned(), "f.yaml:1:1: a declaration has the keys"),
        ("db: d\ndb: e\n".to_owned(), "f.yaml:2:1: "),
        ("db: [d\n".to_owned(), "f.yaml:"),
        ("db: d\ncoll: c\nstreams: [{uri: @x}]\n".to_owned(), "f.yaml:3:"),
        (stream("    stage: []\n"), "f.yaml:5:5: unknown key `stage`; did you mean `stages`"),
        (stream("    stages: 1\n"), "f.yaml:5:13: stages: it must be an array"),
        (
            stream("    stages:\n      - $match: {}\n      - $mtach: {}\n"),
            "f.yaml:7:9: stages[1]: UNSUPPORTED_STAGE operator '$mtach'",
        ),
        (
            stream("    stages:\n      - _$match:\n          a::b: { _$exsits: true }\n"),
            "f.yaml:7:17: stages[0].$match.a.b: UNSUPPORTED_OPERATOR operator '$exsits'",
        ),
        (
            stream("    stages: [{ $match: { a: { $oid: xyz } } }]\n"),
            "f.yaml:5:29: not a valid Extended JSON value",
        ),
        (stream("    stages: [{ $match: { a: 18446744073709551615 } }]\n"), "f.yaml:5:"),
        (stream("    stages: [{ $match: { a: .nan } }]\n"), "f.yaml:5:"),
        (stream("    stages: [{ $set: { 'a:.b': 1 } }]\n"), "f.yaml:5:"),
        (
            stream("    stages: []\n    full_document: lookup\n"),
            "f.yaml:6:20: full_document: `lookup` is not one of",
        ),
        (
            stream("    stages: []\n    notify_when: { 'a::': x }\n"),
            "f.yaml:6:27: notify_when.a::: `a::` is not a path",
        ),
    ] {
        let errors = errors(&[("f.yaml", &text)]);
        assert!(errors.iter().any(|error| error.starts_with(expected)), "{text}: {errors:#?}");
    }
}

#[test]
fn everything_wrong_is_told_at_once() {
    let first = "db: d\ncoll: c\nstreams:\n  - {uri: a/b, stages: []}\n  - {uri: b, stages: {}}\n";
    let errors = errors(&[("1.yaml", first), ("2.yaml", "db: ''\n")]);
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["1.yaml:4:11", "1.yaml:5:22", "2.yaml:1:5", "2.yaml:1:1", "2.yaml:1:1"]);
}

#[test]
fn a_uri_declared_twice_names_both_places() {
    let one = "db: d\ncoll: c\nstreams:\n  - {uri: a, stages: []}\n";
    let two = "- {db: d, coll: x, streams: [{uri: a, stages: []}]}\n- {db: d, coll: c, streams: [{uri: a, stages: []}]}\n";
    assert_eq!(
        errors(&[("one.yaml", one), ("two.yaml", two)]),
        ["two.yaml:2:30: stream `a` is declared at one.yaml:4:5 already; rename one"]
    );
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(!errors(&[("deep.yaml", &deep)]).is_empty());
    let text = format!(
        "db: d\ncoll: c\nstreams: [{{uri: a, stages: [{{$set: {{a: {}1{}}}}}]}}]",
        "[".repeat(200),
        "]".repeat(200)
    );
    assert!(!errors(&[("deep.yaml", &text)]).is_empty());
}

#[test]
fn a_folder_is_read_and_an_empty_one_is_an_error() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("stream-defs");
    let collections = load(&samples).unwrap();
    let names: Vec<String> =
        collections.iter().map(|found| format!("{}.{}", found.db, found.coll)).collect();
    assert_eq!(names, ["demo.messages", "demo.orders"]);
    for found in &collections {
        let defs = StreamDefs::parse(&Bson::Array(found.streams.clone()));
        assert_eq!(defs.bad, []);
    }
    let empty = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/definition")).unwrap_err();
    assert!(empty[0].reason.contains("holds no .yaml"));
    let missing = load(Path::new("/nonexistent/definitions")).unwrap_err();
    assert!(missing[0].to_string().starts_with("/nonexistent/definitions: cannot be read"));
}
