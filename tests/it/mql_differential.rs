//! The matcher gives a running MongoDB's own answers on documents and filters that nobody wrote.
//!
//! `TAILWATER_SEED` picks the run, `TAILWATER_MQL_PAIRS` its length. A failure prints the exact
//! BSON of both sides, enough to become a row of `tests/data/mql`.

mod generate;

use std::ops::ControlFlow;

use bson::raw::{RawBson, RawBsonRef, RawDocumentBuf};
use bson::rawdoc;
use futures_util::TryStreamExt;
use generate::{Generator, Oddity};
use mongodb::{Client, Database};
use tailwater::query::{Checked, Filter, Keyer, ParseOptions, Projection, SlotValue};

use crate::support::setting;

/// Where a MongoDB answers; without one the tests say so and pass.
async fn mongodb_uri() -> Option<String> {
    let uri = std::env::var("TAILWATER_TEST_MONGODB_URI").ok();
    if uri.is_none() {
        println!("skipped: TAILWATER_TEST_MONGODB_URI names no server");
    }
    uri
}

/// Documents of one round; each filter of the round meets all of them.
const DOCUMENTS: usize = 500;

/// Filters of one round.
const FILTERS: usize = 100;

/// Every filter of the subset gives the server's answer on every document, whether its operands are
/// literals or bound later, and the index never hides a match.
#[tokio::test]
async fn mql_differential_filters() {
    let Some(uri) = mongodb_uri().await else { return };
    let database = Client::with_uri_str(uri).await.unwrap().database("tailwater_mql");
    let (pairs, seed) =
        (setting("TAILWATER_MQL_PAIRS", 100_000_usize), setting("TAILWATER_SEED", 1));
    let (mut asked, mut generator) = (0, Generator::new(seed));
    let (mut matched, mut differences) = (0, Vec::new());
    while asked < pairs {
        generator.next_round();
        let oddity =
            if asked % (4 * FILTERS * DOCUMENTS) == 0 { Oddity::All } else { Oddity::Names };
        let documents: Vec<_> = (0..DOCUMENTS).map(|id| generator.document(id, oddity)).collect();
        let round = Round::new(&database, "filters", documents).await;
        for turn in 0..FILTERS {
            let (filter, parsed) = accepted(&mut generator);
            asked += DOCUMENTS;
            let by_find = oddity == Oddity::All || turn.is_multiple_of(2);
            let answers = round.matching(&filter, by_find).await;
            matched += answers.as_ref().map_or(0, Vec::len);
            differences.extend(round.differences(&filter, &parsed, &answers));
        }
    }
    println!("seed {seed}: {asked} pairs, {matched} matches");
    report(&differences);
}

/// Every stage of the subset gives the server's bytes on every document.
#[tokio::test]
async fn mql_differential_projections() {
    let Some(uri) = mongodb_uri().await else { return };
    let database = Client::with_uri_str(uri).await.unwrap().database("tailwater_mql");
    let seed = setting("TAILWATER_SEED", 1);
    let (mut generator, mut differences) = (Generator::new(seed), Vec::new());
    let documents: Vec<_> = (0..DOCUMENTS).map(|id| generator.document(id, Oddity::None)).collect();
    let round = Round::new(&database, "projections", documents).await;
    for _ in 0..setting("TAILWATER_MQL_PAIRS", 100_000_usize).div_ceil(DOCUMENTS) {
        let stage = generator.stage();
        let Ok(parsed) = Projection::parse(&stage) else { continue };
        let expected = round.reshaped(&stage).await;
        let differing = round.documents.iter().zip(expected.iter().flatten());
        let differing =
            differing.filter(|(document, out)| parsed.apply(document).as_ref() != Ok(out));
        differences.extend(differing.map(|(document, out)| {
            format!(
                "{stage:?}\n  {document:?}\n  server {out:?}\n  here {:?}",
                parsed.apply(document)
            )
        }));
        differences.extend(expected.err().map(|error| format!("{stage:?}: {error}")));
    }
    report(&differences);
}

/// Documents in a collection of their own.
struct Round {
    database: Database,
    collection: &'static str,
    documents: Vec<RawDocumentBuf>,
}

impl Round {
    async fn new(
        database: &Database,
        collection: &'static str,
        documents: Vec<RawDocumentBuf>,
    ) -> Self {
        let stored = database.collection::<RawDocumentBuf>(collection);
        stored.drop().await.unwrap();
        stored.insert_many(&documents).await.unwrap();
        Self { database: database.clone(), collection, documents }
    }

    /// The documents that the server matches, by `find`, which reads them as they are stored, or by
    /// a `$match` that reads them as they pass through a pipeline.
    async fn matching(&self, filter: &RawDocumentBuf, by_find: bool) -> Result<Vec<usize>, String> {
        let id = rawdoc! { "_id": 1 };
        let found = if by_find {
            let find = rawdoc! { "find": self.collection, "filter": filter.clone() };
            self.ask(find, ("projection", id.into())).await?
        } else {
            let stages = [rawdoc! { "$match": filter.clone() }, rawdoc! { "$project": id }];
            self.aggregate(&stages).await?
        };
        let id = |document: RawDocumentBuf| document.get_i32("_id").unwrap().try_into().unwrap();
        Ok(found.into_iter().map(id).collect())
    }

    async fn reshaped(&self, stage: &RawDocumentBuf) -> Result<Vec<RawDocumentBuf>, String> {
        self.aggregate(&[rawdoc! { "$sort": { "_id": 1 } }, stage.clone()]).await
    }

    /// Without the optimiser, which would move stages past each other.
    async fn aggregate(&self, stages: &[RawDocumentBuf]) -> Result<Vec<RawDocumentBuf>, String> {
        let first = rawdoc! { "$_internalInhibitOptimization": {} };
        let pipeline = std::iter::once(first).chain(stages.iter().cloned()).collect();
        let command = rawdoc! { "aggregate": self.collection, "cursor": {} };
        self.ask(command, ("pipeline", RawBson::Array(pipeline))).await
    }

    async fn ask(
        &self,
        mut command: RawDocumentBuf,
        (name, value): (&str, RawBson),
    ) -> Result<Vec<RawDocumentBuf>, String> {
        command.append(bson::raw::CString::try_from(name).unwrap(), value);
        let cursor = self.database.run_raw_cursor_command(command).await;
        let cursor = cursor.map_err(|error| error.to_string())?.with_type::<RawDocumentBuf>();
        cursor.try_collect().await.map_err(|error| error.to_string())
    }

    fn differences(
        &self,
        filter: &RawDocumentBuf,
        parsed: &Filter,
        answers: &Result<Vec<usize>, String>,
    ) -> Vec<String> {
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => return vec![format!("{filter:?}: {error}")],
        };
        let described = |(id, document): (usize, &RawDocumentBuf)| {
            let expected = answers.contains(&id);
            let what = difference(filter, parsed, document, expected)?;
            Some(format!("{filter:?}\n  {document:?}\n  server {expected}, {what}"))
        };
        self.documents.iter().enumerate().filter_map(described).collect()
    }
}

/// The next filter that is in the subset.
fn accepted(generator: &mut Generator) -> (RawDocumentBuf, Filter) {
    loop {
        let filter = generator.filter();
        if let Ok(parsed) = Filter::parse(&filter, &ParseOptions::default()) {
            return (filter, parsed);
        }
    }
}

/// What a pair gets wrong, if anything.
fn difference(
    filter: &RawDocumentBuf,
    parsed: &Filter,
    document: &RawDocumentBuf,
    expected: bool,
) -> Option<String> {
    let answer = parsed.matches(document);
    if answer != Ok(expected) {
        return Some(format!("here {answer:?}"));
    }
    // The same text with one of its literals taken out, to be bound again.
    let slot = |value: RawBsonRef<'_>| (value.as_str() == Some(generate::WORD)).then_some(0);
    let slotted = Filter::parse(filter, &ParseOptions::default().with_slots(&slot)).ok()?;
    let values = vec![SlotValue::variable(generate::WORD.into()); slotted.slots()];
    let bound = slotted.bind(&values).unwrap();
    let answer = bound.matches(document);
    if answer != Ok(expected) {
        return Some(format!("bound here {answer:?}"));
    }
    let keyer = Keyer::new(ahash::RandomState::with_seed(1));
    let keys = slotted.index_choice().and_then(|choice| choice.keys(&bound, &keyer))?;
    let checked = Checked::new(document).unwrap();
    let found = keys.iter().any(|(path, wanted)| {
        let mut found = false;
        let sink = |key| {
            found = key == *wanted;
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        keyer.keys_at(path, &checked, sink).unwrap();
        found
    });
    (expected && !found).then(|| "hidden by the index".to_owned())
}

fn report(differences: &[String]) {
    let shown = differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} pairs differ\n{shown}", differences.len());
}
