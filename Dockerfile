# The daemon and the command line. Usage: docs/install/docker.md
# The base image is pinned by digest for repeatable builds. To update the digest: docs/releasing.md
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553
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
COPY src src
COPY config/profiles config/profiles
# Makes all files readable for the user of the image. Loads the whole program, including lazy dependencies and the calendar
# client, so that the build fails if a removed file is required. The image keeps the compiled code of this run.
RUN chmod -R a+rX . \
 && node bin/clinic-mirror.js --help >/dev/null \
 && NODE_COMPILE_CACHE=/app/.cache/compiled node --input-type=module --eval "\
      import { globSync } from 'node:fs'; \
      import { createRequire } from 'node:module'; \
      const programs = ['**/cli.ts']; \
      for (const file of globSync('/app/src/**/*.ts', { exclude: programs })) await import(file); \
      const load = createRequire('/app/src/cli.ts'); \
      const late = ['cli-progress', 'libphonenumber-js/max', 'pino', 'pino-pretty', 'standardwebhooks', 'temporal-polyfill']; \
      for (const name of late) load(name); \
      const client = await import('/app/src/connectors/google-calendar/client.ts'); \
      client.createCalendarClient({ asFetch: () => fetch }, Date.now, 'https://www.googleapis.com', null);" \
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
