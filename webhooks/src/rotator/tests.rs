use super::*;

fn made() -> (Pair, Timestamp) {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    make(&["a.b.svc".to_owned(), "127.0.0.1".to_owned()], now, Timing { lifetime: Duration::from_hours(1) })
        .unwrap()
}

fn issued() -> Stored {
    let (pair, end) = made();
    Stored::default().after(Step::Issue, Some((pair, end)), &["a.b.svc".to_owned()], end)
}

#[test]
fn stored_content_survives_a_round_trip() {
    let stored = issued().after(Step::Publish, Some(made()), &["a.b.svc".to_owned()], made().1);
    let secret = write(&Secret::default(), &stored);
    let again = read(&secret);
    assert_eq!(again.note, stored.note);
    assert_eq!(again.bundle(), stored.bundle());
    assert_eq!(again.bundle().matches("BEGIN CERTIFICATE").count(), 2);
    let pair = stored.current.unwrap();
    let read = again.current.unwrap();
    assert_eq!((&read.certificate, read.key.expose_secret()), (&pair.certificate, pair.key.expose_secret()));
    assert_eq!(
        secret.data.unwrap()["ca.crt"].0,
        stored.next.map(|next| pair.authority + &next.authority).unwrap().into_bytes()
    );
}

#[test]
fn corrupted_secret_is_issued_again() {
    for (key, text) in
        [("tls.key", ""), ("tls.crt", "nonsense"), ("authority.crt", " "), ("tls.key", "nonsense")]
    {
        let mut secret = write(&Secret::default(), &issued());
        secret.data.as_mut().unwrap().insert(key.to_owned(), ByteString(text.into()));
        assert!(read(&secret).current.is_none(), "{key} {text:?}");
    }
    let mut secret = write(&Secret::default(), &issued());
    let other = made().0;
    secret.data.as_mut().unwrap().insert("tls.key".to_owned(), ByteString(other.key.expose_secret().into()));
    assert!(read(&secret).current.is_none(), "the key of another certificate");
    assert!(read(&Secret::default()).current.is_none());
}

#[test]
fn key_is_absent_from_debug_and_display() {
    let (pair, _) = made();
    assert!(!format!("{pair:?}").contains("PRIVATE"));
}
