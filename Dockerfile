# syntax=docker/dockerfile:1
# A small image with nothing but the program: no shell, no package manager, not root, nothing written outside /data.
#   docker build -t recall .
FROM rust:1.95.0-trixie AS build
# What the image has already; the components of rust-toolchain.toml are for development.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /recall
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/recall/target \
    cargo build --locked --profile dist --bin recall && cp target/dist/recall /usr/local/bin/recall && mkdir /empty

FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /usr/local/bin/recall /usr/local/bin/recall
COPY --from=build --chown=nonroot:nonroot /empty /data
ENV RECALL_DATA=/data
VOLUME /data
EXPOSE 8080/tcp 3478/udp
HEALTHCHECK --interval=5s --timeout=6s --start-period=20s CMD ["recall", "health"]
ENTRYPOINT ["recall"]
