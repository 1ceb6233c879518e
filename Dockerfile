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
RUN cargo build --release --locked --workspace --bins && cp "target/release/kraken-${CONTROLLER:?is the name of a folder of controllers/}" /kraken

# No shell, no package manager, not root. It includes the certificates of public CAs.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /kraken /kraken
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/kraken"]
CMD ["run"]
