use proptest::prelude::*;

use super::Predicate;
use super::error::PredicateProblem as Problem;
use crate::access::principal::Caller;
use crate::access::request::RequestHead;
use crate::access::support::{get, nora, request};

#[track_caller]
fn check_by(predicate: &str, head: &RequestHead, caller: &Caller, expected: bool) {
    let parsed = Predicate::parse(predicate).unwrap_or_else(|error| panic!("{predicate}: {error}"));
    assert_eq!(parsed.matches(head, caller), expected, "{predicate} on {head:?}");
}

#[track_caller]
fn check(predicate: &str, target: &str, expected: bool) {
    check_by(predicate, &get(target), &nora(), expected);
}

#[track_caller]
fn refused(predicate: &str, expected: impl FnOnce(&Problem) -> bool) {
    let error = Predicate::parse(predicate).unwrap_err();
    assert!(expected(&error.problem), "{predicate}: {error}");
}

#[test]
fn path_prefix() {
    check("path-prefix('/a')", "/a", true);
    check("path-prefix('/a')", "/a/b", true);
    check("path-prefix('/a')", "/a/", true);
    check("path-prefix('/a')", "/ab", false);
    check("path-prefix('a/')", "/a/b", true);
    check("path-prefix('/')", "/any", true);
    check("path-prefix('/x', '/a')", "/a/b", true);
    check("path-prefix('/a', '/a/b') and equals(${remaining}, '/c')", "/a/b/c", true);
    check("path-prefix('/a') and equals(${remaining}, '')", "/a", true);
    check("path-prefix('/') and equals(${remaining}, '/x')", "/x", true);
}

#[test]
fn path_and_suffix() {
    check("path('/a')", "/a/", true);
    check("path('/a/')", "/a", true);
    check("path(a)", "/a", true);
    check("path('/a')", "/a/b", false);
    check("path('/c')", "/c/_size", false);
    check("path('/')", "/", true);
    check("path('/a')", "/A", false);
    check("path-suffix('s/x')", "/as/x", true);
    check("path-suffix('s/x')", "/as/x/", false);
    check("path('/a%2Fb')", "/a%2Fb", true);
    check("path('/a/b')", "/a%2Fb", false);
}

#[test]
fn templates_bind_names() {
    let inbox = "path-template('/inbox/{u}') and equals(%u, ${u})";
    check(inbox, "/inbox/nora", true);
    check(inbox, "/inbox/bob", false);
    check("equals(%u, ${u}) and path-template('/inbox/{u}')", "/inbox/nora", false);
    check("path-template('/{t}/*') and equals(@user.tenant, ${t})", "/acme/x", true);
    check("path-template('/{t}/*') and equals(@user.tenant, ${t})", "/emca/x", false);
    check("path-template(value='/{t}', match=%{q,p}) and equals(${t}, 'x')", "/a?p=/x", true);
    check("path-template('/{a}/{b}') and equals(${a}, 'x%2Fy')", "/x%2Fy/z", true);
}

#[test]
fn regular_expressions() {
    let own = "regex(pattern='/u/(.*?)/.*', value=%R, full-match=true) and equals(%u, ${1})";
    check(own, "/u/nora/x", true);
    check(own, "/u/bob/x", false);
    check(own, "/z/u/nora/x", false);
    check("regex('b')", "/abc", true);
    check("regex(pattern='^b', full-match=TRUE)", "/abc", false);
    check("regex(pattern='/ABC', case-sensitive=false)", "/abc", true);
    check("regex(pattern=x, value=%{i,None})", "/x", false);
    check("not regex(pattern='(a|a)*(?=b)c')", &format!("/{}", "a".repeat(100)), false);
}

#[test]
fn operators_bind_as_they_should() {
    check("not false or false and false", "/", true);
    check("not true or true and true", "/", true);
    check("not (true or true)", "/", false);
    check("true or true and false", "/", true);
    check("false and true or true", "/", true);
    check("not not true", "/", true);
    check("not path('/a') and method(GET)", "/b", true);
}

#[test]
fn lines() {
    check("path('/a')\n  and method(GET)", "/a", true);
    check("path('/a')\n  or path('/b')\n", "/b", true);
    check("path(\n '/a',\n '/b'\n)", "/b", true);
    check("\n# who reads\npath('/a')", "/a", true);
    check("path('/a') # no comment\n".split(" #").next().unwrap(), "/a", true);
    let unexpected = |problem: &Problem| matches!(problem, Problem::Unexpected { .. });
    refused("path('/a') or\npath('/b')", unexpected);
    refused("path('/a')\npath('/b')", unexpected);
    refused("path('/a') # comment", unexpected);
}

#[test]
fn quoting() {
    check(r"path('/it\'s')", "/it's", true);
    check(r#"path("/it's")"#, "/it's", true);
    check(r"regex('^/\d+$')", "/12", true);
    check("path['/a']", "/a", true);
    check("path({'/a', '/b'})", "/b", true);
    check("path(path={'/a', /b})", "/b", true);
    check("path('/a', '/b')", "/b", true);
    check("path('and')", "/and", true);
    check("path('/(')", "/(", true);
    check("equals(%{i,X-None}, '')", "/", false);
    refused("path(ab'c')", |p| *p == Problem::QuoteInWord);
    refused("path('/a)", |p| *p == Problem::OpenQuote);
    refused("path('/a\n')", |p| *p == Problem::OpenQuote);
    refused("path('/a') -> x", |p| *p == Problem::Arrow);
    refused("equals(%{i, X}, a)", |p| matches!(p, Problem::OpenVariable(_)));
    refused("path(a%", |p| *p == Problem::Dangling('%'));
}

#[test]
fn odd_spaces_are_letters() {
    check("path('/a')\t\r and\ttrue", "/a", true);
    check("path(\u{a0})", "/\u{a0}", true);
    for space in ['\u{b}', '\u{c}', '\u{85}', '\u{a0}', '\u{2028}', '\u{3000}'] {
        let unknown = |p: &Problem| matches!(p, Problem::UnknownPredicate(_));
        refused(&space.to_string(), unknown);
        refused(&format!("{space}true"), unknown);
    }
}

#[test]
fn arguments() {
    let missing = |p: &Problem| matches!(p, Problem::MissingParameter { .. });
    refused("", |p| *p == Problem::Empty);
    refused(" \n ", |p| *p == Problem::Empty);
    refused("path", missing);
    refused("path()", missing);
    refused("contains(value=%R)", missing);
    refused("regex('x', value=%R)", |p| *p == Problem::Mixed);
    refused("regex(pattern='x', %R)", |p| *p == Problem::Mixed);
    refused("path(nope='/a')", |p| matches!(p, Problem::UnknownParameter { .. }));
    refused("less-than(1, 2)", |p| *p == Problem::UnknownPredicate("less-than".into()));
    refused("Path('/a')", |p| *p == Problem::UnknownPredicate("Path".into()));
    refused("regex('a', 'b')", |p| matches!(p, Problem::NotAList { .. }));
    refused("exists({%R})", |p| matches!(p, Problem::NotAList { .. }));
    refused("contains(%R, x)", |p| *p == Problem::NoDefault("contains"));
    refused("qparams-size(x)", |p| *p == Problem::NotAnInteger("x".into()));
    refused("gte(1)", |p| *p == Problem::NotTwo("gte"));
    refused("gte(1, 2, 3)", |p| *p == Problem::NotTwo("gte"));
    refused("path-template('/{a}.json')", |p| matches!(p, Problem::Template(..)));
    refused("regex('[')", |p| matches!(p, Problem::Pattern(_)));
    refused("regex(pattern=@user.x)", |p| *p == Problem::VariableNotAllowed("pattern"));
    refused("equals(%{REMOTE_USR}, x)", |p| matches!(p, Problem::UnknownAttribute(_)));
    refused("path('/a'))", |p| matches!(p, Problem::Unexpected { .. }));
    refused("(path('/a')", |p| matches!(p, Problem::Unexpected { .. }));
    check("path(path='/x', path='/a')", "/a", true);
    check("regex(pattern='a', value=%R,)", "/a", true);
    check("secure() or idempotent()", "/", true);
}

#[test]
fn methods_and_the_connection() {
    let check = |predicate: &str, line: &str, expected: bool| {
        check_by(predicate, &request(line, &[("host", "app.example:8443")]), &nora(), expected);
    };
    check("method('get')", "GET /", true);
    check("method(post, Get)", "GET /", true);
    check("method(POST)", "GET /", false);
    check("secure", "GET /", false);
    check("idempotent", "POST /", false);
    check("auth-required", "GET /", false);
    check("max-content-size(10) or min-content-size(1)", "GET /", false);
    check("request-larger-than(10)", "GET /", false);
    check("equals(%a, 192.0.2.7) and equals(%m, GET)", "GET /", true);
    check("equals(%v, app.example) and equals(%{LOCAL_PORT}, 8080)", "GET /", true);
    check("equals(%{SCHEME}, http) and equals(%{SECURE}, false)", "GET /", true);
    check("equals(%q, '?a=1') and equals(%{BARE_QUERY_STRING}, 'a=1')", "GET /?a=1", true);
    check("equals(%r, 'GET /x%2Fy?a=1 HTTP/1.1')", "GET /x%2Fy?a=1", true);
    check("equals(%U, '/a%20b') and equals(%R, '/a b')", "GET /a%20b", true);
}

#[test]
fn query_parameters() {
    check("qparams-size(2)", "/?a=1&b=2&a=3", true);
    check("qparams-size(0)", "/", true);
    check("qparams-whitelist(a, b)", "/?a=1", true);
    check("qparams-whitelist(a, b)", "/?a=1&c", false);
    check("qparams-whitelist", "/", true);
    check("qparams-whitelist({})", "/?a", false);
    check("qparams-whitelist(a)", "/?a=1&noauthchallenge", false);
    check("qparams-whitelist(a)", "/?a=1&ticket=x", true);
    check("qparams-blacklist(filter)", "/?a=1", true);
    check("qparams-blacklist(filter)", "/?filter=", false);
    check("qparams-contain(a, b)", "/?b&a", true);
    check("qparams-contain(a, b)", "/?A&b", false);
    refused("qparams-blacklist({})", |p| *p == Problem::EmptyList("qparams-blacklist"));
    refused("qparams-contain({})", |p| *p == Problem::EmptyList("qparams-contain"));
}

#[test]
fn comparisons() {
    let head = request("GET /p?n=5&t=a&t=b", &[("X-K", "a"), ("X-K", "b"), ("X-E", "")]);
    let check = |predicate: &str, expected: bool| check_by(predicate, &head, &nora(), expected);
    check("equals(%{i,None}, %{q,none})", true);
    check("equals(%{i,None}, null)", false);
    check("equals(a)", true);
    check("equals(%{i,X-K}, '[a, b]') and equals(%{q,t}, '[a, b]')", true);
    check("exists(%{i,X-K}) and not exists(%{i,X-E}) and not exists(%{i,None})", true);
    check("contains(value=%{i,X-K}, search={a,zz})", true);
    check("contains(value=%{i,None}, search={a})", false);
    check("gte(%{q,n}, 5) and lte(%{q,n}, 5.0)", true);
    check("gte(%{q,n}, 5.1)", false);
    check("gte(%{q,t}, 1) or lte(%{q,t}, 1)", false);
    check("gte(%{i,None}, 1) or lte(%{i,None}, 1) or gte(' ', 0) or gte(inf, 1)", false);
    check("gte(@user.level, 3) and equals(@user.score, 2)", true);
    check("equals(@authenticated, true) and in(array=@roles, value=reader)", true);
    check("equals(@qparams['n'], 5) and equals(@qparams[\"n\"], 5)", true);
    check("equals(@qparams['none'], %{q,none})", false);
    check("equals(@request.method, GET) and equals(@request.remoteIp, 192.0.2.7)", true);
}

#[test]
fn members_of_lists() {
    let check = |target: &str, expected: bool| {
        let predicate = "path-template('/{g}') and in(array=@user.groups, value=${g})";
        check_by(predicate, &get(target), &nora(), expected);
    };
    check("/a", true);
    check("/7", true);
    check("/c", false);
    check("/null", false);
    check("/@user.groups", false);
    let none =
        |list: &str| format!("path-template('/{{g}}') and in(array=@user.{list}, value=${{g}})");
    self::check(&none("none"), "/a", false);
    self::check(&none("missing"), "/@user.missing", false);
    self::check(&none("missing"), "/null", false);
    self::check(&none("nothing"), "/null", false);
    self::check("in(array={a, b}, value=b)", "/", true);
    self::check("in(array={a}, value=%{i,None}) or true", "/", false);
}

#[test]
fn bodies_are_absent() {
    check("bson-request-contains(a)", "/", false);
    check("bson-request-prop-equals(key=a, value=1)", "/", false);
    check("bson-request-array-contains(key=a, values={1})", "/", false);
    check("bson-request-array-is-subset(key=a, values={1})", "/", false);
    check("bson-request-whitelist(a)", "/", true);
    check("bson-request-blacklist(a, b)", "/", true);
}

#[test]
fn values_are_never_text() {
    check("path-template('/x/{id}') and equals(@user._id, ${id})", "/x/nora", true);
    check("path-template('/x/{id}') and equals(@user._id, ${id})", "/x/@user._id", false);
    let own = "path-template('/x/{id}') and equals(@user._id, ${id})";
    check_by(own, &get("/x/@user._id"), &Caller::Anonymous, false);
    check_by("equals(%u, %{q,none})", &get("/"), &Caller::Anonymous, true);
    let odd = r#"equals(@user.odd, "%%{i,X} $${x} 'q' \"d\" $1 \ .")"#;
    check(odd, "/", true);
    let odd = request("GET /", &[("X", "1")]);
    check_by("equals(@user.odd, '1')", &odd, &nora(), false);
    refused("path('/inbox/@user._id')", |p| matches!(p, Problem::VariableInText(_)));
    refused("path('@user._id')", |p| matches!(p, Problem::VariableInText(_)));
    refused("path(/inbox/@user._id)", |p| matches!(p, Problem::VariableInText(_)));
    refused("equals(@user, x)", |p| matches!(p, Problem::UnknownVariable(_)));
    refused("equals(@tenantOf, x)", |p| matches!(p, Problem::UnknownVariable(_)));
    check("equals('@tenantOf', 'nora@user.com') or path('@x')", "/@x", true);
}

#[test]
fn what_has_no_value_equals_nothing() {
    check("equals(@user.missing, @user.missing)", "/", false);
    check("equals(@user.missing, %{i,None})", "/", false);
    check("not equals(@user.missing, 'y')", "/", false);
    check("not equals(@user.missing, 'y') or true", "/", false);
    check("true or not equals(@user.missing, 'y')", "/", true);
    check("equals(@user.missing, 'y') or path('/a')", "/a", true);
    check("not (path('/b') and equals(@user.missing, 'y'))", "/a", true);
    check("not (path('/a') and equals(@user.missing, 'y'))", "/a", false);
    check("equals(@user.nothing, 'null') or equals(@user.address, x)", "/", false);
    check("equals(@user.address.city, Rome)", "/", true);
    check("equals(@rnd(32), @rnd(32))", "/", false);
    check("path('/a', @user.missing)", "/a", false);
    check("exists(@user.groups)", "/", false);
}

#[test]
fn depth_is_bounded() {
    let open = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
    check(&open(60), "/", true);
    refused(&open(5000), |p| matches!(p, Problem::TooDeep(_)));
    refused(&format!("{} true", "not ".repeat(4000)), |p| matches!(p, Problem::TooDeep(_)));
    refused(&"true or ".repeat(3000), |p| matches!(p, Problem::TooLong(_)));
    check(&format!("true{}", " and true".repeat(1500)), "/", true);
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        let _ = Predicate::parse(&text);
    }

    #[test]
    fn any_mixture_of_words_is_answered(words in prop::collection::vec(word(), 0..40)) {
        if let Ok(predicate) = Predicate::parse(&words.concat()) {
            predicate.matches(&get("/a/b?x=1"), &nora());
            predicate.matches(&get("/a/b?x=1"), &Caller::Anonymous);
        }
    }

    #[test]
    fn and_or_not_are_those_of_logic(expr in logic()) {
        let parsed = Predicate::parse(&expr.0).unwrap();
        prop_assert_eq!(parsed.matches(&get("/"), &nora()), expr.1, "{}", expr.0);
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "path",
        "path-template",
        "regex",
        "equals",
        "in",
        "array",
        "value",
        "qparams-size",
        "not ",
        " and ",
        " or ",
        "true",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "=",
        "'",
        "\"",
        "'/a'",
        "'/{x}'",
        "%u",
        "%{i,X}",
        "${x}",
        "%",
        "$",
        "@user.groups",
        "@user.no",
        "@qparams['x']",
        "@",
        "\n",
        "#",
        "->",
        "\\",
        ";",
        "é",
        " ",
        "*",
        "-1",
    ])
}

/// Expressions written with every bracket, and what they come to.
fn logic() -> impl Strategy<Value = (String, bool)> {
    let leaf = any::<bool>().prop_map(|b| (b.to_string(), b));
    leaf.prop_recursive(5, 32, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(t, b)| (format!("not ({t})"), !b)),
            (inner.clone(), inner.clone())
                .prop_map(|((a, x), (b, y))| (format!("({a}) and ({b})"), x && y)),
            (inner.clone(), inner).prop_map(|((a, x), (b, y))| (format!("({a}) or ({b})"), x || y)),
        ]
    })
}
