use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
/// The largest pause that is drawn.
const LONGEST: u64 = u64::MAX;
const AT_ONCE: Verdict = Verdict::Again(Duration::ZERO);

const READING: [Method; 4] = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];
const WRITING: [Method; 5] = [Method::POST, Method::PATCH, Method::CONNECT, Method::PUT, Method::DELETE];

fn ended(method: &Method, finding: Finding) -> Ended<'_> {
    Ended { method, marked: false, finding, attempts: 1, elapsed: Duration::ZERO, body: BodyState::Kept }
}

const fn status(status: StatusCode) -> Finding {
    Finding::Answered { status, retry_after: None }
}

const fn asked(status: StatusCode, after: Duration) -> Finding {
    Finding::Answered { status, retry_after: Some(after) }
}

const FAILURES: [Finding; 5] = [
    Finding::Failed(TransportFailure::Broken),
    Finding::Failed(TransportFailure::Timeout),
    status(StatusCode::BAD_GATEWAY),
    status(StatusCode::SERVICE_UNAVAILABLE),
    status(StatusCode::GATEWAY_TIMEOUT),
];

fn is_again(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Again(_))
}

#[test]
fn methods_that_only_read_are_repeated_by_default_and_no_others() {
    let settings = RetrySettings::default();
    for finding in FAILURES {
        for method in &READING {
            assert!(is_again(next(&settings, &ended(method, finding), 0)), "{method} {finding:?}");
        }
        for method in &WRITING {
            let verdict = next(&settings, &ended(method, finding), 0);
            assert_eq!(verdict, Verdict::Stop(Stop::Method), "{method} {finding:?}");
        }
    }
}

#[test]
fn put_and_delete_are_repeated_if_told_and_everything_if_told() {
    let own: Method = "PURGE".parse().unwrap();
    for finding in FAILURES {
        let idempotent = RetrySettings::default().idempotent();
        for method in READING.iter().chain(&[Method::PUT, Method::DELETE]) {
            assert!(is_again(next(&idempotent, &ended(method, finding), 0)), "{method} {finding:?}");
        }
        for method in [&Method::POST, &Method::PATCH, &Method::CONNECT, &own] {
            assert_eq!(next(&idempotent, &ended(method, finding), 0), Verdict::Stop(Stop::Method), "{method}");
        }
        let all = RetrySettings::default().all_methods();
        for method in READING.iter().chain(&WRITING).chain([&own]) {
            assert!(is_again(next(&all, &ended(method, finding), 0)), "{method} {finding:?}");
        }
    }
}

#[test]
fn a_request_may_say_of_itself_that_it_may_be_repeated() {
    for finding in FAILURES {
        let marked = Ended { marked: true, ..ended(&Method::POST, finding) };
        assert!(is_again(next(&RetrySettings::default(), &marked, 0)), "{finding:?}");
    }
}

#[test]
fn without_a_connection_every_method_goes_elsewhere_at_once() {
    let finding = Finding::Failed(TransportFailure::Connect);
    for method in READING.iter().chain(&WRITING) {
        assert_eq!(next(&RetrySettings::default(), &ended(method, finding), LONGEST), AT_ONCE, "{method}");
        // Something above the connection may have read the body all the same.
        let gone = Ended { body: BodyState::Gone, ..ended(method, finding) };
        assert_eq!(next(&RetrySettings::default(), &gone, LONGEST), Verdict::Stop(Stop::Body), "{method}");
        let unread = Ended { body: BodyState::Unread, ..ended(method, finding) };
        assert_eq!(next(&RetrySettings::default(), &unread, LONGEST), AT_ONCE, "{method}");
    }
}

#[test]
fn unavailable_in_grpc_is_repeated_only_if_told() {
    let post = ended(&Method::POST, Finding::GrpcUnavailable);
    let get = ended(&Method::GET, Finding::GrpcUnavailable);
    for settings in [RetrySettings::default(), RetrySettings::default().all_methods()] {
        assert_eq!(next(&settings, &post, 0), Verdict::Stop(Stop::Result));
        assert_eq!(next(&settings, &get, 0), Verdict::Stop(Stop::Result));
    }
    assert!(is_again(next(&RetrySettings::default().with_grpc_unavailable(), &post, 0)));
}

#[test]
fn only_statuses_of_a_missing_server_are_repeated_by_default() {
    for code in 100..600 {
        let code = StatusCode::from_u16(code).unwrap();
        let verdict = next(&RetrySettings::default(), &ended(&Method::GET, status(code)), 0);
        assert_eq!(is_again(verdict), [502, 503, 504].contains(&code.as_u16()), "{code}");
    }
}

#[test]
fn other_statuses_are_repeated_if_told() {
    let settings = RetrySettings::default().with_status(StatusCode::INTERNAL_SERVER_ERROR);
    for code in [500, 502, 503, 504] {
        let code = StatusCode::from_u16(code).unwrap();
        assert!(is_again(next(&settings, &ended(&Method::GET, status(code)), 0)), "{code}");
        assert_eq!(next(&settings, &ended(&Method::POST, status(code)), 0), Verdict::Stop(Stop::Method), "{code}");
    }
    let limited = RetrySettings::default().with_status(StatusCode::TOO_MANY_REQUESTS);
    let told_nothing = ended(&Method::GET, status(StatusCode::TOO_MANY_REQUESTS));
    assert!(is_again(next(&limited, &told_nothing, 0)));
}

#[test]
fn too_many_requests_are_repeated_after_the_time_asked_for_if_it_ends_in_time() {
    let settings = RetrySettings::default().with_deadline(MS(3_000));
    let limited = |after| ended(&Method::GET, asked(StatusCode::TOO_MANY_REQUESTS, after));
    assert_eq!(next(&settings, &limited(MS(2_999)), LONGEST), Verdict::Again(MS(2_999)));
    assert_eq!(next(&settings, &limited(MS(3_000)), 0), Verdict::Stop(Stop::Deadline));
    let late = Ended { elapsed: MS(1_500), ..limited(MS(1_500)) };
    assert_eq!(next(&settings, &late, 0), Verdict::Stop(Stop::Deadline));
    // An instant is no reason not to draw a pause.
    assert!(matches!(next(&settings, &limited(MS(0)), LONGEST), Verdict::Again(pause) if pause > MS(24)));
    let post = ended(&Method::POST, asked(StatusCode::TOO_MANY_REQUESTS, MS(1)));
    assert_eq!(next(&settings, &post, 0), Verdict::Stop(Stop::Method));
}

#[test]
fn the_time_that_one_unavailable_instance_asks_for_does_not_keep_from_another() {
    let unavailable = ended(&Method::GET, asked(StatusCode::SERVICE_UNAVAILABLE, MS(60_000)));
    assert!(matches!(next(&RetrySettings::default(), &unavailable, LONGEST), Verdict::Again(pause) if pause < MS(25)));
}

#[test]
fn what_went_to_no_instance_is_handed_on() {
    let settings = RetrySettings::default().all_methods().with_attempts(9);
    for method in READING.iter().chain(&WRITING) {
        assert_eq!(next(&settings, &ended(method, Finding::NotSent), 0), Verdict::Stop(Stop::Result), "{method}");
    }
}

#[test]
fn a_body_that_is_gone_is_sent_once() {
    for finding in FAILURES {
        let gone = Ended { body: BodyState::Gone, ..ended(&Method::GET, finding) };
        assert_eq!(next(&RetrySettings::default(), &gone, 0), Verdict::Stop(Stop::Body), "{finding:?}");
    }
}

#[test]
fn attempts_are_counted_with_the_first() {
    let settings = RetrySettings::default().with_attempts(3);
    let after = |attempts| {
        let broken = ended(&Method::GET, Finding::Failed(TransportFailure::Broken));
        next(&settings, &Ended { attempts, ..broken }, 0)
    };
    assert_eq!([1, 2, 3, 4].map(|n| is_again(after(n))), [true, true, false, false]);
    assert_eq!(after(3), Verdict::Stop(Stop::Attempts));
    for off in [RetrySettings::off(), RetrySettings::default().with_attempts(0)] {
        let refused = ended(&Method::GET, Finding::Failed(TransportFailure::Connect));
        assert_eq!(next(&off, &refused, 0), Verdict::Stop(Stop::Attempts));
    }
}

#[test]
fn pauses_grow_with_the_attempts() {
    let settings = RetrySettings::default().with_attempts(9);
    let pause = |attempts| {
        let broken = ended(&Method::GET, Finding::Failed(TransportFailure::Broken));
        match next(&settings, &Ended { attempts, ..broken }, LONGEST) {
            Verdict::Again(pause) => pause.as_nanos().div_ceil(1_000_000),
            Verdict::Stop(stop) => panic!("{stop:?}"),
        }
    };
    assert_eq!([1, 2, 3, 4, 5, 6].map(pause), [25, 50, 100, 200, 250, 250]);
}

#[test]
fn no_attempt_begins_after_the_deadline() {
    let settings = RetrySettings::default().with_deadline(MS(100)).with_backoff(MS(20), MS(20));
    let at = |elapsed, finding| next(&settings, &Ended { elapsed, ..ended(&Method::GET, finding) }, LONGEST);
    let (broken, refused) = (FAILURES[0], Finding::Failed(TransportFailure::Connect));
    assert!(is_again(at(MS(80), broken)));
    assert_eq!(at(MS(81), broken), Verdict::Stop(Stop::Deadline));
    assert_eq!(at(MS(99), refused), AT_ONCE);
    assert_eq!(at(MS(100), refused), Verdict::Stop(Stop::Deadline));
}
