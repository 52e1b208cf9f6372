//! What must be true of rate limits, locks and reports of missing models, told from replies alone.

use std::collections::BTreeMap;

use lockless_lua_tests::{Host, Reply};

use super::{bindings::now_ms, generator::Call};
use crate::cell::{code, field, list, number, say, text, texts};

#[derive(Default)]
pub(crate) struct Guarded {
    /// When each name was allowed, and with which requests.
    allowed: BTreeMap<String, Vec<(i64, Option<String>)>>,
    /// Owner, token and end of each lock.
    locks: BTreeMap<String, (String, i64, i64)>,
    last_token: i64,
    /// Until when someone acts on a model, and who was told with which request.
    acting: BTreeMap<String, (i64, String)>,
}

/// The value after a keyword.
fn option(call: &Call, keyword: &str) -> Option<String> {
    (0..call.args.len())
        .find(|at| call.arg(*at) == keyword)
        .map(|at| call.arg(at + 1))
}

impl Guarded {
    /// To be called after a call.
    pub(crate) fn see(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply) {
        if code(reply).is_some() {
            return;
        }
        let now = now_ms(host);
        match call.function {
            "limit" => self.see_limit(call, reply, now),
            "lock" => self.see_lock(call, reply, now),
            "unlock" => self.see_unlock(call, reply, now),
            "model_unavailable" => self.see_report(host, call, reply, now),
            _ => {}
        }
    }

    /// In no span of the window more than the limit are allowed, and nobody is refused without need.
    fn see_limit(&mut self, call: &Call, reply: &Reply, now: i64) {
        let [limit, window] = [1, 2].map(|at| call.arg(at).parse::<i64>().unwrap());
        let request = option(call, "REQUEST");
        let allowed = self.allowed.entry(call.arg(0)).or_default();
        allowed.retain(|(at, _)| *at > now - window);
        let used = i64::try_from(allowed.len()).unwrap();
        let is_known = request.is_some() && allowed.iter().any(|(_, given)| *given == request);
        match number(&list(reply)[0]) {
            1 if is_known => {}
            1 => {
                assert!(used < limit, "{used} were allowed within {window} ms");
                assert_eq!(number(&list(reply)[1]), limit - used - 1);
                allowed.push((now, request));
            }
            // A request that was refused is told so again, also when there is room by now.
            _ => assert!(used >= limit || request.is_some(), "{used} of {limit}"),
        }
    }

    fn see_lock(&mut self, call: &Call, reply: &Reply, now: i64) {
        let (name, owner) = (call.arg(0), call.arg(1));
        let held = self.locks.get(&name).filter(|(_, _, until)| *until > now);
        let until = now + call.arg(2).parse::<i64>().unwrap();
        match (number(&list(reply)[0]), held) {
            (1, Some((holder, token, before))) => {
                assert_eq!((&owner, number(&list(reply)[1])), (holder, *token));
                let lock = (owner, *token, until.max(*before));
                self.locks.insert(name, lock);
            }
            (1, None) => {
                let token = number(&list(reply)[1]);
                assert!(token > self.last_token, "{token} <= {}", self.last_token);
                self.last_token = token;
                self.locks.insert(name, (owner, token, until));
            }
            (_, held) => {
                let holder = &held.expect("a lock that is refused is held").0;
                assert_ne!(*holder, owner);
                assert_eq!(text(&list(reply)[1]), *holder);
            }
        }
    }

    fn see_unlock(&mut self, call: &Call, reply: &Reply, now: i64) {
        let held = self.locks.get(&call.arg(0));
        let is_own = held.is_some_and(|(owner, _, until)| *owner == call.arg(1) && *until > now);
        assert_eq!(*reply, Reply::Int(i64::from(is_own)));
        if is_own {
            self.locks.remove(&call.arg(0));
        }
    }

    /// One is told to act in a window; whoever reports is not matched for the model.
    fn see_report(&mut self, host: &mut dyn Host, call: &Call, reply: &Reply, now: i64) {
        let (node, model) = (call.arg(0), call.arg(1));
        let who = format!("{node} {:?}", option(call, "REQUEST"));
        let acting = self.acting.get(&model).filter(|(until, _)| *until > now);
        if text(reply) == "ACT" {
            let again = acting.is_some_and(|(_, told)| *told == who) && who.contains("Some");
            assert!(acting.is_none() || again, "{acting:?} acts, and {who}");
            if acting.is_none() {
                let window = option(call, "WINDOW").unwrap().parse::<i64>().unwrap();
                self.acting.insert(model.clone(), (now + window, who));
            }
        }
        // A request that is repeated changes nothing, also when the node has the model by now.
        if option(call, "REQUEST").is_none() {
            let labels = texts(field(&say(host, &format!("node {node}")), "labels"));
            assert!(!labels.contains(&format!("model:{model}")), "{labels:?}");
        }
    }
}
