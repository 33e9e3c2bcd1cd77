//! Odd documents, and filters and stages that go with them.
//!
//! Everything is drawn from small pools, so that paths meet fields and operands meet values.

use bson::raw::{CString, RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf};
use bson::spec::BinarySubtype;
use bson::{Binary, DateTime, Decimal128, Regex, Timestamp, oid::ObjectId, rawdoc};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// The literal that stands for a bound value.
pub(super) const WORD: &str = "abc";

const NAMES: [&str; 7] = ["a", "b", "c", "0", "1", "00", "é"];

const PATHS: [&str; 18] = [
    "a", "b", "c", "a.b", "a.0", "a.1", "a.b.c", "a.0.b", "a.b.0", "a.0.0", "a.00", "b.a", "b.0.c",
    "c.1.a", "a.é", "a.a.a", "0", "a.b.c.0",
];

const COMPARISONS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];

const TYPES: [&str; 12] = [
    "number",
    "string",
    "object",
    "array",
    "undefined",
    "null",
    "int",
    "long",
    "double",
    "decimal",
    "symbol",
    "minKey",
];

const DECIMALS: [&str; 22] = [
    "0",
    "-0",
    "0E+6111",
    "1",
    "1.0",
    "10E-1",
    "-1.5",
    "0.1",
    "2",
    "3.9",
    "-3.9",
    "NaN",
    "Infinity",
    "-Infinity",
    "1E+400",
    "-1E+400",
    "1E-6176",
    "9223372036854775807",
    "9223372036854775807.5",
    "9223372036854775808",
    "0.1000000000000000055511151231257827",
    "9007199254740993",
];

const DOUBLES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    1.5,
    -1.5,
    0.1,
    2.0,
    3.0,
    3.9,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    5e-324,
    1e300,
    9_007_199_254_740_992.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
    4_294_967_296.0,
    -7.0,
];

const LONGS: [i64; 10] =
    [0, 1, -1, 2, 3, 9_007_199_254_740_993, i64::MAX, i64::MIN, 4_294_967_296, -7];

const STRINGS: [&str; 10] = ["", "a", WORD, "abcd", "xabc", "A", "é", "a\0", "\u{ffff}", "😀"];

pub(super) struct Generator {
    random: StdRng,
    oddity: Oddity,
    /// Whether this round is about numbers at the edges of their types, in shallow documents.
    numeric: bool,
}

/// What documents may hold that drivers would not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Oddity {
    None,
    /// Repeated names.
    Names,
    /// Arrays whose names are not their positions, too. Change streams and `find` go by the names;
    /// a pipeline that rebuilt the document goes by the positions.
    All,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed), oddity: Oddity::None, numeric: false }
    }

    /// Every other round is about numbers, which random pairs seldom bring close together.
    pub(super) fn next_round(&mut self) {
        self.numeric = !self.numeric;
    }

    pub(super) fn document(&mut self, id: usize, oddity: Oddity) -> RawDocumentBuf {
        self.oddity = oddity;
        self.fields(rawdoc! { "_id": i32::try_from(id).unwrap() }, 3)
    }

    fn fields(&mut self, mut document: RawDocumentBuf, depth: usize) -> RawDocumentBuf {
        for _ in 0..self.random.random_range(0..4) {
            let name = self.pick(&NAMES);
            let repeated = document.get(name).unwrap().is_some();
            if !repeated || (self.oddity >= Oddity::Names && self.chance(10)) {
                let value = self.value(depth);
                append(&mut document, name, value);
            }
        }
        document
    }

    fn value(&mut self, depth: usize) -> RawBson {
        match self.random.random_range(0..10) {
            0..=6 if self.numeric => self.scalar(),
            0..=2 if depth > 0 => RawBson::Document(self.fields(RawDocumentBuf::new(), depth - 1)),
            3..=6 if depth > 0 => RawBson::Array(self.array(depth - 1)),
            7 => self.deprecated(),
            _ => self.scalar(),
        }
    }

    fn array(&mut self, depth: usize) -> RawArrayBuf {
        if self.oddity == Oddity::All && self.chance(5) {
            return as_array(&self.fields(RawDocumentBuf::new(), depth));
        }
        let length = self.random.random_range(0..4);
        (0..length).map(|_| self.value(depth)).collect()
    }

    /// A value that may be an operand.
    fn scalar(&mut self) -> RawBson {
        let kinds = if self.numeric { 5 } else { 14 };
        match self.random.random_range(0..kinds) {
            0 | 1 => RawBson::Int32(self.random.random_range(-2..5)),
            2 => RawBson::Int64(*LONGS.choose(&mut self.random).unwrap()),
            3 => RawBson::Double(*DOUBLES.choose(&mut self.random).unwrap()),
            4 => RawBson::Decimal128(self.decimal()),
            5 | 6 => RawBson::String(self.pick(&STRINGS).to_owned()),
            7 => RawBson::Null,
            8 => RawBson::Boolean(self.random.random()),
            9 => RawBson::DateTime(DateTime::from_millis(self.random.random_range(-1..3))),
            10 => RawBson::Timestamp(Timestamp {
                time: *[0, 1, u32::MAX].choose(&mut self.random).unwrap(),
                // The server replaces a top-level timestamp that is zero by the time.
                increment: self.random.random_range(1..3),
            }),
            11 => RawBson::ObjectId(ObjectId::from_bytes([self.random.random_range(0..2); 12])),
            12 => RawBson::Binary(self.binary()),
            _ => [RawBson::MinKey, RawBson::MaxKey].choose(&mut self.random).unwrap().clone(),
        }
    }

    fn decimal(&mut self) -> Decimal128 {
        if self.chance(20) {
            // Any bits at all: mostly huge exponents and non-canonical coefficients.
            return Decimal128::from_bytes(self.random.random());
        }
        self.pick(&DECIMALS).parse().unwrap()
    }

    fn binary(&mut self) -> Binary {
        let subtypes = [BinarySubtype::Generic, BinarySubtype::Uuid, BinarySubtype::BinaryOld];
        let length = self.random.random_range(0..3);
        Binary { subtype: *subtypes.choose(&mut self.random).unwrap(), bytes: vec![7; length] }
    }

    /// A value that only documents hold.
    fn deprecated(&mut self) -> RawBson {
        match self.random.random_range(0..5) {
            0 | 1 => RawBson::Undefined,
            2 => RawBson::Symbol(self.pick(&STRINGS).to_owned()),
            3 => RawBson::JavaScriptCode(self.pick(&STRINGS).to_owned()),
            _ => self.regex(),
        }
    }

    fn regex(&mut self) -> RawBson {
        let pattern = self.pick(&["a", "^a", "abc", "^abc", "é", "x"]);
        let (pattern, options) =
            (CString::try_from(pattern).unwrap(), CString::try_from("").unwrap());
        RawBson::RegularExpression(Regex { pattern, options })
    }

    pub(super) fn filter(&mut self) -> RawDocumentBuf {
        self.oddity = Oddity::None;
        self.conditions(2)
    }

    fn conditions(&mut self, depth: usize) -> RawDocumentBuf {
        let mut filter = RawDocumentBuf::new();
        for _ in 0..self.random.random_range(1..3) {
            if depth > 0 && self.chance(25) {
                let parts = self.random.random_range(1..3);
                let parts = (0..parts).map(|_| self.conditions(depth - 1)).collect();
                let name = self.pick(&["$and", "$or", "$nor"]);
                append(&mut filter, name, RawBson::Array(parts));
            } else {
                let paths: &[_] = if self.numeric { &PATHS[..5] } else { &PATHS };
                let (path, condition) = (self.pick(paths), self.condition(depth));
                append(&mut filter, path, condition);
            }
        }
        filter
    }

    fn condition(&mut self, depth: usize) -> RawBson {
        match self.random.random_range(0..10) {
            0 | 1 => self.operand(),
            2 => self.regex(),
            _ => RawBson::Document(self.operators(depth)),
        }
    }

    fn operand(&mut self) -> RawBson {
        if self.chance(70) { self.scalar() } else { self.value(2) }
    }

    fn operators(&mut self, depth: usize) -> RawDocumentBuf {
        let mut operators = RawDocumentBuf::new();
        for _ in 0..self.random.random_range(1..3) {
            let (name, argument) = self.operator(depth);
            append(&mut operators, name, argument);
        }
        operators
    }

    fn operator(&mut self, depth: usize) -> (&'static str, RawBson) {
        match self.random.random_range(0..16) {
            0 | 1 => ("$in", self.list()),
            2 => ("$nin", self.list()),
            3 => ("$exists", self.random.random::<bool>().into()),
            4 => ("$type", self.pick(&TYPES).into()),
            5 => ("$size", self.random.random_range(0..4).into()),
            6 => ("$mod", self.modulo()),
            7 => ("$regex", self.pick(&["a", "^a", "abc", "é"]).into()),
            8 if depth > 0 => ("$not", RawBson::Document(self.operators(depth - 1))),
            8 => ("$not", self.regex()),
            9 | 10 if depth > 0 => ("$elemMatch", self.elem_match(depth - 1)),
            11 if depth > 0 => ("$all", self.all(depth - 1)),
            _ => (self.pick(&COMPARISONS), self.operand()),
        }
    }

    fn list(&mut self) -> RawBson {
        let length = self.random.random_range(0..4);
        let member = |generator: &mut Self| {
            if generator.chance(10) { generator.regex() } else { generator.operand() }
        };
        RawBson::Array((0..length).map(|_| member(self)).collect())
    }

    fn modulo(&mut self) -> RawBson {
        let divisor = [1_i64, -1, 2, 3, -4, i64::MAX, i64::MIN].choose(&mut self.random).copied();
        let remainder = self.random.random_range(-2_i32..3);
        bson::rawbson!([divisor.unwrap(), remainder])
    }

    fn elem_match(&mut self, depth: usize) -> RawBson {
        let itself = self.random.random::<bool>();
        if itself { self.operators(depth) } else { self.conditions(depth) }.into()
    }

    fn all(&mut self, depth: usize) -> RawBson {
        if self.chance(70) {
            return self.list();
        }
        let length = self.random.random_range(1..3);
        let parts = (0..length).map(|_| rawdoc! { "$elemMatch": self.elem_match(depth) });
        RawBson::Array(parts.collect())
    }

    pub(super) fn stage(&mut self) -> RawDocumentBuf {
        self.oddity = Oddity::None;
        let paths: Vec<_> = (0..3).map(|_| self.stage_path()).collect();
        let flag = self.random.random::<bool>();
        match self.random.random_range(0..3) {
            0 => {
                let paths = paths.into_iter().map(|path| RawBson::String(path.to_owned()));
                rawdoc! { "$unset": RawBson::Array(paths.collect()) }
            }
            1 => rawdoc! { "$project": spec(paths, |_| flag.into()) },
            _ => rawdoc! { "$set": spec(paths, |_| rawdoc! { "$literal": self.value(2) }.into()) },
        }
    }

    fn stage_path(&mut self) -> &'static str {
        if self.chance(15) { "_id" } else { self.pick(&PATHS) }
    }

    fn pick(&mut self, pool: &[&'static str]) -> &'static str {
        pool.choose(&mut self.random).unwrap()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }
}

fn spec(paths: Vec<&'static str>, mut value: impl FnMut(&str) -> RawBson) -> RawDocumentBuf {
    let mut spec = RawDocumentBuf::new();
    for path in paths {
        append(&mut spec, path, value(path));
    }
    spec
}

fn append(document: &mut RawDocumentBuf, name: &str, value: RawBson) {
    document.append(CString::try_from(name).unwrap(), value);
}

/// An array whose elements have the names of the document's fields.
fn as_array(document: &RawDocumentBuf) -> RawArrayBuf {
    let mut holder = rawdoc! { "": document.clone() }.into_bytes();
    // The first byte after the length is the type of the only field.
    holder[4] = 4;
    let holder = RawDocumentBuf::from_bytes(holder).unwrap();
    match holder.get("").unwrap() {
        Some(RawBsonRef::Array(array)) => array.to_owned(),
        other => panic!("expected an array, not {other:?}"),
    }
}
