//! Deployments that nodes claim, over HTTP.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

mod support;

use serde_json::{Value, json};
use support::Host;

support::on_each_host!(a_deployment_is_claimed_changed_taken_away_and_removed,);

fn a_deployment_is_claimed_changed_taken_away_and_removed(host: &Host) {
    let gateway = host.gateway(&[]);
    gateway.put("/v1/nodes/n1", &json!({})).ok();
    let spec = json!({ "argv": ["serve", "--port", "1"] });
    let web = json!({ "spec": spec });
    assert_eq!(
        gateway.put("/v1/deployments/web", &web).ok(),
        json!({ "ok": true })
    );

    let claim = |body: Value, key: &str| {
        let headers = [("idempotency-key", key)];
        let body = body.to_string();
        gateway
            .send("POST", "/v1/nodes/n1/claim", &headers, Some(&body))
            .ok()
    };
    let turn = claim(json!({}), "first");
    assert_eq!(turn["claimed"], "web");
    assert_eq!(turn["spec"], spec);
    assert_eq!(
        (&turn["eligible"], &turn["value"], &turn["released"]),
        (&json!(true), &json!(0), &json!(0))
    );
    assert_eq!(
        turn["assigned"],
        json!([{ "id": "web", "revision": 1 }]),
        "{turn}"
    );
    assert_eq!(claim(json!({}), "first"), turn);

    let shown = gateway.get("/v1/deployments/web").ok();
    assert_eq!(
        (&shown["node_id"], &shown["enabled"], &shown["spec"]),
        (&json!("n1"), &json!(true), &spec)
    );
    let page = gateway.get("/v1/deployments").ok();
    assert_eq!(page["deployments"][0]["id"], "web");
    assert_eq!(page["deployments"][0]["node_id"], "n1");

    let off = json!({ "enabled": false });
    gateway.put("/v1/deployments/web", &off).ok();
    let turn = claim(json!({ "running": ["web", "stray"] }), "second");
    assert_eq!(turn["assigned"], json!([]));
    assert_eq!(turn["stop"], json!(["web", "stray"]));

    gateway
        .send("DELETE", "/v1/deployments/web", &[], None)
        .ok();
    gateway
        .get("/v1/deployments/web")
        .refused(404, "NO_SUCH_DEPLOYMENT");
}
