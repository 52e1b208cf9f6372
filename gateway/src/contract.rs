//! The routes, made from the contract.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::Method;
use lockless_functions::api::{Api, Function};
use matchit::Router;
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
    /// The names of the arguments in its path.
    pub path_arguments: Vec<&'static str>,
}

/// The route of a request, with the arguments that its path gives.
pub struct Matched<'a> {
    /// The route.
    pub route: &'static Route,
    /// Name and value of each argument in the path.
    pub arguments: Vec<(&'static str, Cow<'a, str>)>,
}

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

/// The routes by their paths: several methods may share one.
static ROUTER: LazyLock<Router<Vec<&'static Route>>> = LazyLock::new(|| {
    let mut by_path: BTreeMap<&str, Vec<&Route>> = BTreeMap::new();
    for route in routes() {
        by_path.entry(route.path).or_default().push(route);
    }
    let mut router = Router::new();
    for (path, routes) in by_path {
        let added = router.insert(path, routes);
        added.expect("no two paths of the contract are in each other's way");
    }
    router
});

/// The contract.
pub fn api() -> &'static Api {
    lockless_functions::contract()
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
        let path_arguments = path
            .split('/')
            .filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        Self {
            method: method.parse().expect("the contract gives a method"),
            path,
            function,
            takes_arguments,
            path_arguments,
        }
    }

    /// Whether its arguments come in the query instead of a body.
    pub fn has_query(&self) -> bool {
        self.method == Method::GET || self.method == Method::DELETE
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
}

/// The route of a request.
pub fn find<'a>(method: &Method, path: &'a str) -> Result<Matched<'a>, Problem> {
    let Ok(found) = ROUTER.at(path) else {
        return Err(Problem::new(
            "NOT_FOUND",
            format!("there is nothing at {path}: /docs lists what there is"),
        ));
    };
    let mut routes = found.value.iter().copied();
    let Some(route) = routes.find(|route| route.method == *method) else {
        let others: Vec<&str> = found
            .value
            .iter()
            .map(|route| route.method.as_str())
            .collect();
        return Err(Problem::method_not_allowed(
            method.as_str(),
            path,
            &others.join(", "),
        ));
    };
    let given = found.params.iter().map(|(_, word)| word);
    let arguments = route.path_arguments.iter().zip(given).map(|(name, word)| {
        let value = percent_decode_str(word)
            .decode_utf8()
            .map_err(|_| Problem::bad_argument(format!("{name} in the path is not UTF-8 text")))?;
        Ok((*name, value))
    });
    Ok(Matched {
        route,
        arguments: arguments.collect::<Result<_, Problem>>()?,
    })
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
            assert_eq!(found.arguments.len(), route.path_arguments.len());
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
