//! A document's `_id` as it stands in a path.

use bson::{Bson, DateTime, oid::ObjectId};

use crate::http::error::ApiError;

/// Reads an id. Without a type, what looks like an ObjectId is one, and everything else is a string.
pub(super) fn parse(text: &str, kind: Option<&str>) -> Result<Bson, ApiError> {
    let illegal = || ApiError::BadRequest(format!("the id is no {}", kind.unwrap_or_default()));
    match kind.unwrap_or("STRING_OID").to_ascii_uppercase().as_str() {
        "STRING_OID" => Ok(ObjectId::parse_str(text).map_or_else(|_| text.into(), Bson::ObjectId)),
        "STRING" => Ok(text.into()),
        "OID" | "OBJECTID" => ObjectId::parse_str(text).map(Bson::ObjectId).map_err(|_| illegal()),
        "NUMBER" => number(text).ok_or_else(illegal),
        "DATE" => text.parse().map(|ms| DateTime::from_millis(ms).into()).map_err(|_| illegal()),
        "BOOLEAN" => text.parse().map(Bson::Boolean).map_err(|_| illegal()),
        "MINKEY" => Ok(Bson::MinKey),
        "MAXKEY" => Ok(Bson::MaxKey),
        _ => Err(ApiError::BadRequest(
            "illegal id_type parameter; use STRING, OID, STRING_OID, NUMBER, DATE, BOOLEAN, MINKEY or MAXKEY"
                .to_owned(),
        )),
    }
}

fn number(text: &str) -> Option<Bson> {
    let whole = text.parse::<i64>().ok().map(|number| match i32::try_from(number) {
        Ok(small) => Bson::Int32(small),
        Err(_) => Bson::Int64(number),
    });
    whole.or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Bson::Double))
}
