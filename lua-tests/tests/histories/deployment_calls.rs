//! Random calls of the functions of deployments.

use super::generator::{Generator, NODES, POOLS};

/// Settings of claims, and values that make a difference here.
pub(super) const DEPLOYMENT_SETTINGS: [(&str, &[&str]); 3] = [
    (
        "claim_policy",
        &["deployment_count", "resource_usage", "nonsense"],
    ),
    ("cpu_weight", &["0", "0.1", "0.5"]),
    ("mem_weight", &["0.5", "2"]),
];

const DEPLOYMENTS: [&str; 8] = ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"];

impl Generator {
    pub(super) fn deployment_arguments(&mut self, function: &str) -> Vec<String> {
        let id = self.pick(&DEPLOYMENTS).to_owned();
        let mut args = Vec::new();
        match function {
            "deploy" => {
                args.push(id);
                self.some(&mut args, 3, "SPEC", &["", "a", "b", "\u{0}\u{ff}"]);
                self.some(&mut args, 4, "POOL", &POOLS);
                self.some(&mut args, 4, "ENABLED", &["true", "true", "false"]);
            }
            "claim" => {
                let node = self.pick(&NODES).to_owned();
                args.push(node.clone());
                let policies = ["deployment_count", "resource_usage"];
                self.some(&mut args, 4, "POLICY", &policies);
                for _ in 0..self.random.u32(..4) {
                    self.some(&mut args, 2, "RUNNING", &DEPLOYMENTS);
                }
                self.some(&mut args, 2, "REQUEST", &["q1", "q2"]);
                self.incarnation(&mut args, &node);
            }
            "deployments" => {
                args.extend(["0".to_owned(), self.pick(&["1", "3", "1000"]).to_owned()]);
            }
            _ => args.push(id),
        }
        args
    }
}
