# The tag of the base moves with its security updates. docs/deploy.md says how to build over the digest that it has now.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
RUN python -m venv /opt/registerwatch
ENV PATH=/opt/registerwatch/bin:$PATH
WORKDIR /build
COPY requirements.lock ./
RUN pip install --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml README.md ./
COPY src src
COPY docs/*.md docs/
# The lock holds what builds the package, too; what only built it stays behind, and so does pip.
RUN pip install --no-deps --no-build-isolation . \
    && pip uninstall --yes editables hatchling pathspec pluggy trove-classifiers setuptools pip
# What the image has, as CycloneDX; the tool that lists it stays behind.
COPY requirements-sbom.lock ./
RUN python3 -m venv /opt/sbom \
    && /opt/sbom/bin/pip install --require-hashes --only-binary :all: -r requirements-sbom.lock \
    && mkdir -p /opt/registerwatch/share \
    && /opt/sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible \
        --output-file /opt/registerwatch/share/sbom.cdx.json /opt/registerwatch/bin/python

FROM ${BASE}
ARG VERSION=1.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Registerwatch" \
      org.opencontainers.image.description="A stored copy of EUDAMED, the EU register of medical devices: searched, read, watched" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/registerwatch /opt/registerwatch
# SQLite sorts in files while it builds indexes, more than a small /tmp in memory holds. With glibc's default, eight memory
# arenas for each core, freed memory piles up in each of them, and with a threshold that grows, freed answers stay.
ENV PATH=/opt/registerwatch/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=524288 \
    SQLITE_TMPDIR=/data \
    REGISTERWATCH_DATA_DIR=/data \
    REGISTERWATCH_LOG_FORMAT=json
RUN install -d -o 10001 -g 10001 -m 0700 /data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
# Whether the process answers, not whether it is ready: a lost database is no reason to replace every node.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/live'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["registerwatch"]
CMD ["serve", "--host", "0.0.0.0"]
