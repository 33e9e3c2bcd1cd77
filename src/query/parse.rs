//! From a filter's BSON to its tree: a closed world, in which nothing is ignored but `$comment`.

pub(crate) mod arguments;
pub(crate) mod element;
pub(crate) mod field;
pub(crate) mod literal;
pub(crate) mod scope;

use bson::RawDocument;
use bson::spec::ElementType;

use super::expr::{Expr, Predicate};
use super::filter::Plan;
use super::options::{Duplicates, ParseOptions};
use super::path::Path;
use super::raw::{Body, Field, Raw};
use super::refusal::Refusal;
use super::slot::SlotUse;
use super::types::TypeSet;
use scope::Scope;

/// Bytes of a filter; a list of 10,000 identifiers fits.
const MAX_BYTES: usize = 256 * 1024;

/// Documents, arrays and operators within each other.
pub(crate) const MAX_DEPTH: usize = 50;

/// A filter needs a handful of slots; the number comes from a caller's placeholder.
const MAX_SLOTS: u16 = 256;

pub(crate) fn parse(filter: &RawDocument, options: &ParseOptions<'_>) -> Result<Plan, Refusal> {
    if filter.as_bytes().len() > MAX_BYTES {
        return Err(Refusal::TooLarge { limit: MAX_BYTES });
    }
    let body = Body::new(filter.as_bytes()).map_err(|_| Refusal::Malformed)?;
    let prefix = options.prefix.map(Path::parse).transpose()?;
    let mut parser = Parser { options, slots: Vec::new(), negations: 0 };
    let scope = Scope::top(options.paths, prefix.clone());
    let mut root = parser.document(body, &scope, 1)?;
    if let Some(prefix) = prefix {
        root = Expr::all(vec![Expr::Leaf(prefix, Predicate::Type(TypeSet::OBJECT)), root]);
    }
    Ok(Plan { root, slots: parser.slots.into(), undefined: options.undefined })
}

pub(crate) struct Parser<'p> {
    options: &'p ParseOptions<'p>,
    slots: Vec<Option<SlotUse>>,
    /// How many negations are around the current place.
    negations: usize,
}

impl Parser<'_> {
    pub(crate) fn document(
        &mut self,
        body: Body<'_>,
        scope: &Scope,
        depth: usize,
    ) -> Result<Expr, Refusal> {
        bound_depth(depth)?;
        let mut parts = Vec::new();
        for field in self.fields(body)? {
            let name = field.name().map_err(|_| Refusal::Malformed)?;
            match name {
                "$and" => parts.push(Expr::All(self.list("$and", &field, scope, depth)?)),
                "$or" => parts.push(Expr::Any(self.list("$or", &field, scope, depth)?)),
                "$nor" => parts.push(self.nor(&field, scope, depth)?),
                "$comment" => {}
                _ if name.starts_with('$') => return Err(operator(name, &"")),
                _ => parts.push(self.field(&scope.target(name)?, field.raw, depth)?),
            }
        }
        Ok(Expr::all(parts))
    }

    fn nor(&mut self, field: &Field<'_>, scope: &Scope, depth: usize) -> Result<Expr, Refusal> {
        self.negations += 1;
        let parts = self.list("$nor", field, scope, depth)?;
        self.negations -= 1;
        Ok(Expr::Any(parts).negated())
    }

    fn list(
        &mut self,
        operator: &'static str,
        field: &Field<'_>,
        scope: &Scope,
        depth: usize,
    ) -> Result<Box<[Expr]>, Refusal> {
        let expected = "an array of documents, not empty";
        let refusal = || Refusal::Argument { operator, path: String::new(), expected };
        if field.raw.kind != ElementType::Array {
            return Err(refusal());
        }
        let items = elements(body_of(field.raw)?)?;
        if items.is_empty() {
            return Err(refusal());
        }
        let parts = items.iter().map(|item| match item.kind {
            ElementType::EmbeddedDocument => self.document(body_of(*item)?, scope, depth + 1),
            _ => Err(refusal()),
        });
        parts.collect()
    }

    /// The fields of a document of the filter, once repeated names are accepted.
    pub(crate) fn fields<'a>(&self, body: Body<'a>) -> Result<Vec<Field<'a>>, Refusal> {
        fields(body, self.options.duplicates)
    }

    /// The slot that a value stands for, noted with its use.
    pub(crate) fn slot(
        &mut self,
        raw: Raw<'_>,
        usage: SlotUse,
        path: &Path,
    ) -> Result<Option<u16>, Refusal> {
        let Some(slot) = literal::slot_of(raw, self.options.slot) else { return Ok(None) };
        let refusal = || Refusal::Slot { slot, path: path.to_string() };
        if slot >= MAX_SLOTS {
            return Err(refusal());
        }
        let position = usize::from(slot);
        if self.slots.len() <= position {
            self.slots.resize(position + 1, None);
        }
        match self.slots.get_mut(position) {
            Some(known) if known.is_none_or(|known| known == usage) => *known = Some(usage),
            _ => return Err(refusal()),
        }
        Ok(Some(slot))
    }
}

pub(crate) fn bound_depth(depth: usize) -> Result<(), Refusal> {
    if depth > MAX_DEPTH {
        return Err(Refusal::TooDeep { limit: MAX_DEPTH });
    }
    Ok(())
}

pub(crate) fn operator(operator: &str, path: &impl ToString) -> Refusal {
    Refusal::Operator { operator: operator.to_owned(), path: path.to_string() }
}

pub(crate) fn body_of(raw: Raw<'_>) -> Result<Body<'_>, Refusal> {
    Body::new(raw.bytes).map_err(|_| Refusal::Malformed)
}

pub(crate) fn elements(array: Body<'_>) -> Result<Vec<Raw<'_>>, Refusal> {
    let fields = array.fields().map(|field| field.map(|field| field.raw));
    fields.collect::<Result<_, _>>().map_err(|_| Refusal::Malformed)
}

pub(crate) fn fields(body: Body<'_>, duplicates: Duplicates) -> Result<Vec<Field<'_>>, Refusal> {
    let fields = body.fields().collect::<Result<Vec<_>, _>>().map_err(|_| Refusal::Malformed)?;
    let mut names: Vec<_> = fields.iter().map(|field| field.name).collect();
    names.sort_unstable();
    let repeated = names.windows(2).find(|pair| pair.first() == pair.last());
    match repeated.and_then(<[_]>::first) {
        Some(name) if duplicates == Duplicates::Refuse => {
            Err(Refusal::DuplicateKey { name: String::from_utf8_lossy(name).into_owned() })
        }
        _ => Ok(fields),
    }
}
