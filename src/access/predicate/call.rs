use super::arguments::{Arguments, Given};
use super::attribute::Attribute;
use super::error::PredicateProblem as Problem;
use super::leaf::Leaf;
use super::pattern::Pattern;
use super::spec;
use super::template::PathTemplate;

/// The path of the request: what `path-template` and `regex` look at unless told otherwise.
const REQUEST_PATH: &str = "%R";

/// Reads one call.
pub(super) fn call(name: &str, given: Given) -> Result<Leaf, Problem> {
    let spec = spec::find(name).ok_or_else(|| Problem::UnknownPredicate(name.to_owned()))?;
    let arguments = &mut Arguments::new(spec, given)?;
    match name {
        "path" | "path-prefix" | "path-suffix" | "path-template" | "regex" => path(name, arguments),
        "equals" | "contains" | "exists" | "in" | "gte" | "lte" => comparison(name, arguments),
        _ if name.starts_with("qparams-") => parameters(name, arguments),
        _ if name.starts_with("bson-request-") => body(name, arguments),
        "method" => Ok(Leaf::Method(arguments.filled("value")?)),
        "secure" => Ok(Leaf::Secure),
        "idempotent" => Ok(Leaf::Idempotent),
        "auth-required" => Ok(Leaf::Constant(false)),
        _ => size(name, arguments),
    }
}

fn path(name: &str, arguments: &mut Arguments) -> Result<Leaf, Problem> {
    Ok(match name {
        "path" => Leaf::Path(arguments.filled("path")?),
        "path-prefix" => Leaf::PathPrefix(arguments.filled("path")?),
        "path-suffix" => Leaf::PathSuffix(arguments.filled("path")?),
        "path-template" => {
            let template = PathTemplate::parse(arguments.text("value")?)?;
            Leaf::PathTemplate(template, arguments.attribute("match", REQUEST_PATH)?)
        }
        _ => {
            let full = arguments.flag("full-match", false)?;
            let sensitive = arguments.flag("case-sensitive", true)?;
            let pattern = Pattern::parse(arguments.text("pattern")?, full, sensitive)?;
            Leaf::Regex(pattern, arguments.attribute("value", REQUEST_PATH)?)
        }
    })
}

fn comparison(name: &str, arguments: &mut Arguments) -> Result<Leaf, Problem> {
    Ok(match name {
        "equals" => Leaf::Equals(arguments.attributes("value")?),
        "contains" => Leaf::Contains {
            value: arguments.attribute("value", "")?,
            search: arguments.list("search"),
        },
        "exists" => Leaf::Exists(arguments.attribute("value", "")?),
        "in" => {
            Leaf::In { array: arguments.list("array"), value: arguments.attribute("value", "")? }
        }
        "gte" => two(arguments, Leaf::AtLeast, "gte")?,
        _ => two(arguments, Leaf::AtMost, "lte")?,
    })
}

fn two(
    arguments: &mut Arguments,
    leaf: impl FnOnce(Attribute, Attribute) -> Leaf,
    name: &'static str,
) -> Result<Leaf, Problem> {
    let mut attributes = arguments.attributes("value")?.into_iter();
    match (attributes.next(), attributes.next(), attributes.next()) {
        (Some(a), Some(b), None) => Ok(leaf(a, b)),
        _ => Err(Problem::NotTwo(name)),
    }
}

fn parameters(name: &str, arguments: &mut Arguments) -> Result<Leaf, Problem> {
    Ok(match name {
        "qparams-whitelist" => Leaf::ParametersWithin(arguments.list("whitelist")),
        "qparams-blacklist" => Leaf::ParametersWithout(arguments.filled("blacklist")?),
        "qparams-contain" => Leaf::ParametersWithAll(arguments.filled("qparams")?),
        _ => Leaf::ParametersCount(arguments.integer("size")?),
    })
}

/// There is no body: lists of forbidden and of allowed keys hold, everything else does not.
fn body(name: &str, arguments: &mut Arguments) -> Result<Leaf, Problem> {
    match name {
        "bson-request-whitelist" => arguments.filled("whitelist").map(|_| Leaf::Constant(true)),
        "bson-request-blacklist" => arguments.filled("blacklist").map(|_| Leaf::Constant(true)),
        _ => Ok(Leaf::Constant(false)),
    }
}

/// The original looks at the length of a response that does not exist yet, and never matches.
fn size(name: &str, arguments: &mut Arguments) -> Result<Leaf, Problem> {
    let parameter = if name.starts_with("request-") { "size" } else { "value" };
    arguments.integer(parameter).map(|_| Leaf::Constant(false))
}
