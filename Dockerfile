# One image per controller, so that each can be deployed independently:
#
#   docker build --build-arg CONTROLLER=aws-vpc -t example.com/kraken-aws-vpc:0.1.0 .
#
# Needs 8 GB of memory while the AWS SDK compiles.
FROM rust:1.95-bookworm AS build
# aws-lc, the TLS library, is written in C.
RUN apt-get update && apt-get install -y --no-install-recommends cmake clang && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ARG CONTROLLER
# Printed by `--version`: --build-arg KRAKEN_COMMIT=$(git rev-parse --short HEAD) --build-arg KRAKEN_BUILD_DATE=$(date -u +%F)
ARG KRAKEN_COMMIT
ARG KRAKEN_BUILD_DATE
# Linked statically, because the image below has no libraries (docs/decisions/0069). With --target, since the compiler's own
# plug-ins cannot be linked so.
RUN host=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --workspace --bins --target "$host" \
 && cp "target/$host/release/kraken-${CONTROLLER:?is the name of a folder of controllers/ or processes/}" /kraken

# The same software bill of materials as in the images of `cargo xtask image`. All crates were downloaded for the build.
RUN host=$(rustc -vV | sed -n 's/^host: //p') \
 && CARGO_NET_OFFLINE=true "target/$host/release/xtask" sbom "$CONTROLLER" --binary /kraken --output /sbom.cdx.json

# No shell, no package manager, no libraries, not root: the same content as `cargo xtask image`, with the certificates of public CAs.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /kraken /kraken
COPY --from=build /sbom.cdx.json /sbom.cdx.json
LABEL com.eoinfennessy.kraken-iac.sbom=/sbom.cdx.json
USER 65532:65532
EXPOSE 8080 9443
ENTRYPOINT ["/kraken"]
CMD ["run"]
