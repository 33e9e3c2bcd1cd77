//! The query string of a stream's URL: which parameters are variables.

use super::var::is_predefined;
use super::variable_error::VariableError;

/// Query parameters that have a meaning of their own and are therefore never variables. A stream
/// variable of such a name can only be bound through `avars`.
///
/// The first group steers Tailwater, the second is accepted because RESTHeart clients send it.
pub const RESERVED: &[&str] = &[
    "avars",
    "etag",
    "heartbeat",
    "jsonMode",
    "lastEventId",
    "noauthchallenge",
    "snapshot",
    "ticket",
    // RESTHeart's own.
    "cache",
    "checkEtag",
    "count",
    "filter",
    "hal",
    "hint",
    "id_type",
    "keys",
    "nocache",
    "np",
    "page",
    "pagesize",
    "readConcern",
    "readPreference",
    "rep",
    "shardkey",
    "sid",
    "sort",
    "sort_by",
    "wm",
    "writeConcern",
    "writeMode",
];

/// More parameters than any stream has variables; bounds the search for duplicates.
const MAX_PARAMETERS: usize = 256;

/// The variables in a query string, before `avars` is parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    pub(super) plain: Vec<(String, String)>,
    avars: Option<String>,
}

impl Parameters {
    /// Sorts decoded query parameters, in order, into variables and `avars`.
    ///
    /// # Errors
    /// A name given twice (no guess is made which is meant), or one that starts with `@`. The whole
    /// name of a server variable is ignored.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, VariableError> {
        let mut parameters = Self::default();
        for (name, value) in pairs {
            match name {
                "avars" => parameters.set_avars(value)?,
                name if RESERVED.contains(&name) || is_predefined(name) => {}
                name => parameters.add(name, value)?,
            }
        }
        Ok(parameters)
    }

    /// The text of `avars`, to be parsed as lenient Extended JSON and handed to
    /// [`Variables::client`](super::Variables::client).
    pub fn avars(&self) -> Option<&str> {
        self.avars.as_deref()
    }

    fn set_avars(&mut self, text: &str) -> Result<(), VariableError> {
        match self.avars.replace(text.to_owned()) {
            Some(_) => Err(VariableError::Duplicate("avars".to_owned())),
            None => Ok(()),
        }
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), VariableError> {
        VariableError::check_client_name(name)?;
        if self.plain.iter().any(|(known, _)| known == name) {
            return Err(VariableError::Duplicate(name.to_owned()));
        }
        if self.plain.len() == MAX_PARAMETERS {
            return Err(VariableError::TooLarge(format!("more than {MAX_PARAMETERS} parameters")));
        }
        self.plain.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_sorted() {
        let query =
            [("tid", "42"), ("page", "2"), ("avars", "{}"), ("jsonMode", "RELAXED"), ("TID", "")];
        let parameters = Parameters::from_query(query).unwrap();
        let plain = [("tid", "42"), ("TID", "")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(parameters.plain, plain);
        assert_eq!(parameters.avars(), Some("{}"));
    }

    #[test]
    fn reserved_names_are_never_variables() {
        for name in RESERVED.iter().chain(&["@user", "@mongoPermissions", "@page", "@skip"]) {
            let parameters = Parameters::from_query([(*name, "x")]).unwrap();
            assert!(parameters.plain.is_empty(), "{name}");
        }
    }

    #[test]
    fn duplicates_and_server_names_are_refused() {
        for query in [
            vec![("tid", "a"), ("tid", "b")],
            vec![("tid", "a"), ("x", ""), ("tid", "a")],
            vec![("avars", "{}"), ("avars", "{}")],
            vec![("@users", "x")],
            vec![("@user._id", "x")],
            vec![(" @user", "x")],
            vec![("['@user']", "x")],
            vec![("..@user", "x")],
        ] {
            assert!(Parameters::from_query(query.clone()).is_err(), "{query:?}");
        }
        let names: Vec<String> = (0..=MAX_PARAMETERS).map(|n| n.to_string()).collect();
        let many = names.iter().map(|name| (name.as_str(), ""));
        assert!(matches!(Parameters::from_query(many), Err(VariableError::TooLarge(_))));
    }
}
