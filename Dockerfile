# One image per controller, so that each is deployed on its own:
#
#   docker build --build-arg CONTROLLER=aws-vpc -t example.com/kraken-aws-vpc:0.1.0 .
#
# Needs 8 GB of memory while the AWS SDK compiles.
FROM rust:1.95-bookworm AS build
# aws-lc, the TLS of everything here, is C.
RUN apt-get update && apt-get install -y --no-install-recommends cmake clang && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ARG CONTROLLER
# What `--version` tells: --build-arg KRAKEN_COMMIT=$(git rev-parse --short HEAD) --build-arg KRAKEN_BUILD_DATE=$(date -u +%F)
ARG KRAKEN_COMMIT
ARG KRAKEN_BUILD_DATE
# Linked statically, because the image below has no libraries (docs/decisions/0069). With --target, since the compiler's own
# plug-ins cannot be linked so.
RUN host=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --workspace --bins --target "$host" \
 && cp "target/$host/release/kraken-${CONTROLLER:?is the name of a folder of controllers/}" /kraken

# The same as `cargo xtask image`: the controller, the certificates of public authorities, and nothing else.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /kraken /kraken
USER 65532:65532
EXPOSE 8080 9443
ENTRYPOINT ["/kraken"]
CMD ["run"]
