/// What an operator takes, if a variable may be part of it.
pub(super) enum Takes {
    Value,
    List,
    /// Operators again: `$not`.
    Operators,
    /// A filter, or operators: `$elemMatch`.
    Elements,
}

/// Operators in which a variable has a meaning that its value cannot change. In all others, like
/// `$regex` and `$where`, it would be code.
pub(super) fn takes(operator: &str) -> Option<Takes> {
    Some(match operator {
        "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" => Takes::Value,
        "$in" | "$nin" | "$all" => Takes::List,
        "$not" => Takes::Operators,
        "$elemMatch" => Takes::Elements,
        _ => return None,
    })
}

/// Whether the operator holds where its operand does not.
pub(super) fn negates(operator: &str) -> bool {
    matches!(operator, "$ne" | "$nin" | "$not" | "$nor")
}

pub(super) fn is_operator(key: &str) -> bool {
    key.starts_with('$')
}

pub(super) fn is_logical(key: &str) -> bool {
    matches!(key, "$and" | "$or" | "$nor")
}
