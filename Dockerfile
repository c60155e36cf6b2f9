# The service with PostgreSQL elsewhere: DATABASE_URL is needed, and the same MASTER_KEY for every process.
#   docker build -t holdfast .
# Runs as an unprivileged user on a read-only root; only /data is written to.

FROM node:24-bookworm-slim AS install
WORKDIR /app
COPY package.json package-lock.json tsconfig.json .npmrc ./
COPY packages packages
COPY bench/package.json bench/package.json
COPY scripts scripts
# Installs without development parts, builds the dashboard, and leaves out what only building it took.
RUN npm ci --omit=dev --no-audit --no-fund && node scripts/trim-install.ts --image

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 HOLDFAST_DATA=/data LOG_FORMAT=json
WORKDIR /app
COPY --from=install /app/package.json ./package.json
COPY --from=install /app/node_modules ./node_modules
COPY --from=install /app/packages ./packages
RUN mkdir /data node_modules/.cache && chown 65532:65532 /data node_modules/.cache
USER 65532:65532
# A start can keep nothing of what it compiles, so it is compiled here, as the user whom Node keeps it for.
RUN ["node", "-e", "require('node:module').enableCompileCache('node_modules/.cache/compiled'); import('/app/packages/server/service.ts')"]
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--v8-pool-size=1", "packages/server/main.ts", "--require-database"]
