# The daemon and the command line. Usage: docs/install/docker.md
# The base image is pinned by digest for repeatable builds. To update the digest: docs/releasing.md
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553
FROM $NODE_IMAGE AS bundle
WORKDIR /app
COPY package.json package-lock.json ./
# Includes the bundler and its binary for this CPU: a development dependency with optional dependencies.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
COPY tools/bundle.ts tools/bundle.ts
# The bundle replaces the TypeScript. The program also reads the other files of src: scripts of Redis, and assets of the pages.
RUN node tools/bundle.ts dist \
 && find src -name '*.ts' -delete \
 && find src -type d -empty -delete

FROM $NODE_IMAGE AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Omits the pinned Node (an optional dependency), because the base image contains Node. No package requires an install script.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
# Removes unused files: googleapis contains all Google APIs (240 MB), and clinic-mirror uses only the Calendar API.
RUN cd node_modules/googleapis/build/src \
 && find apis -mindepth 1 -maxdepth 1 ! -name calendar -exec rm -r {} + \
 && rm googleapis.js index.js \
 && find /app/node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete
COPY bin bin
COPY config/profiles config/profiles
COPY --from=bundle /app/src src
COPY --from=bundle /app/dist dist
# Makes all files readable for the user of the image. Loads the whole program, including lazy dependencies and the calendar
# client, so that the build fails if a removed file is required. The image keeps the compiled code of this run.
RUN chmod -R a+rX . \
 && node bin/clinic-mirror.js --help >/dev/null \
 && NODE_COMPILE_CACHE=/app/.cache/compiled node --input-type=module --eval "\
      import { globSync } from 'node:fs'; \
      import { createRequire } from 'node:module'; \
      const programs = ['**/cli.js']; \
      for (const file of globSync('/app/dist/*.js', { exclude: programs })) await import(file); \
      const load = createRequire('/app/dist/cli.js'); \
      const late = ['cli-progress', 'libphonenumber-js/max', 'pino', 'pino-pretty', 'standardwebhooks', 'temporal-polyfill']; \
      for (const name of late) load(name); \
      load('googleapis/build/src/apis/calendar/index.js').calendar('v3');" \
 && chmod -R a+rX .cache

FROM $NODE_IMAGE
ARG NODE_IMAGE
LABEL org.opencontainers.image.base.name=$NODE_IMAGE
WORKDIR /app
ENV NODE_ENV=production \
    CLINIC_MIRROR_CONFIG=/app/config
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/package.json package.json
COPY --from=build /app/config config
COPY --from=build /app/bin bin
COPY --from=build /app/src src
COPY --from=build /app/dist dist
# Compiled code of the run above: halves the start time of a command.
COPY --from=build /app/.cache .cache
RUN ln -s /app/bin/clinic-mirror.js /usr/local/bin/clinic-mirror \
 && mkdir /data && chown 1000:1000 /data
# User "node" of the base image. As a number, so that an orchestrator can verify a user other than root. Root owns /app.
USER 1000:1000
EXPOSE 8080 8090
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["node", "/app/bin/healthcheck.js"]
# A core file would contain secrets and patient data. Kubernetes has no setting for the limit.
ENTRYPOINT ["sh", "-c", "ulimit -c 0 && exec \"$@\"", "sh"]
CMD ["clinic-mirror", "run"]
