//! The paths that are not in the contract.

use serde_json::{Map, Value, json};

use super::answered;
use crate::problem::{MetBy, OWN};

/// The paths that are not in the contract.
pub(super) fn others() -> Map<String, Value> {
    let page = |summary: &str, media_type: &str| {
        json!({
            "get": {
                "summary": summary,
                "tags": ["gateway"],
                "security": [],
                "responses": { "200": { "description": "it", "content": { media_type: {} } } },
            },
        })
    };
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let problem = |description: &str| answered(description, "application/problem+json", &problem);
    let mut batch = json!({
        "operationId": "batch",
        "summary": "Many calls in one request, pipelined, each with a result of its own.",
        "tags": ["batch"],
        "parameters": [
            { "$ref": "#/components/parameters/cell" },
            { "$ref": "#/components/parameters/request_id" },
            { "$ref": "#/components/parameters/prefer" },
            { "$ref": "#/components/parameters/idempotency_key" },
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Batch" } } },
        },
        "responses": {
            "200": answered("all were tried", "application/json", &json!({ "$ref": "#/components/schemas/BatchResults" })),
        },
    });
    for own in OWN.iter().filter(|own| own.met_by == MetBy::Requests) {
        batch["responses"][own.status.as_str()] = problem(own.summary);
    }
    batch["responses"]["400"] = problem("BAD_ARGUMENT");
    let mut ready = page(
        "Whether calls can be made now: Redis answers and has this library, or it is embedded. warning says what is wrong all the same.",
        "application/json",
    );
    ready["get"]["responses"]["503"] = problem("NOT_READY, and why");
    let mut metrics = page(
        "Measures for Prometheus; with tokens, for operators.",
        "application/openmetrics-text",
    );
    metrics["get"]["security"] = json!([{ "bearer": [] }, {}]);
    metrics["get"]["responses"]["401"] = problem("UNAUTHENTICATED");
    metrics["get"]["responses"]["403"] = problem("FORBIDDEN");
    let mut about = page(
        "What this gateway is, which cells it serves, and what the caller may do.",
        "application/json",
    );
    about["get"]["security"] = json!([{ "bearer": [] }, {}]);
    about["get"]["responses"]["401"] = problem("UNAUTHENTICATED");
    about["get"]["responses"]["403"] = problem("FORBIDDEN");
    Map::from_iter([
        ("/v1/batch".to_owned(), json!({ "post": batch })),
        ("/v1/gateway".to_owned(), about),
        (
            "/healthz".to_owned(),
            page("Whether the gateway runs.", "application/json"),
        ),
        ("/readyz".to_owned(), ready),
        ("/metrics".to_owned(), metrics),
        (
            "/openapi.json".to_owned(),
            page("This document.", "application/json"),
        ),
        ("/docs".to_owned(), page("It, for reading.", "text/html")),
        ("/".to_owned(), page("The dashboard.", "text/html")),
        (
            "/playground".to_owned(),
            page("The playground.", "text/html"),
        ),
    ])
}
