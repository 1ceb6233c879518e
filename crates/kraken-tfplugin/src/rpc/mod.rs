//! Calls of a plugin.

pub(crate) mod messages;
mod raw;
#[expect(clippy::struct_excessive_bools, reason = "as the protocol has them")]
pub mod schema;

use std::path::Path;

use http::uri::PathAndQuery;
use messages::{Empty, StdioData};
use raw::RawCodec;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// The largest message. Plugins have the same limit; that of gRPC, 4 MiB, is less than the schema of a large provider.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;

/// A version of the plugin protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Version 5.
    V5,
    /// Version 6, which adds nested attributes.
    V6,
}

/// A call of the provider service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Schema,
    ValidateProvider,
    Configure,
    ValidateResource,
    ValidateDataSource,
    Upgrade,
    Read,
    Plan,
    Apply,
    Import,
    ReadDataSource,
}

impl Method {
    pub(crate) fn path(self, protocol: Protocol) -> &'static str {
        let (v5, v6) = match self {
            Self::Schema => ("/tfplugin5.Provider/GetSchema", "/tfplugin6.Provider/GetProviderSchema"),
            Self::ValidateProvider => {
                ("/tfplugin5.Provider/PrepareProviderConfig", "/tfplugin6.Provider/ValidateProviderConfig")
            }
            Self::Configure => ("/tfplugin5.Provider/Configure", "/tfplugin6.Provider/ConfigureProvider"),
            Self::ValidateResource => (
                "/tfplugin5.Provider/ValidateResourceTypeConfig",
                "/tfplugin6.Provider/ValidateResourceConfig",
            ),
            Self::ValidateDataSource => (
                "/tfplugin5.Provider/ValidateDataSourceConfig",
                "/tfplugin6.Provider/ValidateDataResourceConfig",
            ),
            Self::Upgrade => {
                ("/tfplugin5.Provider/UpgradeResourceState", "/tfplugin6.Provider/UpgradeResourceState")
            }
            Self::Read => ("/tfplugin5.Provider/ReadResource", "/tfplugin6.Provider/ReadResource"),
            Self::Plan => {
                ("/tfplugin5.Provider/PlanResourceChange", "/tfplugin6.Provider/PlanResourceChange")
            }
            Self::Apply => {
                ("/tfplugin5.Provider/ApplyResourceChange", "/tfplugin6.Provider/ApplyResourceChange")
            }
            Self::Import => {
                ("/tfplugin5.Provider/ImportResourceState", "/tfplugin6.Provider/ImportResourceState")
            }
            Self::ReadDataSource => {
                ("/tfplugin5.Provider/ReadDataSource", "/tfplugin6.Provider/ReadDataSource")
            }
        };
        match protocol {
            Protocol::V5 => v5,
            Protocol::V6 => v6,
        }
    }
}

/// A connection to a plugin; cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    channel: Channel,
    pub(crate) protocol: Protocol,
}

impl Connection {
    /// Connects to the socket of a plugin.
    pub(crate) async fn open(socket: &Path, protocol: Protocol) -> Result<Self, tonic::transport::Error> {
        let channel = Endpoint::from_shared(format!("unix:{}", socket.display()))?.connect().await?;
        Ok(Self { channel, protocol })
    }

    fn grpc(&self) -> Grpc<Channel> {
        Grpc::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE)
    }

    /// Asks the plugin to end. The response is often lost, because the plugin ends.
    pub(crate) async fn shut_down(&self) -> Result<(), Status> {
        self.call("/plugin.GRPCController/Shutdown", vec![]).await.map(drop)
    }

    /// Reads what the plugin prints, until it ends. A plugin whose output is not read may wait for its reader. The text may contain
    /// secret values and is dropped.
    pub(crate) async fn discard_output(self) {
        let mut grpc = self.grpc();
        if grpc.ready().await.is_err() {
            return;
        }
        let path = PathAndQuery::from_static("/plugin.GRPCStdio/StreamStdio");
        let codec = ProstCodec::<Empty, StdioData>::default();
        if let Ok(response) = grpc.server_streaming(Request::new(Empty {}), path, codec).await {
            let mut stream = response.into_inner();
            while let Ok(Some(_)) = stream.message().await {}
        }
    }

    /// Calls a method with an encoded message.
    pub(crate) async fn call(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Status> {
        let path =
            PathAndQuery::try_from(path).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(grpc.unary(Request::new(body), path, RawCodec).await?.into_inner())
    }
}
