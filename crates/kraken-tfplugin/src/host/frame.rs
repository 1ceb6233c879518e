//! Messages on a Unix socket: their length in four bytes, then their content.

use std::io;

use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::rpc::MAX_MESSAGE;

/// The largest message: the largest body, with what belongs to it.
const MAX_FRAME: usize = MAX_MESSAGE + (1 << 20);

pub(super) async fn write<M: Message>(to: &mut (impl AsyncWrite + Unpin), message: &M) -> io::Result<()> {
    let body = message.encode_to_vec();
    let too_large = || io::Error::other("the message is too large");
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_FRAME).ok_or_else(too_large)?;
    to.write_u32(length).await?;
    to.write_all(&body).await?;
    to.flush().await
}

pub(super) async fn read<M: Message + Default>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<M> {
    let length = from.read_u32().await?;
    if usize::try_from(length).is_ok_and(|length| length > MAX_FRAME) {
        return Err(io::Error::other(format!("a message of {length} bytes is too large")));
    }
    // Not allocated before it is there.
    let mut body = vec![];
    from.take(length.into()).read_to_end(&mut body).await?;
    if body.len() as u64 != u64::from(length) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    M::decode(body.as_slice()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::messages::Ticket;

    #[tokio::test]
    async fn messages_pass_and_others_are_errors() {
        let ticket = Ticket { host: "a".to_owned(), uid: "u".to_owned(), number: 3 };
        let mut bytes = vec![];
        write(&mut bytes, &ticket).await.unwrap();
        assert_eq!(read::<Ticket>(&mut bytes.as_slice()).await.unwrap(), ticket);
        let cut = &bytes[..bytes.len() - 1];
        assert_eq!(read::<Ticket>(&mut &*cut).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let large = u32::MAX.to_be_bytes();
        assert!(read::<Ticket>(&mut large.as_slice()).await.unwrap_err().to_string().contains("too large"));
        assert!(read::<Ticket>(&mut [0, 0, 0, 1, 0xff].as_slice()).await.is_err());
    }
}
