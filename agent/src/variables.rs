//! Which variables a payload may set.

/// Variables by which a program can be made to run something else, beside those of [`leads_elsewhere`]'s families.
const LEADING_ELSEWHERE: [&str; 21] = [
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PATH",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS4",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "_JAVA_OPTIONS",
];

/// Whether the loader, a shell, an interpreter or a library obeys it: it would make an allowed program run something else.
fn leads_elsewhere(name: &str) -> bool {
    let families = ["LD_", "PYTHON", "PERL5", "GIT_", "LUA_INIT"];
    families.iter().any(|family| name.starts_with(family)) || LEADING_ELSEWHERE.contains(&name)
}

/// What the agent sets is the agent's; what leads elsewhere is set only where the program's entry lists it.
pub(crate) fn check(name: &str, value: &str, is_listed: bool) -> Result<(), String> {
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !is_name {
        return Err(format!(
            "env takes names of letters, digits and '_', given '{name}'"
        ));
    }
    if name.starts_with("LOCKLESS_") {
        return Err(format!("env may not set {name}: remove it"));
    }
    if leads_elsewhere(name) && !is_listed {
        return Err(format!(
            "env may not set {name} for this program: remove it, or have it listed in env of the program's [[allow]] on the node"
        ));
    }
    if value.contains('\0') {
        return Err(format!("env {name} has a zero byte in its value"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_leads_elsewhere_is_set_only_where_it_is_listed() {
        for name in [
            "LD_AUDIT",
            "GLIBC_TUNABLES",
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "PYTHONPATH",
            "PERL5OPT",
            "NODE_OPTIONS",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "GIT_SSH_COMMAND",
            "GCONV_PATH",
            "OPENSSL_CONF",
            "PATH",
        ] {
            let refusal = check(name, "x", false).expect_err(name);
            assert!(refusal.contains(name), "{refusal}");
            assert_eq!(check(name, "x", true), Ok(()));
        }
        assert_eq!(check("ENVIRONMENT", "x", false), Ok(()));
        assert_eq!(check("MY_PATH", "x", false), Ok(()));
    }

    #[test]
    fn what_the_agent_sets_is_never_set_by_others() {
        assert!(check("LOCKLESS_RUN", "x", true).is_err());
    }
}
