//! The matcher gives MongoDB's own answers, recorded row by row in `tests/data/mql`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bson::{Bson, RawDocumentBuf};
use flate2::read::GzDecoder;
use serde_json::Value;
use tailwater::query::{Filter, ParseOptions, Projection};

/// The folder of the corpora, unless the environment names another one.
fn folder() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mql");
    std::env::var_os("TAILWATER_MQL_DATA").map_or_else(|| beside.into(), PathBuf::from)
}

/// The rows of a corpus, compressed or plain.
fn rows(name: &str) -> impl Iterator<Item = Value> {
    let plain = folder().join(name).with_extension("jsonl");
    let reader: Box<dyn BufRead> = match File::open(&plain) {
        Ok(file) => Box::new(BufReader::new(file)),
        Err(_) => {
            let path = folder().join(name).with_extension("jsonl.gz");
            let file = File::open(&path).unwrap_or_else(|error| panic!("open {path:?}: {error}"));
            Box::new(BufReader::new(GzDecoder::new(file)))
        }
    };
    let lines = reader.lines().map(|line| line.unwrap()).filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(&line).unwrap())
}

/// The exact BSON where the row carries it, else what its Extended JSON says.
fn document(row: &Value, name: &str) -> RawDocumentBuf {
    if let Some(encoded) = row[format!("{name}_b64")].as_str() {
        return RawDocumentBuf::from_bytes(BASE64_STANDARD.decode(encoded).unwrap()).unwrap();
    }
    let bson = Bson::try_from(row[name].clone()).unwrap();
    RawDocumentBuf::try_from(bson.as_document().unwrap()).unwrap()
}

/// Fails with every differing row, not only the first.
fn report(name: &str, rows: usize, differences: &[String]) {
    println!("{name}: {rows} rows");
    assert!(rows > 0, "{name} is empty");
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{name}: {} of {rows} differ\n{shown}", differences.len());
}

/// `$bits…` rows were recorded as acceptable, but 6.0 answers them wrongly for decimals, so no part
/// of the operator family is in the subset.
fn refusal_of_match(row: &Value) -> Refused {
    let accepted = row["planner"] == "accept" && !row["filter"].to_string().contains("\"$bits");
    if accepted { Refused::Never } else { Refused::Always }
}

/// Which rows may, or must, be refused.
#[derive(Clone, Copy, PartialEq)]
enum Refused {
    Never,
    Maybe,
    Always,
}

fn match_difference(row: &Value, options: &ParseOptions<'_>, refused: Refused) -> Option<String> {
    let (document, filter) = (document(row, "doc"), document(row, "filter"));
    let answer = Filter::parse(&filter, options).map(|filter| filter.matches(&document));
    let expected = row["match"].as_bool().unwrap();
    let agrees = match &answer {
        Ok(answer) => refused != Refused::Always && answer == &Ok(expected),
        Err(_) => refused != Refused::Never,
    };
    (!agrees).then(|| format!("{row}: {answer:?}"))
}

/// Every row that the planner may decide in process has the server's answer, every other row is
/// refused.
#[test]
fn mql_match_rows_are_answered_or_refused() {
    let rows: Vec<_> = rows("match").collect();
    let options = ParseOptions::default();
    let difference = |row| match_difference(row, &options, refusal_of_match(row));
    report("match", rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
}

/// What 6.0 answers from its oplog rather than from the event is refused: `lsid`, `txnNumber`, and
/// `MinKey` and `MaxKey` outside the images.
fn refusal_of_event(row: &Value) -> Refused {
    let filter = row["filter"].to_string();
    let oplog = ["lsid", "txnNumber"].iter().any(|word| filter.contains(word));
    let extremes = ["$minKey", "$maxKey"].iter().any(|word| filter.contains(word));
    match (oplog, extremes) {
        (true, _) => Refused::Always,
        (false, true) => Refused::Maybe,
        _ => Refused::Never,
    }
}

/// Filters over change events, exactly as `$match` in the change stream's pipeline answers them.
#[test]
fn mql_event_rows_are_answered() {
    let rows: Vec<_> = rows("event-match").collect();
    let options = ParseOptions::event();
    let difference = |row| match_difference(row, &options, refusal_of_event(row));
    report("event-match", rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
}

/// Stages in process give the server's very bytes.
#[test]
fn mql_project_rows_are_equal_byte_for_byte() {
    let rows: Vec<_> = rows("project").collect();
    let difference = |row: &Value| {
        let reshaped = Projection::parse(&document(row, "stage"))
            .map(|stage| stage.apply(&document(row, "doc")));
        let agrees = matches!(&reshaped, Ok(Ok(reshaped)) if *reshaped == document(row, "out"));
        (!agrees).then(|| format!("{row}: {reshaped:?}"))
    };
    report("project", rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
}

/// What is an error to the server is refused.
#[test]
fn mql_reject_rows_are_refused() {
    let rows: Vec<_> = rows("reject").collect();
    let difference = |row: &Value| {
        let errs = !row["find_error"].is_null() || !row["match_stage_error"].is_null();
        let accepted = Filter::parse(&document(row, "filter"), &ParseOptions::default()).is_ok();
        (errs && accepted).then(|| row.to_string())
    };
    report("reject", rows.len(), &rows.iter().filter_map(difference).collect::<Vec<_>>());
}
