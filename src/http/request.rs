//! A request as handlers see it: its target and its query, decoded and bounded.

use axum::http::{HeaderMap, Uri, header, request::Parts};
use bson::{Bson, oid::ObjectId};
use percent_encoding::percent_decode;

use super::{decided::user_value, error::ApiError};
use crate::{
    access::{Caller, Grant},
    definition::{Parameters, Variables},
    json::{self, JsonMode},
};

/// Longest query, bytes. Longer ones are `400`; beyond 64 KiB the head itself is refused with `414`.
const MAX_QUERY: usize = 32 * 1024;

/// Parameters with one value: of two, no guess is made which is meant. Filters, keys and orders may be
/// given several times, and so may what names streams.
const SINGLE: [&str; 14] = [
    "checkEtag",
    "count",
    "etag",
    "heartbeat",
    "id_type",
    "jsonMode",
    "lastEventId",
    "ops",
    "page",
    "pagesize",
    "path",
    "snapshot",
    "ticket",
    "topic",
];

/// Decoded query parameters, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes the query of a URI.
    pub(crate) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let text = uri.query().unwrap_or_default();
        if text.len() > MAX_QUERY {
            return Err(ApiError::BadRequest(format!(
                "the query is longer than {MAX_QUERY} bytes"
            )));
        }
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        });
        let query = Self(pairs.collect::<Result<_, ApiError>>()?);
        match SINGLE.iter().find(|name| query.all(name).nth(1).is_some()) {
            Some(name) => {
                let message = format!("illegal {name} parameter, it is given twice");
                Err(ApiError::BadRequest(message))
            }
            None => Ok(query),
        }
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names of the parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How BSON becomes JSON.
    pub(crate) fn json_mode(&self) -> Result<JsonMode, ApiError> {
        JsonMode::from_query(self.get("jsonMode"))
            .map_err(|error| ApiError::BadRequest(error.to_string()))
    }

    /// Whether heartbeats are asked for as named events.
    pub(crate) fn named_heartbeat(&self) -> Result<bool, ApiError> {
        match self.get("heartbeat") {
            None => Ok(false),
            Some("named") => Ok(true),
            Some(_) => Err(ApiError::BadRequest(
                "illegal heartbeat parameter; the only value is named".to_owned(),
            )),
        }
    }

    /// Whether the documents that are there are asked for first.
    pub(crate) fn snapshot(&self) -> Result<bool, ApiError> {
        match self.get("snapshot") {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::BadRequest(
                "illegal snapshot parameter; it is true or false".to_owned(),
            )),
        }
    }

    /// The tag that the client says it saw last.
    pub(crate) fn etag(&self) -> Result<Option<ObjectId>, ApiError> {
        let parse = |text| {
            ObjectId::parse_str(text).map_err(|_| {
                ApiError::BadRequest(
                    "illegal etag parameter; it is 24 hexadecimal digits".to_owned(),
                )
            })
        };
        self.get("etag").map(parse).transpose()
    }

    /// The variables that a client binds, and those that the server predefines. `vars` are typed ones
    /// that came by another way than `avars`, of which there may then be none.
    pub(crate) fn variables(
        &self,
        caller: &Caller,
        grant: &Grant,
        vars: Option<&Bson>,
    ) -> Result<Variables, ApiError> {
        let pairs = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let parameters = Parameters::from_query(pairs)?;
        let avars = parameters.avars().map(parse_avars).transpose()?;
        if avars.is_some() && vars.is_some() {
            let message = "variables are given as vars and as avars; give one of them";
            return Err(ApiError::BadRequest(message.to_owned()));
        }
        let variables = Variables::client(&parameters, avars.as_ref().or(vars))?;
        self.predefine(variables, caller, grant)
    }

    fn predefine(
        &self,
        variables: Variables,
        caller: &Caller,
        grant: &Grant,
    ) -> Result<Variables, ApiError> {
        let page = self.whole("page", 1, 1)?;
        let pagesize = self.whole("pagesize", 100, 0)?;
        let skip = pagesize.saturating_mul(page - 1);
        Ok(variables
            .predefine("@page", page)
            .predefine("@pagesize", pagesize)
            .predefine("@limit", pagesize)
            .predefine("@skip", skip)
            .predefine("@mongoPermissions", grant.described())
            .predefine_user(user_value(caller)))
    }

    fn whole(&self, name: &str, default: i32, least: i32) -> Result<i32, ApiError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let illegal =
            |what: &str| ApiError::BadRequest(format!("illegal {name} parameter, {what}"));
        let number: i32 = text.parse().map_err(|_| illegal("it is not a number"))?;
        if number < least { Err(illegal(&format!("it is < {least}"))) } else { Ok(number) }
    }
}

fn parse_avars(text: &str) -> Result<Bson, ApiError> {
    json::parse_value(text, json::Limits::default()).map_err(|error| {
        let raw: String = text.chars().take(200).collect();
        ApiError::BadRequest(format!(
            "illegal avars parameter, it is not a json object: {raw} ({error})"
        ))
    })
}

/// Where a client wants to go on from; the header wins. An empty value counts as none.
pub(crate) fn last_event_id(parts: &Parts, query: &Query) -> Option<String> {
    let header = parts.headers.get("last-event-id").map(|value| {
        // What is not text is no id of ours: it is answered like any other unknown one.
        String::from_utf8_lossy(value.as_bytes()).trim().to_owned()
    });
    let id = header.or_else(|| query.get("lastEventId").map(str::to_owned));
    id.filter(|id| !id.is_empty())
}

/// Whether the client takes server-sent events.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    let values =
        headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|value| value.split(','));
    types.any(|listed| {
        let media = listed.split(';').next().unwrap_or_default();
        media.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// Form rules: `+` is a space.
fn decode(text: &str) -> Result<String, ApiError> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode(spaced.as_bytes()).decode_utf8();
    let decoded =
        decoded.map_err(|_| ApiError::BadRequest("the query is not valid UTF-8".to_owned()))?;
    Ok(decoded.into_owned())
}
