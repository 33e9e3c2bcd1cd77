/// What a predicate is called and takes.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    /// The parameter that plain values are for.
    pub(super) default: Option<&'static str>,
    pub(super) parameters: &'static [Parameter],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) is_list: bool,
    pub(super) is_required: bool,
}

pub(super) fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}

const fn one(name: &'static str) -> Parameter {
    Parameter { name, is_list: false, is_required: true }
}

const fn list(name: &'static str) -> Parameter {
    Parameter { name, is_list: true, is_required: true }
}

const fn optional(parameter: Parameter) -> Parameter {
    Parameter { is_required: false, ..parameter }
}

const fn spec(name: &'static str, default: &'static str, parameters: &'static [Parameter]) -> Spec {
    Spec { name, default: Some(default), parameters }
}

const fn named(name: &'static str, parameters: &'static [Parameter]) -> Spec {
    Spec { name, default: None, parameters }
}

static SPECS: [Spec; 29] = [
    spec("path", "path", &[list("path")]),
    spec("path-prefix", "path", &[list("path")]),
    spec("path-suffix", "path", &[list("path")]),
    spec("path-template", "value", &[one("value"), optional(one("match"))]),
    spec(
        "regex",
        "pattern",
        &[
            one("pattern"),
            optional(one("value")),
            optional(one("full-match")),
            optional(one("case-sensitive")),
        ],
    ),
    spec("method", "value", &[list("value")]),
    spec("equals", "value", &[list("value")]),
    named("contains", &[one("value"), list("search")]),
    spec("exists", "value", &[one("value")]),
    named("secure", &[]),
    named("idempotent", &[]),
    named("auth-required", &[]),
    spec("max-content-size", "value", &[one("value")]),
    spec("min-content-size", "value", &[one("value")]),
    spec("request-larger-than", "size", &[one("size")]),
    spec("request-smaller-than", "size", &[one("size")]),
    spec("qparams-whitelist", "whitelist", &[optional(list("whitelist"))]),
    spec("qparams-blacklist", "blacklist", &[list("blacklist")]),
    spec("qparams-contain", "qparams", &[list("qparams")]),
    spec("qparams-size", "size", &[one("size")]),
    named("in", &[list("array"), one("value")]),
    spec("gte", "value", &[list("value")]),
    spec("lte", "value", &[list("value")]),
    spec("bson-request-contains", "keys", &[list("keys")]),
    named("bson-request-prop-equals", &[one("key"), one("value")]),
    named("bson-request-array-contains", &[one("key"), list("values")]),
    named("bson-request-array-is-subset", &[one("key"), list("values")]),
    spec("bson-request-whitelist", "whitelist", &[list("whitelist")]),
    spec("bson-request-blacklist", "blacklist", &[list("blacklist")]),
];
