//! Rows: expressions, and what becomes of them.

use bson::{DateTime, Decimal128, RawDocumentBuf, doc, oid::ObjectId, rawdoc};
use proptest::prelude::*;

use super::*;

fn order() -> RawDocumentBuf {
    rawdoc! {
        "_id": ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap(),
        "status": "draft",
        "total": 1200,
        "half": 0.5,
        "price": "12.50".parse::<Decimal128>().unwrap(),
        "at": DateTime::from_millis(1_568_295_769_260),
        "paid": false,
        "note": null,
        "tags": ["new", "big"],
        "items": [{ "n": 1, "ok": true }, { "n": 20, "ok": false }],
        "address": { "city": "Ulm", "the zip": "89073" },
    }
}

fn ask(text: &str, data: Option<&RawDocument>) -> Result<bool, Undecided> {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    expression.holds(&Facts {
        event: "order.changed",
        entity: "Order",
        operation: "update",
        data,
        tenant: Some("acme"),
        user_id: None,
    })
}

#[test]
fn expressions_hold_or_do_not() {
    let data = order();
    for (text, expected) in [
        ("true", true),
        ("data.total > 10", true),
        ("payload.total > 10", true),
        ("payload.status != \"draft\"", false),
        ("data.total >= 1200 and data.total <= 1200.0", true),
        ("data.total < 10 || data.status == 'draft'", true),
        ("not data.paid", true),
        ("!data.paid && true", true),
        ("data.missing", false),
        ("data.missing == nil", true),
        ("data.note == nil", true),
        ("data.missing?.deeper == nil", true),
        ("(data.missing ?? 7) == 7", true),
        ("(data.total ?? 7) > 1000", true),
        ("data.total", true),
        ("data.half > 0.25", true),
        ("data.price > 12.4 and data.price < 12.6", true),
        ("data.at > \"2019-01-01\" and data.at < \"2019-09-12T13:42:49.261Z\"", true),
        ("data._id == \"5f9d88b9a9f8e8b0c0a1b2c3\"", true),
        ("\"new\" in data.tags", true),
        ("\"old\" not in data.tags", true),
        ("data.tags contains \"big\"", true),
        ("data.status in [\"draft\", \"open\"]", true),
        ("data.status startsWith \"dr\" and data.status endsWith 'ft'", true),
        ("data.status matches \"^d.*t$\"", true),
        ("data.status matches `^\\w+$`", true),
        ("data[\"status\"] == 'draft'", true),
        ("data.address[\"the zip\"] == '89073'", true),
        ("data.address.city == 'Ulm'", true),
        ("data.tags[0] == 'new' and data.tags[-1] == 'big' and data.tags[9] == nil", true),
        ("data.items[1].n == 20", true),
        ("any(data.items, #.n > 10)", true),
        ("any(data.items, {#.n > 100})", false),
        ("all(data.items, .ok)", false),
        ("count(data.items, #.ok) == 1", true),
        ("sum(map(data.items, #.n)) == 21", true),
        ("len(filter(data.items, #.n > data.half)) == 2", true),
        ("len(data.tags) == 2 and len(data.status) == 5", true),
        ("lower(upper(data.status)) == data.status", true),
        ("max(data.total, 5) == 1200", true),
        ("\"status\" in data", true),
        ("\"nothing\" in data", false),
        ("len(data) == 11", true),
        ("len(keys(data)) == 11", true),
        ("data.total % 7 == 3 and data.total / 2 == 600 and -data.total < 0 and 2 ** 3 == 8", true),
        ("data.paid ? false : data.total > 1", true),
        ("event == 'order.changed' and entity == 'Order' and operation == 'update'", true),
        ("tenant == 'acme' and user_id == nil", true),
        ("operation == 'update'\n  and true", true),
        ("data.total == 1.2e3 and data.total != 0x4B1 and data.total < 1_000_000", true),
    ] {
        assert_eq!(ask(text, Some(&data)), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_decided_is_an_error_without_data() {
    let data = order();
    for text in [
        "data.missing > 1",
        "data.status > 1",
        "data.missing.deeper == 1",
        "data.total and true",
        "not data.status",
        "lower(data.total) == 'x'",
        "int(data.status) == 1",
        "any(data.total, #.n == 1)",
        "data.status ? true : false",
        "data.total startsWith 'a'",
        "data.total % 0 == 1",
    ] {
        let error = ask(text, Some(&data)).unwrap_err();
        assert!(!error.to_string().contains("draft"), "{text}: {error}");
    }
    assert!(ask("data.total > 1", None).is_err());
    for text in ["data == nil", "operation == 'update'", "data == nil or data.total > 1"] {
        assert_eq!(ask(text, None), Ok(true), "{text}");
    }
}

#[test]
fn what_is_refused_is_told_with_its_place() {
    for (text, at, reason) in [
        ("", 1, "it ends where a value is missing"),
        ("  ", 3, "it ends where a value is missing"),
        ("data.total >", 13, "it ends where a value is missing"),
        ("data.total > > 1", 14, "a value is missing before `>`"),
        ("data.total 10", 12, "an operator is missing"),
        ("data.", 6, "the name of a field is missing"),
        ("(data.total > 1", 16, "`)` is missing"),
        ("data.total = 1", 12, "compare with `==`"),
        ("dta.total > 1", 1, "unknown variable `dta`; did you mean `data`"),
        ("doc.total > 1", 1, "unknown variable `doc`; did you mean `data`"),
        ("user == 'x'", 1, "did you mean `user_id`"),
        ("data.x == null", 11, "did you mean `nil`"),
        ("colour == 1", 1, "unknown variable `colour`; known are event, entity"),
        ("$env.data", 1, "unknown variable `$env`"),
        ("lowr(data.x) == 'a'", 1, "not a function that may be called; did you mean `lower`"),
        ("now() == 1", 1, "`now` is not a function"),
        ("repeat('x', 9) == ''", 1, "`repeat` is not a function"),
        ("len() == 1", 1, "`len` takes 1 argument(s), not 0"),
        ("len(data, data) == 1", 1, "`len` takes 1 argument(s), not 2"),
        ("lower(1) == 'a'", 7, "an argument of `lower` has to be text, and this is a number"),
        ("any(data.items)", 1, "`any` needs a predicate"),
        ("any(data.items, true)", 17, "a predicate names the element"),
        ("any(data.items, n > 1)", 17, "write `#.n` for a field of the element"),
        ("any(data.a, any(#.b, #.c))", 13, "`any` cannot stand inside another predicate"),
        ("# > 1", 1, "`#` is an element"),
        ("tenant > 3", 8, "`>` cannot take text and a number"),
        ("operation == 1", 11, "`==` cannot take text and a number"),
        ("data > 1", 6, "`>` cannot take a document and a number"),
        ("data.x and 'yes'", 8, "`and` cannot take a value and text"),
        ("not tenant", 5, "what `not` negates has to be true or false"),
        ("not data.x in data.y", 12, "put what `not` negates in parentheses"),
        ("data.x ?? 1 > 2", 13, "put `(… ?? …)` in parentheses"),
        ("1 + 'a' == 2", 3, "`+` cannot take a number and text"),
        ("'a' in 'abc'", 5, "`in` cannot take text and text"),
        ("data.x matches data.y", 16, "has to be written out"),
        ("data.x matches '('", 16, "the pattern cannot be used"),
        ("data.total + 1", 1, "it is a number, but has to say yes or no"),
        ("1", 1, "it is a number, but has to say yes or no"),
        ("'yes'", 1, "it is text, but has to say yes or no"),
        ("data", 1, "it is a document, but has to say yes or no"),
        ("nil", 1, "it is nil, but has to say yes or no"),
        ("let x == 1", 1, "`let` is not allowed"),
        ("if true { true } else { false }", 1, "`if` is not allowed"),
        ("1..5 == nil", 2, "ranges are not allowed"),
        ("data.s[1:2] == 'a'", 9, "slices are not allowed"),
        ("{a: 1} == data", 1, "maps are not allowed"),
        ("data.s | lower() == 'a'", 8, "pipes are not allowed"),
        ("data.s.lower() == 'a'", 8, "methods are not allowed; write `lower(…)`"),
        ("true // comment", 6, "comments have no place here"),
        ("'open", 1, "the text has no closing '"),
        ("data.größe > 1", 8, "`ö` means nothing here"),
        ("true & true", 6, "write `and`"),
        ("b'x' == data.x", 1, "unknown variable `b`"),
        ("!!true", 2, "a value is missing before `!`"),
        ("data.x == 0x", 1, "it is not an expression"),
        ("data.a[data.b[data.c[data.d[0]]]] == 1", 29, "indexes nest deeper"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        assert!(error.reason.contains(reason), "{text}: {error}");
        assert_eq!(error.at, at, "{text}: {error}");
    }
}

#[test]
fn size_and_nesting_are_bounded() {
    let deep = |levels: usize| format!("{}true{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Expression::parse(&deep(limits::MAX_LEVELS - 1)).is_ok());
    for text in [
        deep(limits::MAX_LEVELS),
        deep(500),
        format!("data.x in [{}1{}]", "[".repeat(100), "]".repeat(100)),
        vec!["data.x"; 60].join(" or "),
        format!("data{}", ".x".repeat(200)),
        format!("true{}", " ".repeat(limits::MAX_BYTES)),
        format!("{}true", "true ? true : ".repeat(40)),
        format!("lower({}'x'{}) == 'x'", "lower(".repeat(40), ")".repeat(40)),
    ] {
        assert!(Expression::parse(&text).is_err(), "{text}");
    }
}

/// The worst that is accepted fits the small stack of a worker thread.
#[test]
fn what_is_accepted_does_not_exhaust_the_stack() {
    let chain = vec!["data.x"; limits::MAX_OPERATORS / 2].join(" + ") + " == 1";
    let path = format!("data{} == nil", "?.x".repeat(limits::MAX_OPERATORS - 1));
    let nested = format!(
        "{}data.x{} == 1",
        "(1 + ".repeat(limits::MAX_LEVELS - 1),
        ")".repeat(limits::MAX_LEVELS - 1)
    );
    let indexed = "data.a[data.b[data.c[0]]] == 1".to_owned();
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(move || {
        for text in [chain, path, nested, indexed] {
            let _ = ask(&text, Some(&rawdoc! { "x": 1 }));
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn an_expression_looks_at_the_fields_that_it_names() {
    let large = doc! { "big": vec![1; 200_000], "total": 1200, "items": vec![1; 3000] };
    let large = RawDocumentBuf::try_from(&large).unwrap();
    assert_eq!(ask("data.total > 1", Some(&large)), Ok(true));
    assert_eq!(ask("data.big == nil", Some(&large)), Err(Undecided::TooMuch));
    assert_eq!(ask("len(data) == 3", Some(&large)), Err(Undecided::TooMuch));
    assert_eq!(ask("any(data.items, # == 2)", Some(&large)), Ok(false));
    // A mention in a predicate is paid once per element.
    assert_eq!(ask("any(data.items, # == len(data.items))", Some(&large)), Err(Undecided::TooMuch));
    for (text, asks) in
        [("operation == 'create'", false), ("data.x == 1", true), ("payload == nil", true)]
    {
        assert_eq!(Expression::parse(text).unwrap().asks_for_data(), asks, "{text}");
    }
}

#[test]
fn documents_that_cannot_be_read_are_errors() {
    let mut bytes = rawdoc! { "a": "xxxx" }.into_bytes();
    let at = bytes.windows(4).position(|word| word == b"xxxx").unwrap();
    bytes[at] = 0xFF;
    let document = RawDocument::from_bytes(&bytes).unwrap();
    assert_eq!(ask("data.a == 'x'", Some(document)), Err(Undecided::Malformed));
    assert_eq!(ask("data.b == nil", Some(document)), Ok(true));
}

proptest! {
    #[test]
    fn any_text_is_an_expression_or_an_error(text in "[a-z0-9 .\\[\\]()<>=!?:+*/%&|,#'\"`{}$-]{0,60}") {
        if let Ok(expression) = Expression::parse(&text) {
            let data = order();
            let _ = expression.holds(&Facts {
                event: "e", entity: "E", operation: "create", data: Some(&data), tenant: None, user_id: None,
            });
        }
    }

    #[test]
    fn words_of_the_language_in_any_order_are_an_expression_or_an_error(
        words in prop::collection::vec(prop::sample::select(vec![
            "data", ".total", ".items", "[0]", "and", "or", "not", "in", "==", "<", "+", "-", "(", ")", "1", "'x'",
            "nil", "any(", "len(", ",", "#", ".n", "?", ":", "??", "true", "matches", "[", "]", "{", "}",
        ]), 0..24)
    ) {
        let text = words.join(" ");
        if let Ok(expression) = Expression::parse(&text) {
            let data = order();
            let _ = expression.holds(&Facts {
                event: "e", entity: "E", operation: "create", data: Some(&data), tenant: None, user_id: None,
            });
        }
    }
}
