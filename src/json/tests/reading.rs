//! What the reader accepts and refuses.

use bson::oid::ObjectId;
use bson::{Binary, Bson, DateTime, JavaScriptCodeWithScope, Regex, Timestamp, doc};

use super::super::{DuplicateKeys, Limits, parse_document, parse_value};
use super::db_pointer;

fn check(text: &str, wanted: impl Into<Bson>) {
    let value = parse_value(text, Limits::default()).unwrap_or_else(|e| panic!("{e}: {text}"));
    let (value, wanted) = (doc! { "v": value }, doc! { "v": wanted.into() });
    // As bytes, because NaN differs from itself.
    assert_eq!(value.to_vec().unwrap(), wanted.to_vec().unwrap(), "{text}: {value}");
}

fn refuse(text: &str, message: &str) {
    refuse_within(text, Limits::default(), message);
}

fn refuse_within(text: &str, limits: Limits, message: &str) {
    let error = parse_value(text, limits).map_or_else(|e| e.to_string(), |v| format!("read {v}"));
    assert_eq!(error, message, "{text}");
}

fn regex(pattern: &str, options: &str) -> Regex {
    let pattern = pattern.to_owned().try_into().unwrap();
    Regex { pattern, options: options.to_owned().try_into().unwrap() }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

#[test]
fn json() {
    check(" {} \n", doc! {});
    check(r#"{"a": [1, -2.5, true, false, null, "x"]}"#, {
        doc! { "a": [1, -2.5, true, false, Bson::Null, "x"] }
    });
    check(r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\u0000""#, "\"\\/\u{8}\u{c}\n\r\té😀\0");
    check("\"raw\nline\"", "raw\nline");
}

#[test]
fn numbers() {
    check("0", 0);
    check("-0", 0);
    check("2147483647", i32::MAX);
    check("2147483648", 2_147_483_648_i64);
    check("-9223372036854775808", i64::MIN);
    check("9223372036854775808", 9_223_372_036_854_775_808.0);
    check("9007199254740993", 9_007_199_254_740_993_i64);
    check("1.0", 1.0);
    check("-0.0", -0.0);
    check("1e3", 1000.0);
    check("1.5E+2", 150.0);
    check("NaN", f64::NAN);
    check("[Infinity, -Infinity]", vec![f64::INFINITY, f64::NEG_INFINITY]);
    refuse("01", "expected the end of the literal, found `1` at line 1, column 2");
    refuse("1.", "expected a digit, found the end of the text at line 1, column 3");
    refuse("1.5.2", "expected the end of the literal, found `.` at line 1, column 4");
    refuse("- 1", "expected a digit, found ` ` at line 1, column 2");
    refuse("1e", "expected a digit, found the end of the text at line 1, column 3");
    refuse("1e999", "number is out of range at line 1, column 1");
    refuse("-Inf", "expected a number, found `Inf` at line 1, column 2");
    refuse("+1", "expected a value, found `+` at line 1, column 1");
    refuse(".5", "expected a value, found `.` at line 1, column 1");
    refuse("0x10", "expected the end of the literal, found `x` at line 1, column 2");
}

#[test]
fn lenient_notation() {
    check("{'param': 'te\"st'}", doc! { "param": "te\"st" });
    check("{a: 1, $b_1: 2, _c: {été: 3}}", doc! { "a": 1, "$b_1": 2, "_c": { "été": 3 } });
    check("{'a.b': {$gt: 1,}, c: [1,],}", doc! { "a.b": { "$gt": 1 }, "c": [1] });
    check(r"'it\'s'", "it's");
    check("undefined", Bson::Undefined);
    check("[MinKey, MaxKey(), new MinKey()]", vec![Bson::MinKey, Bson::MaxKey, Bson::MinKey]);
    check(r"/^a\/b\d[\]]/mi", regex(r"^a/b\d[\]]", "im"));
    check("{a: /x/}", doc! { "a": regex("x", "") });
}

#[test]
fn constructors() {
    let hex = "5d7a4b69a4f7bd1fd8ee8d2a";
    check(&format!("ObjectId('{hex}')"), ObjectId::parse_str(hex).unwrap());
    let date = DateTime::from_millis(1_568_295_769_260);
    for text in [
        "ISODate(\"2019-09-12T13:42:49.26Z\")",
        "new Date(1568295769260)",
        "new  ISODate ( '2019-09-12T15:42:49.260+02:00' )",
        "Date('2019-09-12 13:42:49.26')",
    ] {
        check(text, date);
    }
    check("[NumberLong(1), NumberLong('-5'), Long(\"9223372036854775807\")]", {
        vec![Bson::Int64(1), Bson::Int64(-5), Bson::Int64(i64::MAX)]
    });
    check("[NumberInt(1), NumberInt('2'), Int32(3)]", vec![1, 2, 3]);
    check("[Double(1), Double('1e3')]", vec![1.0, 1000.0]);
    check("[NumberDecimal('1.50'), Decimal128('NaN'), NumberDecimal(2)]", {
        vec![decimal("1.50"), decimal("NaN"), decimal("2")]
    });
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    check(&format!("UUID('{uuid}')"), bson::Uuid::parse_str(uuid).unwrap());
    check("new BinData(128, '+/8A')", Binary { subtype: 128.into(), bytes: vec![0xFB, 0xFF, 0] });
    check("Timestamp(4294967295, 2)", Timestamp { time: u32::MAX, increment: 2 });
    check("new RegExp('a/b', 'mi')", regex("a/b", "im"));
    check("DBPointer('db.c', ObjectId('5d7a4b69a4f7bd1fd8ee8d2a'))", db_pointer());
}

#[test]
fn constructors_say_what_they_want() {
    refuse("ObjectId()", "ObjectId wants 24 hex digits as text at line 1, column 1");
    refuse("{a: ObjectId('zz')}", "ObjectId wants 24 hex digits as text at line 1, column 5");
    let wants = "Date wants milliseconds or an ISO 8601 date as text at line 1, column 1";
    refuse("new Date()", wants);
    refuse("new Date(2019, 1, 1)", wants);
    refuse("NumberLong(1.5)", "NumberLong wants a 64-bit integer at line 1, column 1");
    refuse("NumberInt(2147483648)", "NumberInt wants a 32-bit integer at line 1, column 1");
    for text in ["''", "'.'", "'e5'", "'++1'", "'inf'", "'x'", "'1E+9999'"] {
        let wants = "NumberDecimal wants a number of at most 34 digits at line 1, column 1";
        refuse(&format!("NumberDecimal({text})"), wants);
    }
    refuse("BinData(256, '')", {
        "BinData wants a subtype from 0 to 255 and base64 text at line 1, column 1"
    });
    refuse("alert(1)", "expected a value, found `alert` at line 1, column 1");
    refuse("true()", "expected a value, found `true` at line 1, column 1");
    refuse("new 1", "expected a value, found `1` at line 1, column 1");
    refuse("new", "expected a value, found `` at line 1, column 1");
    refuse("ObjectId", "expected `(`, found the end of the text at line 1, column 9");
    refuse("NumberInt(1", "expected `,` or `)`, found the end of the text at line 1, column 12");
}

#[test]
fn wrappers() {
    let hex = "5d7a4b69a4f7bd1fd8ee8d2a";
    check(&format!("{{$oid: '{hex}'}}"), ObjectId::parse_str(hex).unwrap());
    let date = DateTime::from_millis(1_568_295_769_260);
    for text in [
        "{\"$date\": 1568295769260 }",
        "{\"$date\": \"2019-09-12T13:42:49.26Z\"}",
        "{\"$date\": {\"$numberLong\": \"1568295769260\"}}",
    ] {
        check(text, date);
    }
    check("{$date: -1}", DateTime::from_millis(-1));
    check("{$numberLong: '5'}", 5_i64);
    check("{$numberInt: '5'}", 5);
    check("{$numberDouble: '-Infinity'}", f64::NEG_INFINITY);
    check("{$numberDouble: '1.0E+7'}", 1e7);
    check("{$numberDecimal: '1E+3'}", decimal("1E+3"));
    let binary = Binary { subtype: 0xAB.into(), bytes: vec![0xFB, 0xFF, 0] };
    check("{$binary: {base64: '+/8A', subType: 'ab'}}", binary.clone());
    check("{$binary: {subType: 'AB', base64: '+/8A'}}", binary.clone());
    check("{$type: 'ab', $binary: '+/8A'}", binary);
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    check(&format!("{{$uuid: '{uuid}'}}"), bson::Uuid::parse_str(uuid).unwrap());
    check("{$regularExpression: {pattern: 'a', options: 'mi'}}", regex("a", "im"));
    check("{$timestamp: {t: 4294967295, i: 2}}", Timestamp { time: u32::MAX, increment: 2 });
    check("[{$minKey: 1}, {$maxKey: 1}]", vec![Bson::MinKey, Bson::MaxKey]);
    check("[{$undefined: true}, {$symbol: 's'}]", {
        vec![Bson::Undefined, Bson::Symbol("s".into())]
    });
    check("{$code: 'f'}", Bson::JavaScriptCode("f".into()));
    let scope = doc! { "x": 5_i64 };
    check("{$code: 'f', $scope: {x: {$numberLong: '5'}}}", {
        JavaScriptCodeWithScope { code: "f".into(), scope }
    });
    check("{$dbPointer: {$ref: 'db.c', $id: {$oid: '5d7a4b69a4f7bd1fd8ee8d2a'}}}", db_pointer());
}

#[test]
fn malformed_wrappers_say_what_they_want() {
    let oid = "$oid wants 24 hex digits and no other key at line 1, column";
    refuse("{\"$oid\":\"zz\"}", &format!("{oid} 1"));
    refuse("{a: {$oid: '5d7a4b69a4f7bd1fd8ee8d2a', b: 1}}", &format!("{oid} 5"));
    refuse("{b: 1, $oid: 5}", &format!("{oid} 1"));
    let date = "$date wants milliseconds or an ISO 8601 date such as 2019-09-12T13:42:49.26Z, \
                and no other key at line 1, column 1";
    refuse("{$date: 'not a date'}", date);
    refuse("{$date: 1.5}", date);
    for text in ["'x'", "1.5", "'9223372036854775808'", "null"] {
        refuse(&format!("{{$numberLong: {text}}}"), {
            "$numberLong wants a 64-bit integer as text and no other key at line 1, column 1"
        });
    }
    for text in ["{base64: '?', subType: '00'}", "{base64: ''}", "'AA=='", "{}"] {
        refuse(&format!("{{$binary: {text}}}"), {
            "$binary wants {base64, subType} and no other key, or base64 text with $type \
             at line 1, column 1"
        });
    }
    refuse("{$timestamp: {t: -1, i: 2}}", {
        "$timestamp wants {t, i}, two unsigned 32-bit integers, and no other key \
         at line 1, column 1"
    });
    refuse("{$regularExpression: {pattern: 'a\\u0000', options: ''}}", {
        "$regularExpression wants {pattern, options}, two strings without NUL, and no other key \
         at line 1, column 1"
    });
    refuse("{$minKey: 2}", "$minKey wants 1 and no other key at line 1, column 1");
}

#[test]
fn operators_stay_operators() {
    check("{a: {$regex: 'x', $options: 'i'}}", doc! { "a": { "$regex": "x", "$options": "i" } });
    check("{a: {$type: 'string'}}", doc! { "a": { "$type": "string" } });
    check("{$ref: 'c', $id: 1}", doc! { "$ref": "c", "$id": 1 });
    check("{$scope: {}}", doc! { "$scope": {} });
    let limits = Limits { legacy_regex: true, ..Limits::default() };
    let read = |text| parse_value(text, limits).unwrap();
    assert_eq!(read("{$options: 'i', $regex: 'x'}"), regex("x", "i").into());
    assert_eq!(read("{$regex: 'x'}"), doc! { "$regex": "x" }.into());
    assert_eq!(read("{$regex: 'x', $options: 1}"), doc! { "$regex": "x", "$options": 1 }.into());
    let text = "{$regex: 'x', $options: 'i', $not: 1}";
    assert_eq!(read(text), doc! { "$regex": "x", "$options": "i", "$not": 1 }.into());
}

#[test]
fn errors_say_where_and_what() {
    refuse("", "expected a value, found the end of the text at line 1, column 1");
    refuse("{", "expected a key or `}`, found the end of the text at line 1, column 2");
    refuse("{\n  'é': 1\n  b: 2}", "expected `,` or `}`, found `b` at line 3, column 3");
    refuse("{a 1}", "expected `:`, found `1` at line 1, column 4");
    refuse("{a: hello}", "expected a value, found `hello` at line 1, column 5");
    refuse("[1 2]", "expected `,` or `]`, found `2` at line 1, column 4");
    refuse("[,]", "expected a value, found `,` at line 1, column 2");
    refuse("{} x", "expected the end of the text, found `x` at line 1, column 4");
    refuse("'é", "expected a closing quote, found the end of the text at line 1, column 3");
    refuse("'a\\x'", "expected an escape, found `x` at line 1, column 4");
    refuse("'\\u12é4'", "expected four hex digits, found `1` at line 1, column 4");
    refuse("'\\ud800'", "expected a surrogate pair, found half of one at line 1, column 3");
    refuse("'\\ud800\\u0041'", "expected a surrogate pair, found half of one at line 1, column 3");
    refuse("/a", "expected a closing slash, found the end of the text at line 1, column 3");
    refuse("/a/g", "expected the end of the literal, found `g` at line 1, column 4");
    refuse("/a\0/", "key or regular expression contains NUL at line 1, column 1");
    refuse("{'a\\u0000b': 1}", "key or regular expression contains NUL at line 1, column 2");
    refuse("{a: 1, 'a': 2}", {
        "key `a` is given twice, combine the two with $and or rename one at line 1, column 8"
    });
    let error = parse_value("{\n  a: ?", Limits::default()).unwrap_err();
    assert_eq!((error.offset, error.line, error.column), (7, 2, 6));
}

#[test]
fn only_a_document_is_a_document() {
    let read = |text| parse_document(text, Limits::default());
    assert_eq!(read("{a: 1}").unwrap(), doc! { "a": 1 });
    let message = read("{$oid: '5d7a4b69a4f7bd1fd8ee8d2a'}").unwrap_err().to_string();
    assert_eq!(message, "expected a document, found ObjectId at line 1, column 1");
    assert!(read("[]").is_err());
}

#[test]
fn limits_hold() {
    let limits = Limits { bytes: 4, depth: 2, nodes: 3, ..Limits::default() };
    refuse_within("[1,2]", limits, "text is longer than 4 bytes at line 1, column 1");
    let limits = Limits { bytes: 100, ..limits };
    assert!(parse_value("[[1]]", limits).is_ok());
    assert!(parse_value("[{}, {}]", limits).is_ok());
    refuse_within("[[[]]]", limits, "value nests deeper than 2 levels at line 1, column 3");
    refuse_within("{a: [{}]}", limits, "value nests deeper than 2 levels at line 1, column 6");
    refuse_within("[1, 2, 3]", limits, "text holds more than 3 values at line 1, column 8");
    let boundless = Limits { depth: usize::MAX, ..Limits::default() };
    for open in ["[", "{a:", "NumberInt("] {
        let message = parse_value(&open.repeat(10_000), boundless).unwrap_err().to_string();
        assert!(message.starts_with("value nests deeper than 200 levels"), "{message}");
    }
    let limits = Limits { duplicate_keys: DuplicateKeys::KeepLast, ..Limits::default() };
    assert_eq!(parse_document("{a: 1, b: 2, a: 3}", limits).unwrap(), doc! { "a": 3, "b": 2 });
}
