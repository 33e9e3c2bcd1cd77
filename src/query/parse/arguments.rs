//! The arguments of `$exists`, `$size`, `$type` and `$mod`: whole numbers, bools and type names.

use bson::spec::ElementType;

use super::super::expr::{Expr, Predicate};
use super::super::number::Number;
use super::super::raw::Raw;
use super::super::refusal::Refusal;
use super::super::types::TypeSet;
use super::super::value::Value;
use super::scope::Target;
use super::{body_of, elements};

pub(crate) fn exists(target: &Target, raw: Raw<'_>) -> Result<Expr, Refusal> {
    let wanted = match value(raw)? {
        Value::Bool(wanted) => Some(wanted),
        _ => int(raw)?.map(|wanted| wanted != 0),
    };
    let leaf = Expr::Leaf(target.path.clone(), Predicate::Exists);
    match wanted {
        Some(true) => Ok(leaf),
        Some(false) => Ok(leaf.negated()),
        None => Err(refusal("$exists", target, "a bool or an int")),
    }
}

pub(crate) fn size(target: &Target, raw: Raw<'_>) -> Result<Expr, Refusal> {
    let size = int(raw)?.or(whole_double(raw)?);
    match size.and_then(|size| i32::try_from(size).ok()).map(usize::try_from) {
        Some(Ok(size)) => Ok(Expr::Leaf(target.path.clone(), Predicate::Size(size))),
        _ => Err(refusal("$size", target, "a whole number from 0 to 2147483647")),
    }
}

pub(crate) fn types(target: &Target, raw: Raw<'_>) -> Result<Expr, Refusal> {
    let refusal = || refusal("$type", target, "known types, by name or int code");
    let named = match raw.kind {
        ElementType::Array => elements(body_of(raw)?)?,
        _ => vec![raw],
    };
    let sets = named.into_iter().map(|raw| type_set(raw)?.ok_or_else(refusal));
    let union = sets.reduce(|one, two| Ok(one?.union(two?))).ok_or_else(refusal)??;
    Ok(Expr::Leaf(target.path.clone(), Predicate::Type(union)))
}

pub(crate) fn modulo(target: &Target, raw: Raw<'_>) -> Result<Expr, Refusal> {
    let refusal = || refusal("$mod", target, "two ints, the first not 0");
    if raw.kind != ElementType::Array {
        return Err(refusal());
    }
    let numbers = elements(body_of(raw)?)?;
    let [divisor, remainder] = numbers.as_slice() else { return Err(refusal()) };
    match (int(*divisor)?, int(*remainder)?) {
        (Some(divisor), Some(remainder)) if divisor != 0 => {
            Ok(Expr::Leaf(target.path.clone(), Predicate::Mod { divisor, remainder }))
        }
        _ => Err(refusal()),
    }
}

fn type_set(raw: Raw<'_>) -> Result<Option<TypeSet>, Refusal> {
    match value(raw)? {
        Value::Text(name) if raw.kind == ElementType::String => {
            Ok(std::str::from_utf8(name).ok().and_then(TypeSet::named))
        }
        _ => Ok(int(raw)?.and_then(TypeSet::coded)),
    }
}

fn int(raw: Raw<'_>) -> Result<Option<i64>, Refusal> {
    match value(raw)? {
        Value::Number(Number::Int(int)) => Ok(Some(int)),
        _ => Ok(None),
    }
}

/// JSON knows one kind of number, so a size may have been read as `1.0`.
fn whole_double(raw: Raw<'_>) -> Result<Option<i64>, Refusal> {
    match value(raw)? {
        Value::Number(Number::Double(double)) if double.fract() == 0.0 => {
            Ok(Number::Double(double).truncated())
        }
        _ => Ok(None),
    }
}

pub(crate) fn value(raw: Raw<'_>) -> Result<Value<'_>, Refusal> {
    raw.value().map_err(|_| Refusal::Malformed)
}

pub(crate) fn refusal(operator: &'static str, target: &Target, expected: &'static str) -> Refusal {
    Refusal::Argument { operator, path: target.path.to_string(), expected }
}
