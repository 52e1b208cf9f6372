//! Reads the URL that says where Redis is.

use std::fmt;

use redis::{ConnectionAddr, IntoConnectionInfo};

const SENTINEL_PORT: u16 = 26_379;

/// What is wrong with a URL. It never repeats the URL, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "The URL {0}; it looks like redis://host:6379, rediss://host:6379 or redis+sentinel://host:26379/name."
)]
pub struct BadUrl(&'static str);

/// Where one server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// A name, or an IPv4 or IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
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
pub struct Login {
    /// The user; Redis calls the one without a name `default`.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl Login {
    /// Takes what is missing from the other one.
    pub fn or(self, other: Self) -> Self {
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
pub struct Location {
    /// How the primaries are found.
    pub way: Way,
    /// Whether all connections are TLS.
    pub uses_tls: bool,
    /// The login at the servers.
    pub login: Login,
}

impl Location {
    /// The URL again, without users and passwords.
    pub fn shown(&self) -> String {
        let scheme = if self.uses_tls { "rediss" } else { "redis" };
        match &self.way {
            Way::Server(address) => format!("{scheme}://{address}"),
            Way::Sentinels {
                sentinels, name, ..
            } => {
                let all: Vec<String> = sentinels.iter().map(Address::to_string).collect();
                format!("{scheme}+sentinel://{}/{name}", all.join(","))
            }
        }
    }
}

/// How the primaries are found.
pub enum Way {
    /// A server that is one, or a node of a Cluster that knows them all.
    Server(Address),
    /// Sentinels that know the primary by a name.
    Sentinels {
        /// Where they listen.
        sentinels: Vec<Address>,
        /// The primary's name.
        name: String,
        /// The login at the Sentinels.
        login: Login,
    },
}

/// Reads a URL such as `redis://user:password@host:6379` or `redis+sentinel://host,host:26379/name`.
/// No error repeats the URL: it may hold a password.
pub fn parse(url: &str) -> Result<Location, BadUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(BadUrl("has no scheme"))?;
    let (scheme, is_sentinel) = match scheme.strip_suffix("+sentinel") {
        Some(scheme) => (scheme, true),
        None => (scheme, false),
    };
    let uses_tls = match scheme {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => return Err(BadUrl("has an unknown scheme")),
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
            return Err(BadUrl(
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
                return Err(BadUrl(
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
) -> Result<(Address, Login), BadUrl> {
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
        .map_err(|_| BadUrl("does not name a host and a port"))?;
    let ConnectionAddr::Tcp(host, port) = info.addr().clone() else {
        return Err(BadUrl("does not name a host and a port"));
    };
    let settings = info.redis_settings();
    let login = Login {
        user: settings.username().map(str::to_owned),
        password: settings.password().map(str::to_owned),
    };
    Ok((Address { host, port }, login))
}

fn sentinel_login(query: &str) -> Result<Login, BadUrl> {
    let mut login = Login::default();
    let url = redis::parse_redis_url(&format!("redis://sentinel/?{query}"))
        .ok_or(BadUrl("has parameters that cannot be read"))?;
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "sentinel_user" => login.user = Some(value.into_owned()),
            "sentinel_password" => login.password = Some(value.into_owned()),
            _ => {
                return Err(BadUrl(
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
    fn a_location_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("valkeys://ann:x@[::1]:7", "rediss://[::1]:7"),
            (
                "redis+sentinel://ann:x@a,b:7/mymaster?sentinel_password=y",
                "redis+sentinel://a:26379,b:7/mymaster",
            ),
        ] {
            let location = parse(url).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(location.shown(), shown);
        }
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
