//! What a client asks of a collection.

use bson::{Bson, Document};

use crate::{
    definition::unescape,
    http::{error::ApiError, request::Query},
    json,
};

/// How many documents a page may hold.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct PageLimits {
    /// When the client names no number.
    pub default: usize,
    /// At most.
    pub most: usize,
}

/// A read, decoded and bounded.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::http) struct ReadQuery {
    /// All of which must hold.
    pub(in crate::http) filter: Vec<Document>,
    pub(in crate::http) sort: Document,
    pub(in crate::http) keys: Document,
    pub(in crate::http) pagesize: usize,
    pub(in crate::http) skip: u64,
    /// Whether the total is asked for.
    pub(in crate::http) count: bool,
}

/// Operators that run code.
const FORBIDDEN: [&str; 3] = ["$where", "$function", "$accumulator"];

impl ReadQuery {
    pub(in crate::http) fn parse(query: &Query, limits: PageLimits) -> Result<Self, ApiError> {
        let page = number(query, "page", 1, 1, u64::MAX)?;
        let pagesize = number(query, "pagesize", limits.default as u64, 0, limits.most as u64)?;
        let mut filter = Vec::new();
        for text in query.all("filter") {
            let parsed = object("filter", text)?;
            check(&Bson::Document(parsed.clone()))?;
            filter.push(parsed);
        }
        let mut keys = Document::new();
        for text in query.all("keys") {
            keys.extend(object("keys", text)?);
        }
        check(&Bson::Document(keys.clone()))?;
        Ok(Self {
            filter,
            sort: sort(query)?,
            keys,
            pagesize: usize::try_from(pagesize).unwrap_or(limits.most),
            skip: pagesize.saturating_mul(page - 1).min(i64::MAX as u64),
            count: query.get("count").is_some_and(|count| count != "false"),
        })
    }
}

fn object(name: &str, text: &str) -> Result<Document, ApiError> {
    let illegal = |why: &dyn std::fmt::Display| {
        ApiError::BadRequest(format!("illegal {name} parameter, it is not a json object: {why}"))
    };
    let parsed =
        json::parse_value(text, json::Limits::default()).map_err(|error| illegal(&error))?;
    match unescape(&parsed) {
        Bson::Document(document) => Ok(document),
        other => Err(illegal(&other)),
    }
}

/// `sort={"a":1}`, `sort=a`, `sort=-a`, repeated or comma-separated.
fn sort(query: &Query) -> Result<Document, ApiError> {
    let mut sort = Document::new();
    for text in query.all("sort").chain(query.all("sort_by")) {
        if text.trim_start().starts_with('{') {
            sort.extend(object("sort", text)?);
            continue;
        }
        for field in text.split(',').map(str::trim).filter(|field| !field.is_empty()) {
            match field.strip_prefix('-') {
                Some(field) => sort.insert(field, -1),
                None => sort.insert(field.trim_start_matches('+'), 1),
            };
        }
    }
    check(&Bson::Document(sort.clone()))?;
    Ok(sort)
}

fn number(query: &Query, name: &str, default: u64, least: u64, most: u64) -> Result<u64, ApiError> {
    let Some(text) = query.get(name) else { return Ok(default) };
    let illegal = |what: String| ApiError::BadRequest(format!("illegal {name} parameter, {what}"));
    let number: u64 = text.parse().map_err(|_| illegal("it is not a number".to_owned()))?;
    match number {
        small if small < least => Err(illegal(format!("it is < {least}"))),
        large if large > most => Err(illegal(format!("it is > {most}"))),
        number => Ok(number),
    }
}

/// Refuses operators that run code, at any depth.
fn check(value: &Bson) -> Result<(), ApiError> {
    match value {
        Bson::Document(document) => document.iter().try_for_each(|(key, value)| {
            if FORBIDDEN.contains(&key.as_str()) {
                return Err(ApiError::Forbidden(format!("operator {key} is not allowed")));
            }
            check(value)
        }),
        Bson::Array(items) => items.iter().try_for_each(check),
        _ => Ok(()),
    }
}
