use bytes::{Bytes, BytesMut};

pub(super) fn frame(message: &[u8], compressed: u8) -> Bytes {
    let length = u32::try_from(message.len()).expect("test messages are small");
    let mut out = Vec::with_capacity(message.len() + 5);
    out.push(compressed);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    out.into()
}

pub(super) fn split_message(buffer: &mut BytesMut) -> Option<Bytes> {
    let length: [u8; 4] = buffer.get(1..5)?.try_into().ok()?;
    let end = 5 + usize::try_from(u32::from_be_bytes(length)).ok()?;
    if buffer.len() < end {
        return None;
    }
    let message = buffer.split_to(end).freeze();
    Some(message.slice(5..))
}

/// A gzip file whose content is stored, not deflated.
pub(super) fn gzip_stored(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("one stored block holds the message");
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(data);
    let crc = data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    });
    out.extend_from_slice(&(!crc).to_le_bytes());
    out.extend_from_slice(&u32::from(length).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_gzip_file_has_the_right_check_sum() {
        let file = gzip_stored(b"123456789");
        assert_eq!(file.get(file.len() - 8..file.len() - 4), Some(0xcbf4_3926_u32.to_le_bytes().as_slice()));
    }
}
