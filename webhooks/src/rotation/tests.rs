use super::*;

const DAY: Duration = Duration::from_hours(24);
const TIMING: Timing = Timing { lifetime: Duration::from_hours(24 * 90) };

fn at(days: u64, minutes: u64) -> Timestamp {
    let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    beginning.checked_add(DAY * u32::try_from(days).unwrap() + Duration::from_mins(minutes)).unwrap()
}

fn names() -> Vec<String> {
    vec!["kraken-hub-webhook.kraken-system.svc".into()]
}

fn pair(name: &str) -> Pair {
    Pair {
        certificate: format!("certificate {name}\n"),
        key: format!("key {name}").into(),
        authority: format!("authority {name}\n"),
    }
}

fn issued() -> Stored {
    Stored::default().after(Step::Issue, Some((pair("a"), at(90, 0))), &names(), at(0, 0))
}

fn step(stored: &Stored, now: Timestamp) -> Step {
    stored.step(&names(), now, TIMING, true)
}

#[test]
fn first_certificate_is_kept_for_two_thirds_of_its_lifetime() {
    assert_eq!(step(&Stored::default(), at(0, 0)), Step::Issue);
    assert_eq!(step(&issued(), at(59, 0)), Step::Keep);
    assert_eq!(step(&issued(), at(60, 0)), Step::Publish);
    assert_eq!(step(&issued(), at(91, 0)), Step::Issue, "the controller was stopped for a month");
}

#[test]
fn both_authorities_are_trusted_while_either_certificate_is_served() {
    let published = issued().after(Step::Publish, Some((pair("b"), at(150, 0))), &names(), at(60, 0));
    assert_eq!(published.current.as_ref().unwrap().authority, "authority a\n");
    assert_eq!(published.bundle(), "authority a\nauthority b\n");
    assert_eq!(step(&published, at(60, 4)), Step::Keep);
    assert_eq!(published.step(&names(), at(60, 6), TIMING, false), Step::Keep, "the configuration lacks it");
    assert_eq!(step(&published, at(60, 6)), Step::Serve);

    let serving = published.after(Step::Serve, None, &names(), at(60, 6));
    assert_eq!(serving.current.as_ref().unwrap().authority, "authority b\n");
    assert_eq!(serving.bundle(), "authority b\nauthority a\n");
    assert_eq!(step(&serving, at(60, 7)), Step::Keep);
    assert_eq!(step(&serving, at(60, 12)), Step::Retire);

    let retired = serving.after(Step::Retire, None, &names(), at(60, 12));
    assert_eq!(retired.bundle(), "authority b\n");
    assert_eq!(step(&retired, at(60, 13)), Step::Keep);
    assert_eq!(step(&retired, at(120, 0)), Step::Publish);
}

#[test]
fn certificate_with_other_names_is_rotated_without_interruption() {
    let other = vec!["kraken-hub-webhook.team.svc".to_owned()];
    assert_eq!(issued().step(&other, at(1, 0), TIMING, true), Step::Publish);
}

#[test]
fn clock_that_was_set_back_does_not_delay_a_rotation() {
    let published = issued().after(Step::Publish, Some((pair("b"), at(150, 0))), &names(), at(60, 0));
    assert_eq!(step(&published, at(59, 0)), Step::Serve);
}

#[test]
fn short_lifetimes_rotate_in_proportion() {
    let timing = Timing { lifetime: Duration::from_secs(12) };
    assert_eq!(timing.spread(), Duration::from_secs(1));
    assert!(timing.poll() * 4 <= timing.spread());
    assert_eq!(TIMING.spread(), MAX_SPREAD);
    assert_eq!(TIMING.poll(), MAX_POLL);
}
