//! A condition on one field: a literal, a pattern, a slot, or a document of operators.

use bson::spec::ElementType;

use super::super::compare::Relation;
use super::super::expr::{Expr, Membership, Predicate};
use super::super::operand::{List, Operand};
use super::super::pattern::Pattern;
use super::super::raw::{Field, Raw, split_cstring, text};
use super::super::refusal::Refusal;
use super::super::slot::SlotUse;
use super::super::value::Value;
use super::arguments::{exists, modulo, refusal, size, types, value};
use super::literal::{is_db_ref, starts_with_dollar};
use super::scope::Target;
use super::{Parser, body_of, bound_depth, elements, operator};

impl Parser<'_> {
    /// What stands behind a path.
    pub(crate) fn field(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        if let Some(slot) = self.slot(raw, SlotUse::One, &target.path)? {
            return Ok(Expr::equal(target.path.clone(), Operand::Slot(slot)));
        }
        if raw.kind == ElementType::EmbeddedDocument && starts_with_dollar(body_of(raw)?)? {
            if is_db_ref(body_of(raw)?)? {
                return Err(Refusal::DbRef { path: target.path.to_string() });
            }
            return self.operators(target, raw, depth + 1);
        }
        self.equality(target, raw, depth)
    }

    /// Equality to a literal, or a pattern: how a bare value and each value of `$all` are read.
    pub(crate) fn equality(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        if raw.kind == ElementType::RegularExpression {
            let pattern = Predicate::Pattern(regex_of(target, raw)?);
            return Ok(Expr::Leaf(target.path.clone(), pattern));
        }
        self.compare(Relation::Equal, target, raw, depth)
    }

    /// A document of operators; each is a condition of its own, and all must hold.
    pub(crate) fn operators(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        bound_depth(depth)?;
        let fields = self.fields(body_of(raw)?)?;
        let options = regex_options(target, &fields)?;
        let mut parts = Vec::new();
        for field in &fields {
            let name = field.name().map_err(|_| Refusal::Malformed)?;
            match name {
                "$options" => {}
                "$regex" => parts.push(regex_operator(target, field.raw, options)?),
                _ => parts.push(self.operator(name, target, field.raw, depth)?),
            }
        }
        Ok(Expr::all(parts))
    }

    fn operator(
        &mut self,
        name: &str,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        match name {
            "$eq" => self.compare(Relation::Equal, target, raw, depth),
            "$gt" => self.compare(Relation::Greater, target, raw, depth),
            "$gte" => self.compare(Relation::GreaterOrEqual, target, raw, depth),
            "$lt" => self.compare(Relation::Less, target, raw, depth),
            "$lte" => self.compare(Relation::LessOrEqual, target, raw, depth),
            "$ne" => self.compare(Relation::Equal, target, raw, depth).map(Expr::negated),
            "$in" => self.membership("$in", target, raw, depth),
            "$nin" => self.under_negation(|parser| parser.membership("$nin", target, raw, depth)),
            "$not" => self.under_negation(|parser| parser.not(target, raw, depth)),
            "$all" => self.all(target, raw, depth),
            "$elemMatch" => self.elem_match(target, raw, depth),
            "$exists" => exists(target, raw),
            "$size" => size(target, raw),
            "$type" => types(target, raw),
            "$mod" => modulo(target, raw),
            _ => Err(operator(name, &target.path)),
        }
    }

    fn compare(
        &mut self,
        relation: Relation,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        let operand = match self.slot(raw, SlotUse::One, &target.path)? {
            Some(slot) => Operand::Slot(slot),
            None => Operand::Literal(self.literal(target, raw, depth)?),
        };
        Ok(Expr::Leaf(target.path.clone(), Predicate::Compare(relation, operand)))
    }

    fn not(&mut self, target: &Target, raw: Raw<'_>, depth: usize) -> Result<Expr, Refusal> {
        let refusal = || refusal("$not", target, "a pattern or a document of operators");
        match raw.kind {
            ElementType::RegularExpression => self.equality(target, raw, depth),
            ElementType::EmbeddedDocument if starts_with_dollar(body_of(raw)?)? => {
                self.operators(target, raw, depth + 1)
            }
            _ => Err(refusal()),
        }
    }

    fn under_negation(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Expr, Refusal>,
    ) -> Result<Expr, Refusal> {
        self.negations += 1;
        let expr = parse(self)?;
        self.negations -= 1;
        Ok(expr.negated())
    }

    fn membership(
        &mut self,
        name: &'static str,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        let list = match self.slot(raw, SlotUse::List, &target.path)? {
            Some(_) if self.negations > 0 => {
                return Err(Refusal::NegatedList { path: target.path.to_string() });
            }
            Some(slot) => Membership { list: Some(slot), ..Membership::default() },
            None if raw.kind == ElementType::Array => self.members(target, raw, depth + 1)?,
            None => return Err(refusal(name, target, "an array")),
        };
        Ok(Expr::Leaf(target.path.clone(), Predicate::In(list)))
    }

    fn members(
        &mut self,
        target: &Target,
        raw: Raw<'_>,
        depth: usize,
    ) -> Result<Membership, Refusal> {
        let (mut literals, mut patterns, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for raw in elements(body_of(raw)?)? {
            if let Some(slot) = self.slot(raw, SlotUse::One, &target.path)? {
                slots.push(slot);
                continue;
            }
            match raw.kind {
                ElementType::RegularExpression => patterns.push(regex_of(target, raw)?),
                _ => {
                    refuse_operators("$in", target, raw)?;
                    literals.push(self.literal(target, raw, depth)?);
                }
            }
        }
        let literals = List::new(literals).map_err(|_| Refusal::Malformed)?;
        Ok(Membership { literals, patterns: patterns.into(), slots: slots.into(), list: None })
    }
}

/// Lists hold values: an operator in one is an error to the server too.
pub(crate) fn refuse_operators(
    name: &'static str,
    target: &Target,
    raw: Raw<'_>,
) -> Result<(), Refusal> {
    if raw.kind == ElementType::EmbeddedDocument && starts_with_dollar(body_of(raw)?)? {
        return Err(refusal(name, target, "values, not operators"));
    }
    Ok(())
}

fn regex_of(target: &Target, raw: Raw<'_>) -> Result<Pattern, Refusal> {
    let malformed = |_| Refusal::Malformed;
    let (pattern, rest) = split_cstring(raw.bytes).map_err(malformed)?;
    let (options, _) = split_cstring(rest).map_err(malformed)?;
    pattern_of(target, text(pattern).map_err(malformed)?, text(options).map_err(malformed)?)
}

fn regex_operator(target: &Target, raw: Raw<'_>, options: &str) -> Result<Expr, Refusal> {
    let pattern = match value(raw)? {
        Value::Text(bytes) if raw.kind == ElementType::String => {
            pattern_of(target, text(bytes).map_err(|_| Refusal::Malformed)?, options)?
        }
        _ => return Err(refusal("$regex", target, "a string of literal text")),
    };
    Ok(Expr::Leaf(target.path.clone(), Predicate::Pattern(pattern)))
}

fn pattern_of(target: &Target, pattern: &str, options: &str) -> Result<Pattern, Refusal> {
    let refusal =
        || Refusal::Pattern { path: target.path.to_string(), pattern: pattern.to_owned() };
    Pattern::parse(pattern, options).ok_or_else(refusal)
}

/// `$options` belongs to the one `$regex` beside it. Of two `$regex` the server hears only the last,
/// though it holds to both of any other repeated operator, so two are refused.
fn regex_options<'a>(target: &Target, fields: &[Field<'a>]) -> Result<&'a str, Refusal> {
    let named = |name: &'static [u8]| fields.iter().filter(move |field| field.name == name);
    let (patterns, mut options) = (named(b"$regex").count(), named(b"$options"));
    if patterns > 1 {
        return Err(refusal("$regex", target, "one pattern"));
    }
    let Some(first) = options.next() else { return Ok("") };
    let refusal = || refusal("$options", target, "a string beside one $regex");
    if options.next().is_some() || patterns == 0 {
        return Err(refusal());
    }
    match value(first.raw)? {
        Value::Text(bytes) => text(bytes).map_err(|_| Refusal::Malformed),
        _ => Err(refusal()),
    }
}
