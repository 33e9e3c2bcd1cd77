//! What a place in a YAML file can hold.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

use super::node::{Entry, Node, mark};

/// A value without its place. Numbers have at most 64 bits and are finite: what BSON can hold beyond
/// that is written as Extended JSON.
#[derive(Debug)]
pub(crate) enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, number, boolean, null, list or mapping")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        self.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        let fits = i64::try_from(value);
        fits.map(|value| Kind::Scalar(value.into())).map_err(|_| {
            E::custom(format!(
                "{value} does not fit 64 bits; write {{$numberDecimal: \"{value}\"}}"
            ))
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        let finite = Number::from_f64(value).map(|number| Kind::Scalar(number.into()));
        finite.ok_or_else(|| E::custom(format!("write {{$numberDouble: \"{value}\"}}")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Kind>>()? {
            items.push(Node::from(item));
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let mark = mark(&key);
            if key.value.contains('\0') {
                return Err(A::Error::custom("a field name cannot hold a NUL character"));
            }
            let value = Node::from(access.next_value::<Spanned<Kind>>()?);
            entries.push(Entry { key: key.value, mark, value });
        }
        Ok(Kind::Map(entries))
    }
}
