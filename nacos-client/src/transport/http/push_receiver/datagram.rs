//! From the bytes of a UDP packet to what they mean.

use std::io::{self, Read};

use flate2::read::GzDecoder;
use nacos_proto::{DecodeError, MAX_MESSAGE_SIZE, grpc::ServiceInfo, udp};

/// What a packet may grow to when it is decompressed: 64 KiB can hold a thousand times as much.
const MOST: usize = MAX_MESSAGE_SIZE;
/// The first bytes of everything that is compressed. Servers compress from 1 024 bytes on, but only these tell.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A packet that can be read.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A list.
    Push { packet: udp::PushPacket, info: ServiceInfo },
    /// The question for everything known.
    Dump(udp::PushPacket),
    /// Anything else.
    Unknown(udp::PushPacket),
}

/// Why a packet cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("it cannot be decompressed")]
    Gzip(#[source] io::Error),
    #[error("it is longer than {MOST} bytes when decompressed")]
    TooLong,
    #[error(transparent)]
    Json(#[from] DecodeError),
}

/// Reads one packet.
pub(super) fn read(bytes: &[u8]) -> Result<Incoming, Broken> {
    let packet = if bytes.starts_with(&GZIP) {
        udp::PushPacket::decode(&gunzip(bytes)?)?
    } else {
        udp::PushPacket::decode(bytes)?
    };
    if packet.is_push() {
        let info = packet.list()?;
        return Ok(Incoming::Push { packet, info });
    }
    if packet.kind == udp::DUMP { Ok(Incoming::Dump(packet)) } else { Ok(Incoming::Unknown(packet)) }
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, Broken> {
    let mut plain = Vec::new();
    let most = u64::try_from(MOST).unwrap_or(u64::MAX);
    let mut limited = GzDecoder::new(bytes).take(most.saturating_add(1));
    limited.read_to_end(&mut plain).map_err(Broken::Gzip)?;
    if plain.len() > MOST { Err(Broken::TooLong) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn packet(name: &str) -> Vec<u8> {
        let data = format!(r#"{{"name":"{name}","hosts":[],"lastRefTime":5}}"#);
        udp::PushPacket { kind: udp::DOM.to_owned(), data, last_ref_time: -7 }.encode()
    }

    #[test]
    fn h07_compressed_and_plain_packets_are_the_same() {
        for bytes in [packet("g@@s"), gzip(&packet("g@@s")), gzip(&packet(&format!("g@@{}", "s".repeat(5_000))))] {
            let Ok(Incoming::Push { packet, info }) = read(&bytes) else { panic!("{bytes:?}") };
            assert_eq!((packet.last_ref_time, info.last_ref_time), (-7, 5), "two clocks");
            assert!(info.key().unwrap().1.starts_with('s'));
        }
        assert!(matches!(read(br#"{"type":"dump"}"#), Ok(Incoming::Dump(_))));
        assert!(matches!(read(br#"{"type":"x"}"#), Ok(Incoming::Unknown(_))));
    }

    #[test]
    fn h07_a_bomb_is_stopped_at_the_limit() {
        // Nearly the largest that fits into a packet.
        let bomb = gzip(&vec![b' '; 60 * 1024 * 1024]);
        assert!((55_000..65_507).contains(&bomb.len()), "{}", bomb.len());
        assert!(matches!(read(&bomb), Err(Broken::TooLong)));
    }

    #[test]
    fn h07_what_is_cut_short_or_no_text_is_broken() {
        let whole = gzip(&packet("g@@s"));
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
        for broken in [&b""[..], b"\x1f\x8b", b"SIP/2.0 200 OK", b"{\"type\":\"dom\",\"data\":\"\xff\"}"] {
            assert!(read(broken).is_err(), "{broken:?}");
        }
        assert!(matches!(read(&gzip(b"\xff\xfe")), Err(Broken::Json(_))));
    }

    proptest! {
        #[test]
        fn h07_no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..100usize, bit in 0..8u8) {
            let _ = read(&bytes);
            let _ = read(&[&GZIP[..], &bytes].concat());
            // One bit of a good packet is wrong.
            let mut flipped = gzip(&packet("g@@s"));
            let length = flipped.len();
            flipped[at % length] ^= 1 << bit;
            let _ = read(&flipped);
        }
    }
}
