//! The named values of a request: a JSON body or a query.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// More than any call takes. Names are compared with each other, so their number must be small.
const MOST_FIELDS: usize = 128;
/// Parameters of a query, of which some may be given several times.
const MOST_PARAMETERS: usize = 1024;

/// The named values of a request, in their order.
#[derive(Debug, Default)]
pub struct Fields<'a> {
    values: Vec<(Cow<'a, str>, Value<'a>)>,
}

/// One of them.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// JSON, as it was written.
    Json(&'a RawValue),
    /// A parameter of a query; several when it was given several times.
    Query(Vec<Cow<'a, str>>),
}

impl<'a> Fields<'a> {
    /// The members of a JSON object. An empty body counts as an empty object.
    pub fn from_json(body: &'a [u8]) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let object: Object<'a> = serde_json::from_slice(body).map_err(|error| {
            Problem::bad_argument(format!("the body is not a JSON object: {error}"))
        })?;
        Ok(Self { values: object.0 })
    }

    /// The members of a JSON object inside of a body that was read.
    pub fn from_raw(object: &'a RawValue, what: &str) -> Result<Self, Problem> {
        let object: Object<'a> = serde_json::from_str(object.get()).map_err(|error| {
            Problem::bad_argument(format!("{what} is not a JSON object: {error}"))
        })?;
        Ok(Self { values: object.0 })
    }

    /// The parameters of a query.
    pub fn from_query(query: &'a str) -> Result<Self, Problem> {
        let mut fields = Self::default();
        for (at, (name, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
            if at >= MOST_PARAMETERS || fields.values.len() > MOST_FIELDS {
                return Err(Problem::bad_argument(
                    "the query has more parameters than any call takes",
                ));
            }
            match fields.values.iter_mut().find(|(known, _)| *known == name) {
                Some((_, Value::Query(values))) => values.push(value),
                _ => fields.values.push((name, Value::Query(vec![value]))),
            }
        }
        Ok(fields)
    }

    /// Whether there is a value of that name.
    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _)| known == name)
    }

    /// Puts a parameter in the place of whatever was given.
    pub fn set_parameter(&mut self, name: &'a str, value: &'a str) {
        self.values.retain(|(known, _)| known != name);
        let value = Value::Query(vec![Cow::Borrowed(value)]);
        self.values.push((Cow::Borrowed(name), value));
    }

    /// Takes a value out. A JSON `null` is returned like any other value.
    pub fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let at = self.values.iter().position(|(known, _)| known == name)?;
        Some(self.values.swap_remove(at).1)
    }

    /// Takes out a parameter of a query that may be given once.
    pub fn take_parameter(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Problem> {
        match self.take(name) {
            Some(Value::Query(mut values)) if values.len() == 1 => Ok(values.pop()),
            Some(_) => Err(Problem::bad_argument(format!(
                "{name} may be given once in the query, given more than once"
            ))),
            None => Ok(None),
        }
    }

    /// The name of some value that nobody took.
    pub fn left_over(&self) -> Option<&str> {
        self.values.first().map(|(name, _)| name.as_ref())
    }

    /// All values that nobody took.
    pub fn into_rest(self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a>)> {
        self.values.into_iter()
    }
}

struct Object<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object such as {\"session\": \"s1\"}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
                while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
                    if members.len() >= MOST_FIELDS {
                        return Err(A::Error::custom("it has more fields than any call takes"));
                    }
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format!("the field {name} is there twice")));
                    }
                    members.push((name, Value::Json(map.next_value()?)));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed unless it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
