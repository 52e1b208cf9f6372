//! Breaking nodes.

use super::{OURS, THEIRS, choose, open, score, wait_for_score};
use crate::support::{Browser, Stage};

#[test]
fn a_killed_node_loses_its_jobs_and_gets_no_more_work() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#rush-hour");
    choose(&browser, "#speed", "2");
    wait_for_score(&browser, "Jobs placed", OURS, 60);
    choose(&browser, "#node", "general-04");
    browser.click("[data-fault=kill]");
    browser.wait_for_text("#story", "general-04 dies");
    choose(&browser, "#speed", "5");
    browser.wait_for_text("#story", "Lockless notices that general-04 is silent");
    let lost = score(&browser, "Jobs lost", OURS);
    assert!(lost > 0);
    let says = browser.until("its slots are free again", || {
        let text = browser.seen("#node-says")?;
        text.contains("Lockless: 0 run, 0 on their way, by its books 0 of 4 slots are taken")
            .then_some(text)
    });
    assert!(says.contains("pool general"), "{says}");
    browser.until("every caller knows", || {
        (score(&browser, "no caller was told", OURS) == 0).then_some(())
    });
    let given = score(&browser, "dead or cut off", OURS);
    let placed = score(&browser, "Jobs placed", OURS);
    // The old rule tells nobody. Whether it gives the node more depends on how full the node was in the moment it died.
    wait_for_score(&browser, "no caller was told", THEIRS, 1);
    wait_for_score(&browser, "Jobs placed", OURS, placed + 100);
    assert_eq!(score(&browser, "dead or cut off", OURS), given);

    browser.click("[data-fault=heal]");
    browser.wait_for_text("#story", "general-04 is back");
    browser.until("it takes work again", || {
        let text = browser.seen("#node-says")?;
        (!text.contains("Lockless: 0 run, 0 on")).then_some(())
    });
}

#[test]
fn a_node_can_be_drained_and_cut_off_and_healed() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "#rush-hour");
    choose(&browser, "#speed", "5");
    browser.click("[data-fault=drain]");
    browser.wait_for_text("#story", "drains: no new work");
    wait_for_score(&browser, "nodes that drain", THEIRS, 1);
    assert_eq!(score(&browser, "nodes that drain", OURS), 0);
    browser.click("[data-fault=stall]");
    browser.wait_for_text("#story", "is cut off");
    browser.script("document.querySelector('#nodes-table').open = true", &[]);
    browser.wait_for_text("#nodes", "cut off");
    browser.wait_for_text("#nodes", "draining");
    browser.click("[data-fault=heal]");
    browser.wait_for_text("#story", "is heard again");
    browser.wait_for_text("#story", "takes work again");
}

#[test]
fn a_node_is_chosen_by_clicking_it() {
    let stage = Stage::start(&[]);
    let browser = Browser::start();
    open(&browser, &stage, "");
    browser.click("[data-side='0'] canvas");
    let script = "const canvas = document.querySelector('[data-side=\"0\"] canvas'); const box = canvas.getBoundingClientRect(); \
         canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + 30, clientY: box.top + 40, bubbles: true })); \
         return document.querySelector('#node').value";
    assert_eq!(browser.script(script, &[]), "general-01");
    browser.wait_for_text("#node-says", "general-01: pool general");
}
