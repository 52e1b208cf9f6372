//! A history that could not show a loss is found.

use super::super::sight::blind;
use super::told;

#[test]
fn a_kill_before_anything_was_kept_shows_nothing() {
    let history = told().node("n", 9, 1).dispatched("a", "n").killed();
    assert!(blind(&history.everysec().history).is_some());
}

#[test]
fn a_kill_long_after_a_job_was_acknowledged_may_show_its_loss() {
    let made = told().node("n", 9, 1).dispatched("a", "n").after(5000);
    assert!(blind(&made.killed().everysec().history).is_none());
}

#[test]
fn what_came_after_the_last_kill_was_never_in_danger() {
    let made = told().node("n", 9, 1).killed().dispatched("a", "n");
    assert!(blind(&made.everysec().history).is_some());
}
