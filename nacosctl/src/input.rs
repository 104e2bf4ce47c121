use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file, or of the standard input if it is `-`, without a byte order mark.
///
/// # Errors
///
/// If it cannot be read, is no UTF-8, or has more than `limit` bytes; no more than that is kept in memory.
pub(crate) fn text(file: &Path, limit: u64) -> io::Result<String> {
    if file == Path::new("-") { up_to(limit, io::stdin().lock()) } else { up_to(limit, File::open(file)?) }
}

fn up_to(limit: u64, source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no UTF-8: {}", error.utf8_error()))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_up_to_its_limit_and_without_a_mark() {
        assert_eq!(up_to(8, "\u{feff}hello".as_bytes()).unwrap(), "hello");
        assert_eq!(up_to(5, &b"hello"[..]).unwrap(), "hello");
        assert_eq!(up_to(4, &b"hello"[..]).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(up_to(4, io::repeat(b'x')).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(up_to(4, &[0xff][..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
