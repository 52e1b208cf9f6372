//! The routes, made from the contract.

use std::borrow::Cow;
use std::sync::LazyLock;

use hyper::Method;
use lockless_functions::api::{Api, Function};
use percent_encoding::percent_decode_str;

use crate::problem::Problem;

/// How many calls `POST /v1/batch` takes.
pub const BATCH_LIMIT: usize = 1000;

/// A method and a path, and the function behind it.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path as the contract writes it, such as `/v1/nodes/{node}`.
    pub path: &'static str,
    /// The function.
    pub function: &'static Function,
    /// Whether arguments may be given.
    pub takes_arguments: bool,
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    Word(&'static str),
    Argument(&'static str),
}

/// The route of a request, with the arguments that its path gives.
pub struct Matched<'a> {
    /// The route.
    pub route: &'static Route,
    /// Name and value of each argument in the path.
    pub arguments: Vec<(&'static str, Cow<'a, str>)>,
}

static API: LazyLock<Api> = LazyLock::new(|| {
    Api::parse(lockless_functions::API).expect("the contract was read when the bundle was made")
});

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let api = api();
    let first = api
        .functions
        .iter()
        .map(|function| (function, &function.http, true));
    let second = api
        .functions
        .iter()
        .filter_map(|function| Some((function, function.http_read.as_ref()?, false)));
    first
        .chain(second)
        .map(|(function, http, takes_arguments)| Route::new(function, http, takes_arguments))
        .collect()
});

/// The contract.
pub fn api() -> &'static Api {
    &API
}

/// All routes.
pub fn routes() -> &'static [Route] {
    &ROUTES
}

impl Route {
    fn new(function: &'static Function, http: &'static str, takes_arguments: bool) -> Self {
        let (method, path) = http
            .split_once(' ')
            .expect("the contract gives method and path");
        let segments = segments(path)
            .map(|word| {
                match word
                    .strip_prefix('{')
                    .and_then(|word| word.strip_suffix('}'))
                {
                    Some(name) => Segment::Argument(name),
                    None => Segment::Word(word),
                }
            })
            .collect();
        Self {
            method: method.parse().expect("the contract gives a method"),
            path,
            function,
            takes_arguments,
            segments,
        }
    }

    /// Whether its arguments come in the query instead of a body.
    pub fn has_query(&self) -> bool {
        self.method == Method::GET || self.method == Method::DELETE
    }

    /// The names of the arguments in its path.
    pub fn path_arguments(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Argument(name) => Some(*name),
            Segment::Word(_) => None,
        })
    }

    /// What it is about: the first word after `/v1`.
    pub fn subject(&self) -> &'static str {
        self.path.split('/').nth(2).unwrap_or_default()
    }

    /// A name for it that no other route has.
    pub fn operation_id(&self) -> String {
        let name = self.function.name.trim_start_matches("lockless_");
        if self.takes_arguments {
            name.to_owned()
        } else {
            format!("read_{name}")
        }
    }

    fn arguments<'a>(&self, path: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
        let mut given = segments(path);
        let mut arguments = Vec::new();
        for segment in &self.segments {
            let word = given.next()?;
            match segment {
                Segment::Word(expected) if *expected == word => {}
                Segment::Word(_) => return None,
                Segment::Argument(name) => arguments.push((*name, word)),
            }
        }
        given.next().is_none().then_some(arguments)
    }
}

fn segments(path: &str) -> std::str::Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// The route of a request.
pub fn find<'a>(method: &Method, path: &'a str) -> Result<Matched<'a>, Problem> {
    let mut others = Vec::new();
    for route in routes() {
        let Some(arguments) = route.arguments(path) else {
            continue;
        };
        if route.method != *method {
            others.push(route.method.as_str());
            continue;
        }
        let decoded = arguments.into_iter().map(|(name, word)| {
            let value = percent_decode_str(word).decode_utf8().map_err(|_| {
                Problem::bad_argument(format!("{name} in the path is not UTF-8 text"))
            })?;
            Ok((name, value))
        });
        return Ok(Matched {
            route,
            arguments: decoded.collect::<Result<_, Problem>>()?,
        });
    }
    if others.is_empty() {
        return Err(Problem::new(
            "NOT_FOUND",
            format!("there is nothing at {path}: /docs lists what there is"),
        ));
    }
    Err(Problem::method_not_allowed(
        method.as_str(),
        path,
        others.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_finds_its_own_function() {
        for route in routes() {
            let path = route.path.replace(['{', '}'], "");
            let found = find(&route.method, &path).unwrap_or_else(|_| panic!("{path}"));
            assert_eq!(found.route.function.name, route.function.name);
            assert_eq!(found.arguments.len(), route.path_arguments().count());
        }
    }

    #[test]
    fn arguments_in_the_path_are_decoded() {
        let found = find(&Method::GET, "/v1/nodes/a%2Fb%20c").unwrap_or_else(|_| panic!("route"));
        assert_eq!(found.arguments, [("node", Cow::from("a/b c"))]);
    }

    #[test]
    fn another_method_is_told_which_ones_there_are() {
        let Err(problem) = find(&Method::POST, "/v1/nodes/n1") else {
            panic!("POST is not a method of this path")
        };
        assert_eq!(problem.status(), 405);
        assert!(
            problem.detail().contains("PUT, DELETE, GET"),
            "{}",
            problem.detail()
        );
    }

    #[test]
    fn a_path_that_is_not_there_is_not_found() {
        for path in [
            "/",
            "/v1",
            "/v1/nodes/n1/",
            "/v1/nodes/n1/x",
            "/v2/jobs",
            "//v1/jobs",
        ] {
            let Err(problem) = find(&Method::GET, path) else {
                panic!("{path} was found")
            };
            assert_eq!(problem.status(), 404, "{path}");
        }
    }
}
