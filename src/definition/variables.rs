//! The values that a stream's variables have for one request.

use bson::{Bson, Document};

use super::bounds::Bounds;
use super::guard::check_data;
use super::lookup::lookup;
use super::parameters::Parameters;
use super::var::{is_predefined, is_server};
use super::variable_error::VariableError;

/// What one request binds: the client's own values and those the server predefines.
///
/// The two never mix. A name that starts with `@` is looked up among the predefined values only,
/// every other name among the client's only, so nothing a client sends can stand in for
/// `@user._id`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables {
    plain: Document,
    avars: Document,
    predefined: Document,
}

/// A value and who bound it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Found<'a> {
    Plain(&'a Bson),
    Typed(&'a Bson),
    Server(&'a Bson),
}

impl Variables {
    /// The client's values: plain parameters are strings, `avars` holds typed values and wins.
    ///
    /// # Errors
    /// `avars` is not an object, holds something else than data, reaches into a server variable or is
    /// too large. A member that has the whole name of a server variable is ignored, as in RESTHeart.
    pub fn client(parameters: &Parameters, avars: Option<&Bson>) -> Result<Self, VariableError> {
        let plain = parameters.plain.iter().map(|(name, text)| (name.clone(), text.into()));
        let avars = match avars {
            Some(avars) => checked(avars, parameters)?,
            None => Document::new(),
        };
        Ok(Self { plain: plain.collect(), avars, predefined: Document::new() })
    }

    /// Adds what the server knows, for example `@page` or `@mongoPermissions.readFilter`. A name is
    /// found as a whole or as a path into one of these values; names must start with `@`.
    #[must_use]
    pub fn predefine(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.predefined.insert(name, value);
        self
    }

    /// Adds the caller: `@user`, and `@user.<property>` for the properties whose names hold dots
    /// (claims named by a URL, say) and that no path reaches. `Bson::Null` for anonymous callers.
    #[must_use]
    pub fn predefine_user(self, user: Bson) -> Self {
        let Bson::Document(properties) = user.clone() else {
            return self.predefine("@user", user);
        };
        let this = self.predefine("@user", user);
        properties.into_iter().fold(this, |this, (property, value)| {
            let name = format!("@user.{property}");
            if lookup(&this.predefined, &name).is_some() {
                this
            } else {
                this.predefine(&name, value)
            }
        })
    }

    /// Is the name bound? Null counts as bound.
    pub(crate) fn is_bound(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn find(&self, name: &str) -> Option<Found<'_>> {
        if is_server(name) {
            return lookup(&self.predefined, name).map(Found::Server);
        }
        let typed = lookup(&self.avars, name).map(Found::Typed);
        typed.or_else(|| lookup(&self.plain, name).map(Found::Plain))
    }
}

fn checked(avars: &Bson, parameters: &Parameters) -> Result<Document, VariableError> {
    let Bson::Document(document) = avars else {
        let raw = parameters.avars().unwrap_or_default();
        return Err(VariableError::NotAnObject(raw.chars().take(200).collect()));
    };
    Bounds::CLIENT.check(avars).map_err(VariableError::TooLarge)?;
    check_data(avars).map_err(VariableError::NotData)?;
    let client = document.iter().filter(|(name, _)| !is_predefined(name));
    let client: Document = client.map(|(name, value)| (name.clone(), value.clone())).collect();
    client.keys().try_for_each(|name| VariableError::check_client_name(name))?;
    Ok(client)
}

impl<'a> Found<'a> {
    pub(crate) fn value(self) -> &'a Bson {
        match self {
            Self::Plain(value) | Self::Typed(value) | Self::Server(value) => value,
        }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests {
    use bson::{bson, doc};

    use super::*;

    fn client(query: &[(&str, &str)], avars: Option<Bson>) -> Result<Variables, VariableError> {
        Variables::client(&Parameters::from_query(query.iter().copied()).unwrap(), avars.as_ref())
    }

    #[test]
    fn avars_win_over_plain_parameters() {
        let variables = client(
            &[("tid", "plain"), ("x", ""), ("a.b", "dotted")],
            Some(bson!({"tid": 42, "a": {"b": 1}, "n": null})),
        )
        .unwrap();
        for (name, expected) in [
            ("tid", Some(Found::Typed(&Bson::Int32(42)))),
            ("x", Some(Found::Plain(&Bson::String(String::new())))),
            ("a.b", Some(Found::Typed(&Bson::Int32(1)))),
            ("n", Some(Found::Typed(&Bson::Null))),
            ("X", None),
            ("@user", None),
        ] {
            assert_eq!(variables.find(name), expected, "{name}");
        }
    }

    #[test]
    fn the_server_binds_at_names() {
        let user = doc! {"_id": "joe", "team": {"_id": "red"}, "https://x.example/org": 7, "team._id": "forged"};
        let variables = client(&[("user", "x")], None)
            .unwrap()
            .predefine("@page", 1)
            .predefine_user(user.into());
        for (name, expected) in [
            ("@page", Some(Bson::Int32(1))),
            ("@user._id", Some("joe".into())),
            ("@user.team._id", Some("red".into())),
            ("@user.https://x.example/org", Some(Bson::Int32(7))),
            ("@user.missing", None),
            ("@now", None),
        ] {
            assert_eq!(variables.find(name), expected.as_ref().map(Found::Server), "{name}");
        }
        assert!(!variables.is_bound("page"));
    }

    #[test]
    fn anonymous_callers_have_a_null_user() {
        let variables = client(&[], None).unwrap().predefine_user(Bson::Null);
        assert!(variables.is_bound("@user"));
        assert!(!variables.is_bound("@user._id"));
    }

    #[test]
    fn nothing_a_client_sends_is_found_under_an_at_name() {
        for avars in [
            bson!({"@user._id": "x"}),
            bson!({"@user.team._id": "victim"}),
            bson!({"@mongoPermissions.readFilter": {}}),
            bson!({"@pages": 1}),
            bson!({"@": 1}),
            bson!({"ok": 1, " @user": 1}),
            bson!({"['@user']": {"_id": 1}}),
            bson!({"..@user": 1}),
            bson!({"\u{0}@user": 1}),
        ] {
            assert!(client(&[], Some(avars.clone())).is_err(), "{avars}");
        }
        let whole = bson!({"@user": {"_id": "x"}, "@page": 2, "@mongoPermissions": {"readFilter": 1}, "a": {"@user": {"_id": "x"}}, "": {"@user": 1}});
        let nested = client(&[("@user", "x"), ("@page", "3")], Some(whole));
        let nested = nested.unwrap();
        for name in ["@user", "@user._id", ".@user", "@", "@page", "@mongoPermissions.readFilter"] {
            assert!(!nested.is_bound(name), "{name}");
        }
    }

    #[test]
    fn avars_must_be_a_bounded_object_of_data() {
        let deep = (0..40).fold(bson!(1), |inner, _| bson!({"a": inner}));
        for (avars, expected) in [
            (bson!([1]), "illegal avars parameter, it is not a json object: [raw]"),
            (bson!(1), "illegal avars parameter, it is not a json object: [raw]"),
            (bson!(null), "illegal avars parameter, it is not a json object: [raw]"),
            (
                bson!({"tid": {"$ne": null}}),
                "illegal avars parameter: variables cannot include operators such as `$ne`; only values are accepted",
            ),
            (
                bson!({"$ne": null}),
                "illegal avars parameter: variables cannot include operators such as `$ne`; only values are accepted",
            ),
            (deep, "too many or too deep variables: nested deeper than 32 levels; flatten it"),
            (
                bson!({"a": (vec![Bson::Null; 5000])}),
                "too many or too deep variables: more than 4096 values; shorten it",
            ),
        ] {
            let error = client(&[("avars", "[raw]")], Some(avars)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
