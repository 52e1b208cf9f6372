//! Reads the URL that says where to deploy to.

use std::fmt;

use redis::{ConnectionAddr, IntoConnectionInfo};

use super::problem::Problem;

const SENTINEL_PORT: u16 = 26_379;

/// Where one server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A user and a password. It has no `Debug`, so that it cannot be printed by accident.
#[derive(Clone, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl Login {
    /// Takes what is missing from the other one.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.password.is_some() {
            return self;
        }
        Self {
            user: self.user.or(other.user),
            password: other.password,
        }
    }
}

/// What a URL says.
pub(crate) struct Location {
    pub(crate) way: Way,
    pub(crate) uses_tls: bool,
    pub(crate) login: Login,
}

/// How the primaries are found.
pub(crate) enum Way {
    /// A server that is one, or a node of a Cluster that knows them all.
    Server(Address),
    /// Sentinels that know the primary by a name.
    Sentinels {
        sentinels: Vec<Address>,
        name: String,
        login: Login,
    },
}

/// Reads a URL such as `redis://user:password@host:6379` or `redis+sentinel://host,host:26379/name`.
/// No error repeats the URL: it may hold a password.
pub(crate) fn parse(url: &str) -> Result<Location, Problem> {
    let (scheme, rest) = url.split_once("://").ok_or(Problem::Url("has no scheme"))?;
    let (scheme, is_sentinel) = match scheme.strip_suffix("+sentinel") {
        Some(scheme) => (scheme, true),
        None => (scheme, false),
    };
    let uses_tls = match scheme {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => return Err(Problem::Url("has an unknown scheme")),
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (userinfo, hosts) = match authority.rsplit_once('@') {
        Some((userinfo, hosts)) => (Some(userinfo), hosts),
        None => (None, authority),
    };
    let mut addresses = Vec::new();
    let mut login = Login::default();
    for host in hosts.split(',') {
        let (address, found) = parse_host(userinfo, host, is_sentinel)?;
        addresses.push(address);
        login = found;
    }
    let way = if is_sentinel {
        let name = path.trim_end_matches('/');
        if name.is_empty() {
            return Err(Problem::Url(
                "lacks the primary's name after the Sentinels' addresses",
            ));
        }
        Way::Sentinels {
            sentinels: addresses,
            name: name.to_owned(),
            login: sentinel_login(query)?,
        }
    } else {
        match <[Address; 1]>::try_from(addresses) {
            Ok([address]) => Way::Server(address),
            Err(_) => {
                return Err(Problem::Url(
                    "names several servers, of which any one leads to the others",
                ));
            }
        }
    };
    Ok(Location {
        way,
        uses_tls,
        login,
    })
}

fn parse_host(
    userinfo: Option<&str>,
    host: &str,
    is_sentinel: bool,
) -> Result<(Address, Login), Problem> {
    // An IPv6 address has colons of its own, inside brackets.
    let after_brackets = host.rsplit_once(']').map_or(host, |(_, after)| after);
    let default_port = if is_sentinel && !after_brackets.contains(':') {
        format!(":{SENTINEL_PORT}")
    } else {
        String::new()
    };
    let userinfo = userinfo
        .map(|userinfo| format!("{userinfo}@"))
        .unwrap_or_default();
    let info = format!("redis://{userinfo}{host}{default_port}")
        .into_connection_info()
        .map_err(|_| Problem::Url("does not name a host and a port"))?;
    let ConnectionAddr::Tcp(host, port) = info.addr().clone() else {
        return Err(Problem::Url("does not name a host and a port"));
    };
    let settings = info.redis_settings();
    let login = Login {
        user: settings.username().map(str::to_owned),
        password: settings.password().map(str::to_owned),
    };
    Ok((Address { host, port }, login))
}

fn sentinel_login(query: &str) -> Result<Login, Problem> {
    let mut login = Login::default();
    let url = redis::parse_redis_url(&format!("redis://sentinel/?{query}"))
        .ok_or(Problem::Url("has parameters that cannot be read"))?;
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "sentinel_user" => login.user = Some(value.into_owned()),
            "sentinel_password" => login.password = Some(value.into_owned()),
            _ => {
                return Err(Problem::Url(
                    "has a parameter other than sentinel_user and sentinel_password",
                ));
            }
        }
    }
    Ok(login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: Option<&str>, password: Option<&str>) -> Login {
        Login {
            user: user.map(str::to_owned),
            password: password.map(str::to_owned),
        }
    }

    fn server(url: &str) -> (String, bool, Login) {
        let location = parse(url).unwrap_or_else(|problem| panic!("{problem}"));
        match location.way {
            Way::Server(address) => (address.to_string(), location.uses_tls, location.login),
            Way::Sentinels { .. } => panic!("a server was expected"),
        }
    }

    #[test]
    fn a_server_is_read_with_its_user_password_and_default_port() {
        assert!(
            server("redis://localhost") == ("localhost:6379".to_owned(), false, Login::default())
        );
        let expected = login(Some("ann"), Some("p@ss/word"));
        assert!(
            server("rediss://ann:p%40ss%2Fword@10.0.0.1:1234/0")
                == ("10.0.0.1:1234".to_owned(), true, expected)
        );
        assert!(
            server("redis://:secret@[::1]:7000")
                == ("[::1]:7000".to_owned(), false, login(None, Some("secret")))
        );
    }

    #[test]
    fn sentinels_are_read_with_their_own_login() {
        let location = parse(
            "rediss+sentinel://ann:x@a,b:7,[::1]/mymaster?sentinel_user=s&sentinel_password=y%20z",
        )
        .unwrap_or_else(|problem| panic!("{problem}"));
        assert!(location.uses_tls && location.login == login(Some("ann"), Some("x")));
        let Way::Sentinels {
            sentinels,
            name,
            login: own,
        } = location.way
        else {
            panic!("sentinels were expected")
        };
        let shown: Vec<String> = sentinels.iter().map(Address::to_string).collect();
        assert_eq!(shown, ["a:26379", "b:7", "[::1]:26379"]);
        assert_eq!(name, "mymaster");
        assert!(own == login(Some("s"), Some("y z")));
    }

    #[test]
    fn no_error_repeats_the_password() {
        for url in [
            "hunter2",
            "http://:hunter2@host",
            "redis://:hunter2@host:port",
            "redis://:hunter2@a,b",
            "redis+sentinel://:hunter2@a",
            "redis+sentinel://a/name?hunter2=1",
            "redis://:hunter2@",
        ] {
            let problem = parse(url).map(|_| ()).unwrap_err().to_string();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }

    #[test]
    fn the_environment_fills_in_what_the_url_lacks() {
        let environment = || login(Some("env"), Some("env-password"));
        assert!(login(None, None).or(environment()) == environment());
        assert!(
            login(Some("ann"), None).or(environment()) == login(Some("ann"), Some("env-password"))
        );
        assert!(login(None, Some("url")).or(environment()) == login(None, Some("url")));
    }
}
