//! Builds of one version really differ, and are the same ones whenever and wherever they are made.

use crate::support::TestProject;

const RELINK: [&str; 2] = ["--strategy", "relink"];

#[test]
fn eight_builds_are_eight_programs_with_the_same_results_and_found_again_the_next_time() {
    let project = TestProject::of("sums");
    let arguments = [&["--builds", "8"], RELINK.as_slice()].concat();
    let builds = project.build(&arguments);
    assert_eq!(builds.distinct(0), (8, 8));
    let printed = builds.printed(0);
    assert!(printed.starts_with("steps 135\ngeneric 814\ndigits 7\nwords 22\n"), "{printed}");

    let again = project.build(&arguments);
    assert_eq!(again.digests(0), builds.digests(0));
    assert!(again.nothing_was_made(0), "{}", again.outcome.told());

    let more = project.build(&[&["--builds", "9"], RELINK.as_slice()].concat());
    assert_eq!(more.digests(0)[..8], builds.digests(0));
    assert_eq!(more.version(0)["compiled"], false);
    let other = project.build(&[&["--builds", "8", "--seed", "2"], RELINK.as_slice()].concat());
    assert!(other.digests(0).iter().all(|digest| !builds.digests(0).contains(digest)));
}
