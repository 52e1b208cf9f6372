//! Who may call what: bearer tokens and roles.
