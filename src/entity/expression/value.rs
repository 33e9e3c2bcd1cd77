//! Values of documents as values of expressions.

use bson::{RawArray, RawDocument, raw::RawBsonRef};
use expr::Value;

use super::{
    error::Undecided,
    limits::MAX_WORK,
    uses::{Fields, Uses},
};
use crate::envelope::plain;

/// How deep documents may nest; the same as in an envelope.
const MAX_DEPTH: usize = plain::MAX_DEPTH;

/// Bytes of text that cost as much as one value.
const BYTES_PER_VALUE: usize = 64;

/// How many values may still be read.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    /// So many that evaluation stays within [`MAX_WORK`]: each mention copies them all, and a
    /// mention in a predicate does so once per element, of which there are at most as many.
    pub(super) fn for_uses(uses: &Uses) -> Self {
        let once = MAX_WORK / (uses.mentions + 1);
        match uses.repeated {
            0 => Self(once),
            repeated => Self(once.min((MAX_WORK / repeated).isqrt())),
        }
    }

    fn spend(&mut self, values: usize) -> Result<(), Undecided> {
        self.0 = self.0.checked_sub(values).ok_or(Undecided::TooMuch)?;
        Ok(())
    }
}

/// The fields of a document that are looked at. `None` is `nil`.
pub(super) fn document(
    document: Option<&RawDocument>,
    fields: &Fields,
    budget: &mut Budget,
) -> Result<Value, Undecided> {
    match document {
        Some(document) if *fields != Fields::None => {
            chosen(document, |name| fields.wants(name), MAX_DEPTH, budget)
        }
        _ => Ok(Value::Nil),
    }
}

/// Text, or `nil`.
pub(super) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Nil, |text| Value::String(text.to_owned()))
}

/// Whether a result says yes.
pub(super) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Nil => false,
        Value::Bool(yes) => *yes,
        Value::Integer(number) => *number != 0,
        Value::Float(number) => *number != 0.0 && !number.is_nan(),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bytes(bytes) => !bytes.is_empty(),
        Value::Map(fields) => !fields.is_empty(),
        Value::KeyedMap(fields) => !fields.is_empty(),
    }
}

fn chosen(
    document: &RawDocument,
    wanted: impl Fn(&str) -> bool,
    levels: usize,
    budget: &mut Budget,
) -> Result<Value, Undecided> {
    let levels = levels.checked_sub(1).ok_or(Undecided::Malformed)?;
    let mut fields = Vec::new();
    for element in document.iter_elements() {
        let element = element.map_err(|_| Undecided::Malformed)?;
        let name = element.key().as_str();
        if wanted(name) {
            budget.spend(name.len() / BYTES_PER_VALUE)?;
            let value = element.value().map_err(|_| Undecided::Malformed)?;
            fields.push((name.to_owned(), convert(value, levels, budget)?));
        }
    }
    Ok(fields.into_iter().collect())
}

fn array(array: &RawArray, levels: usize, budget: &mut Budget) -> Result<Value, Undecided> {
    let levels = levels.checked_sub(1).ok_or(Undecided::Malformed)?;
    let items = array.into_iter().map(|item| {
        let item = item.map_err(|_| Undecided::Malformed)?;
        convert(item, levels, budget)
    });
    items.collect::<Result<_, _>>().map(Value::Array)
}

fn convert(value: RawBsonRef<'_>, levels: usize, budget: &mut Budget) -> Result<Value, Undecided> {
    budget.spend(1)?;
    Ok(match value {
        RawBsonRef::Document(inner) => return chosen(inner, |_| true, levels, budget),
        RawBsonRef::Array(inner) => return array(inner, levels, budget),
        RawBsonRef::Int32(number) => Value::Integer(number.into()),
        RawBsonRef::Int64(number) => Value::Integer(number),
        RawBsonRef::Double(number) => Value::Float(number),
        RawBsonRef::Boolean(yes) => Value::Bool(yes),
        RawBsonRef::Decimal128(decimal) => {
            Value::Float(decimal.to_string().parse().unwrap_or(f64::NAN))
        }
        other => match (plain::scalar_text(other), other) {
            (Some(text), _) => {
                budget.spend(text.len() / BYTES_PER_VALUE)?;
                Value::String(text)
            }
            (None, RawBsonRef::DateTime(time)) => Value::Integer(time.timestamp_millis()),
            (None, _) => Value::Nil,
        },
    })
}
