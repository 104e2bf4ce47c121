use super::*;

const SECOND: Duration = Duration::from_secs(1);
const TAKEN: Landing = Landing::Taken { interval_ms: 5_000, light: true };

fn key() -> ServiceKey {
    ServiceKey::new("g", "s")
}

fn instance(port: u16) -> Arc<Instance> {
    Arc::new(Instance::new(("h", port)).weight(2.0).metadata("k", "v"))
}

fn beat_key(port: u16) -> BeatKey {
    (key(), instance(port).key())
}

/// Notices what is due at `now` and lets one beat leave.
fn next(reactor: &mut BeatReactor, now: Instant) -> Option<Departure> {
    reactor.notice(now);
    reactor.next(now)
}

#[test]
fn fourteen_days_of_beats_keep_their_rhythm_and_the_memory() {
    let (mut reactor, start) = (BeatReactor::default(), Instant::now());
    for port in 1..=3 {
        reactor.add(&key(), instance(port), f64::from(port) / 3.0, start);
    }
    let end = start + Duration::from_secs(14 * 24 * 3600);
    let mut beats = 0_u32;
    while let Some(now) = reactor.wake_at().filter(|at| *at < end) {
        while let Some(beat) = next(&mut reactor, now) {
            assert_eq!(beat.late, None);
            beats += 1;
            // Every seventh fails, every thousandth meets a server that has forgotten the instance.
            let landing = match beats {
                n if n % 1000 == 0 => Landing::Restored,
                n if n % 7 == 0 => Landing::Failed,
                _ => TAKEN,
            };
            reactor.landed(beat.id, landing, now + Duration::from_millis(3));
        }
    }
    assert_eq!(beats, 3 * 14 * 24 * 3600 / 5 - 1, "the one of the third share falls on the end");
    assert_eq!((reactor.due.len(), reactor.entries.len(), reactor.ready.len()), (3, 3, 0));
}

#[test]
fn a_slow_answer_delays_neither_others_nor_the_next_beat() {
    let (mut reactor, start) = (BeatReactor::default(), Instant::now());
    reactor.add(&key(), instance(1), 1.0, start);
    reactor.add(&key(), instance(2), 1.0, start);
    let due = start + 5 * SECOND;
    let slow = next(&mut reactor, due).unwrap();
    let other = next(&mut reactor, due).unwrap();
    assert_eq!(next(&mut reactor, due), None);
    reactor.landed(other.id, TAKEN, due);
    assert_eq!(reactor.wake_at(), Some(due + 5 * SECOND));
    assert_eq!(
        next(&mut reactor, due + 5 * SECOND).map(|beat| beat.instance.port),
        Some(2),
        "the slow one is under way"
    );
    // It took longer than a period: the next one is due at once, and that is not late.
    let landed = due + 7 * SECOND;
    reactor.landed(slow.id, TAKEN, landed);
    let again = next(&mut reactor, landed).unwrap();
    assert_eq!((again.instance.port, again.late), (1, None));
    reactor.landed(again.id, TAKEN, landed + SECOND);
    assert_eq!(reactor.wake_at(), Some(landed + 5 * SECOND), "counted from where it left");
}

#[test]
fn h03_beats_are_full_until_the_server_takes_light_ones_and_after_every_error() {
    let (mut reactor, mut now) = (BeatReactor::default(), Instant::now());
    reactor.add(&key(), instance(1), 0.0, now);
    let old = Landing::Taken { interval_ms: 5_000, light: false };
    let script = [
        (old, Form::Full),
        (old, Form::Full),
        (TAKEN, Form::Full),
        (TAKEN, Form::Light),
        (Landing::Failed, Form::Light),
        (TAKEN, Form::Full),
        (Landing::Restored, Form::Light),
        (TAKEN, Form::Full),
        (TAKEN, Form::Light),
    ];
    for (landing, form) in script {
        let beat = next(&mut reactor, now).unwrap();
        assert_eq!(beat.form, form);
        assert_eq!((beat.instance.weight, beat.instance.metadata.len()), (2.0, 1));
        reactor.landed(beat.id, landing, now);
        now += 5 * SECOND;
    }
    // New content has to be told.
    reactor.add(&key(), Arc::new(Instance::new(("h", 1)).weight(7.0)), 0.0, now);
    let beat = next(&mut reactor, now).unwrap();
    assert_eq!((beat.form, beat.instance.weight), (Form::Full, 7.0));
    assert_eq!(reactor.len(), 1, "one schedule, not one per registration");
}

#[test]
fn h05_the_server_gives_the_interval_else_the_metadata_else_five_seconds() {
    let ms = Duration::from_millis;
    let first = |wished: Option<&str>| {
        let (mut reactor, now) = (BeatReactor::default(), Instant::now());
        let instance = Instance::new(("h", 1));
        let instance = match wished {
            Some(wished) => instance.metadata(PERIOD_METADATA, wished),
            None => instance,
        };
        reactor.add(&key(), Arc::new(instance), 1.0, now);
        reactor.wake_at().unwrap() - now
    };
    assert_eq!(first(None), ms(5_000));
    assert_eq!(first(Some("3000")), ms(3_000));
    for ill in ["", "0", "-1", "abc", "1.5", " 3000", "+3000", "३"] {
        assert_eq!(first(Some(ill)), ms(5_000), "{ill:?}");
    }
    assert_eq!(first(Some("1")), SHORTEST);
    assert_eq!(first(Some("1000000000000")), LONGEST);
    assert_eq!(first(Some("99999999999999999999999999")), LONGEST);

    let after = |interval_ms: i64| {
        let (mut reactor, now) = (BeatReactor::default(), Instant::now());
        let wished = Instance::new(("h", 1)).metadata(PERIOD_METADATA, "7000");
        reactor.add(&key(), Arc::new(wished), 0.0, now);
        let beat = next(&mut reactor, now).unwrap();
        reactor.landed(beat.id, Landing::Taken { interval_ms, light: true }, now);
        reactor.wake_at().unwrap() - now
    };
    assert_eq!((after(1_000), after(20_000)), (ms(1_000), ms(20_000)));
    assert_eq!((after(0), after(-1), after(i64::MIN)), (ms(7_000), ms(7_000), ms(7_000)));
    assert_eq!((after(1), after(1_000_000_000_000)), (SHORTEST, LONGEST));
}

#[test]
fn a_late_beat_says_who_is_to_blame() {
    let (mut reactor, start) = (BeatReactor::default(), Instant::now());
    reactor.add(&key(), instance(1), 1.0, start);
    reactor.add(&key(), instance(2), 1.0, start);
    let due = start + 5 * SECOND;
    // Within a period nobody minds.
    let beat = next(&mut reactor, due + 5 * SECOND).unwrap();
    assert_eq!(beat.late, None);
    // Noticed at its time, but there was no place: the server is slow.
    let late = reactor.next(due + 12 * SECOND).unwrap().late.unwrap();
    assert_eq!((late.delay, late.starved), (12 * SECOND, 5 * SECOND));
    reactor.landed(beat.id, TAKEN, due + 5 * SECOND);
    // The process slept: it was noticed late.
    let late = next(&mut reactor, due + 40 * SECOND).unwrap().late.unwrap();
    assert_eq!((late.delay, late.starved), (30 * SECOND, 30 * SECOND));
}

#[test]
fn a_removed_instance_never_beats_again_and_a_beat_under_way_is_known() {
    let (mut reactor, start) = (BeatReactor::default(), Instant::now());
    reactor.add(&key(), instance(1), 0.0, start);
    reactor.add(&key(), instance(2), 0.0, start);
    let flying = next(&mut reactor, start).unwrap();
    assert_eq!(reactor.remove(&beat_key(2)), None, "it waited for its place");
    assert_eq!(next(&mut reactor, start), None);
    assert_eq!(reactor.remove(&beat_key(1)), Some(flying.id));
    assert!(reactor.is_leaving(flying.id));
    assert_eq!(reactor.remove(&beat_key(1)), None);
    // Registered again before the old beat ended: a schedule of its own.
    reactor.add(&key(), instance(1), 1.0, start);
    reactor.landed(flying.id, TAKEN, start + SECOND);
    assert!(!reactor.is_leaving(flying.id));
    assert_eq!((reactor.len(), reactor.wake_at()), (1, Some(start + 5 * SECOND)));
    assert_eq!(reactor.clear().len(), 1);
    assert_eq!(reactor.wake_at(), None);
}

#[test]
fn first_beats_are_spread_and_clusters_are_told_apart() {
    let (mut reactor, start) = (BeatReactor::default(), Instant::now());
    for cluster in ["a", "b", "c", "d"] {
        let share = f64::from(u32::try_from(reactor.len()).unwrap()) / 4.0;
        reactor.add(&key(), Arc::new(Instance::new(("h", 1)).cluster(cluster)), share, start);
    }
    let mut departures = Vec::new();
    while let Some(now) = reactor.wake_at() {
        let beat = next(&mut reactor, now).unwrap();
        departures.push((beat.instance.cluster.clone(), now - start));
    }
    let at = |ms| Duration::from_millis(ms);
    assert_eq!(
        departures,
        [("a".to_owned(), at(0)), ("b".to_owned(), at(1250)), ("c".to_owned(), at(2500)), ("d".to_owned(), at(3750))]
    );
}
