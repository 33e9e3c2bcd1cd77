//! Every type in every mode.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, JavaScriptCodeWithScope, Regex, Timestamp, doc};

use super::super::write_value;
use super::{MODES, check_text, db_pointer, written, written_value};

/// The forms in the order of [`MODES`]; `"="` repeats the one before.
fn check(value: impl Into<Bson>, forms: [&str; 5]) {
    let value = value.into();
    let mut wanted = "";
    for (mode, form) in MODES.into_iter().zip(forms) {
        wanted = if form == "=" { wanted } else { form };
        let text = written_value(&value, mode);
        assert_eq!(text, wanted, "{mode:?}");
        check_text(&text, mode);
    }
}

#[test]
fn integers() {
    check(1, ["1", "=", "=", "{\"$numberInt\": \"1\"}", "1"]);
    check(i32::MIN, ["-2147483648", "=", "=", "{\"$numberInt\": \"-2147483648\"}", "-2147483648"]);
    check(1_i64, ["1", "=", "{\"$numberLong\": \"1\"}", "=", "NumberLong(1)"]);
    for number in
        [i64::MIN, i64::MAX, i64::from(i32::MAX) + 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1]
    {
        let wrapped = format!("{{\"$numberLong\": \"{number}\"}}");
        let shell = format!("NumberLong(\"{number}\")");
        check(number, [&number.to_string(), "=", &wrapped, "=", &shell]);
    }
}

#[test]
fn doubles() {
    for (number, text) in [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e7, "1.0E+7"),
        (1e-4, "1.0E-4"),
        (5e-324, "5.0E-324"),
        (9_007_199_254_740_993.0, "9.007199254740992E+15"),
    ] {
        let wrapped = format!("{{\"$numberDouble\": \"{text}\"}}");
        check(number, [text, "=", "=", &wrapped, text]);
    }
    for (number, text) in
        [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")]
    {
        let wrapped = format!("{{\"$numberDouble\": \"{text}\"}}");
        check(number, [&wrapped, "=", "=", "=", text]);
    }
}

#[test]
fn decimals() {
    for text in [
        "1",
        "-0",
        "0.10",
        "1E+3",
        "9.999999999999999999999999999999999E+6144",
        "1E-6176",
        "NaN",
        "Infinity",
        "-Infinity",
        "1234567890123456789012345678901234",
    ] {
        let wrapped = format!("{{\"$numberDecimal\": \"{text}\"}}");
        let shell = format!("NumberDecimal(\"{text}\")");
        let value = Bson::Decimal128(text.parse().unwrap());
        check(value, [&wrapped, "=", "=", "=", &shell]);
    }
}

#[test]
fn dates() {
    check_date(1_568_295_769_260, Some("2019-09-12T13:42:49.26Z"), "2019-09-12T13:42:49.260Z");
    check_date(0, Some("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00.000Z");
    check_date(-1, None, "1969-12-31T23:59:59.999Z");
    check_date(253_402_300_799_999, Some("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z");
    for millis in [253_402_300_800_000, i64::MIN, i64::MAX] {
        let canonical = canonical_date(millis);
        let plain = format!("{{\"$date\": {millis}}}");
        let shell = format!("new Date({millis})");
        let date = DateTime::from_millis(millis);
        check(date, [&plain, &canonical, &plain, &canonical, &shell]);
    }
}

fn check_date(millis: i64, relaxed: Option<&str>, shell: &str) {
    let canonical = canonical_date(millis);
    let plain = format!("{{\"$date\": {millis}}}");
    let relaxed = relaxed.map(|iso| format!("{{\"$date\": \"{iso}\"}}"));
    let relaxed = relaxed.unwrap_or_else(|| canonical.clone());
    let shell = format!("ISODate(\"{shell}\")");
    let date = DateTime::from_millis(millis);
    check(date, [&plain, &relaxed, &plain, &canonical, &shell]);
}

fn canonical_date(millis: i64) -> String {
    format!("{{\"$date\": {{\"$numberLong\": \"{millis}\"}}}}")
}

#[test]
fn plain_types() {
    check("a\"b\n\0é😀", ["\"a\\\"b\\n\\u0000é😀\"", "=", "=", "=", "="]);
    check(true, ["true", "=", "=", "=", "="]);
    check(false, ["false", "=", "=", "=", "="]);
    check(Bson::Null, ["null", "=", "=", "=", "="]);
    check(doc! {}, ["{}", "=", "=", "=", "="]);
    check(Bson::Array(vec![]), ["[]", "=", "=", "=", "="]);
    check(
        Bson::Array(vec![1.into(), doc! { "b": "c", "": {} }.into(), Bson::Null]),
        [
            "[1, {\"b\": \"c\", \"\": {}}, null]",
            "=",
            "=",
            "[{\"$numberInt\": \"1\"}, {\"b\": \"c\", \"\": {}}, null]",
            "[1, {\"b\": \"c\", \"\": {}}, null]",
        ],
    );
}

#[test]
fn wrapped_types() {
    let hex = "5d7a4b69a4f7bd1fd8ee8d2a";
    let wrapped = format!("{{\"$oid\": \"{hex}\"}}");
    let shell = format!("ObjectId(\"{hex}\")");
    check(ObjectId::parse_str(hex).unwrap(), [&wrapped, "=", "=", "=", &shell]);

    let json = "{\"$timestamp\": {\"t\": 4294967295, \"i\": 2}}";
    let timestamp = Timestamp { time: u32::MAX, increment: 2 };
    check(timestamp, [json, "=", "=", "=", "Timestamp(4294967295, 2)"]);

    let json = "{\"$regularExpression\": {\"pattern\": \"^a/\\\"b\", \"options\": \"im\"}}";
    let strict = "{\"$regex\": \"^a/\\\"b\", \"$options\": \"im\"}";
    let pattern = "^a/\"b".to_owned().try_into().unwrap();
    let options = "im".to_owned().try_into().unwrap();
    check(Regex { pattern, options }, [json, "=", strict, json, "/^a\\/\"b/im"]);

    check(Bson::MinKey, ["{\"$minKey\": 1}", "=", "=", "=", "MinKey"]);
    check(Bson::MaxKey, ["{\"$maxKey\": 1}", "=", "=", "=", "MaxKey"]);
    check(Bson::Undefined, ["{\"$undefined\": true}", "=", "=", "=", "undefined"]);
    check(Bson::Symbol("s\n".into()), ["{\"$symbol\": \"s\\n\"}", "=", "=", "=", "="]);
    check(Bson::JavaScriptCode("f()".into()), ["{\"$code\": \"f()\"}", "=", "=", "=", "="]);

    let scoped = JavaScriptCodeWithScope { code: "f".into(), scope: doc! { "x": 1_i64 } };
    let plain = "{\"$code\": \"f\", \"$scope\": {\"x\": 1}}";
    let typed = "{\"$code\": \"f\", \"$scope\": {\"x\": {\"$numberLong\": \"1\"}}}";
    let shell = "{\"$code\": \"f\", \"$scope\": {\"x\": NumberLong(1)}}";
    check(scoped, [plain, "=", typed, "=", shell]);

    let id = format!("{{\"$oid\": \"{hex}\"}}");
    let json = format!("{{\"$dbPointer\": {{\"$ref\": \"db.c\", \"$id\": {id}}}}}");
    let strict = format!("{{\"$ref\": \"db.c\", \"$id\": {id}}}");
    let shell = format!("DBPointer(\"db.c\", ObjectId(\"{hex}\"))");
    check(db_pointer(), [&json, "=", &strict, &json, &shell]);
}

#[test]
fn binary_of_every_subtype_is_base64() {
    for (subtype, hex) in [(0, "00"), (2, "02"), (3, "03"), (4, "04"), (6, "06"), (0xAB, "AB")] {
        let bytes = vec![0xFB, 0xFF, 0];
        let json = format!("{{\"$binary\": {{\"base64\": \"+/8A\", \"subType\": \"{hex}\"}}}}");
        let strict = format!("{{\"$binary\": \"+/8A\", \"$type\": \"{hex}\"}}");
        let shell = format!("new BinData({subtype}, \"+/8A\")");
        let binary = Binary { subtype: BinarySubtype::from(subtype), bytes };
        check(binary, [&json, "=", &strict, &json, &shell]);
    }
}

#[test]
fn data_that_looks_like_a_wrapper_is_written_as_it_is() {
    let document = doc! {
        "a": { "$date": "not a date" }, "b": { "$oid": "zz" }, "c": { "$numberLong": "x" },
        "$weird": 1.5,
    };
    let wanted = "{\"a\": {\"$date\": \"not a date\"}, \"b\": {\"$oid\": \"zz\"}, \
                  \"c\": {\"$numberLong\": \"x\"}, \"$weird\": 1.5}";
    assert_eq!(written(&document, MODES[0]), wanted);
}

#[test]
fn a_value_alone_is_written_as_inside_a_document() {
    let values = doc! {
        "a": 1, "b": 5_i64, "c": "x", "d": { "e": [1.5, true] }, "f": [{}, Bson::Null],
        "g": Bson::MinKey, "h": db_pointer(), "i": DateTime::from_millis(5),
    };
    let raw = bson::raw::RawDocumentBuf::try_from(&values).unwrap();
    for mode in MODES {
        for element in &raw {
            let (key, value) = element.unwrap();
            let mut out = b"data: ".to_vec();
            write_value(value, mode, &mut out).unwrap();
            let wanted = written_value(values.get(key.as_str()).unwrap(), mode);
            assert_eq!(String::from_utf8(out).unwrap(), format!("data: {wanted}"));
        }
    }
}
