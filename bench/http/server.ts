import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, startApp } from '@holdfast/server';
import fastify from 'fastify';
import { z } from 'zod';

/** Both sides of the HTTP benchmark in one process: the whole service, and an empty Fastify route that validates with Zod. */
const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
const app = await startApp(
  loadConfig({
    PORT: '0',
    HOLDFAST_DATA: folder,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    HOLDFAST_ROLES: 'api',
  }),
);
const response = await fetch(app.signInLink ?? '', { redirect: 'manual' });
const token = response.headers
  .getSetCookie()
  .find((cookie) => cookie.startsWith('holdfast_access='))
  ?.split(';')[0]
  ?.slice('holdfast_access='.length);
const me = (await (
  await fetch(`${app.address}/api/v1/auth/me`, { headers: { authorization: `Bearer ${token}` } })
).json()) as {
  data: { organizations: { id: string }[] };
};

const empty = fastify();
const query = z.object({ limit: z.coerce.number().int().min(1).max(200).default(50), cursor: z.string().optional() });
empty.get('/list', async (request) => {
  query.parse(request.query);
  return { success: true, data: [], pagination: { nextCursor: null, hasMore: false } };
});
const baseline = await empty.listen({ port: 0, host: '127.0.0.1' });

process.stdout.write(
  `${JSON.stringify({ baseline: `${baseline}/list`, service: `${app.address}/api/v1/webhooks`, token, organizationId: me.data.organizations[0]?.id })}\n`,
);
process.once('SIGTERM', async () => {
  await empty.close();
  await app.close();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
});
