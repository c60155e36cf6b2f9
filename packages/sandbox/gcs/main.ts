import { parseArgs } from 'node:util';
import { sandboxGcsToken, startGcsSandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    project: { type: 'string', default: 'sandbox' },
    folder: { type: 'string' },
    bucket: { type: 'string', multiple: true, default: [] },
    token: { type: 'string', multiple: true, default: [sandboxGcsToken] },
  },
});

const sandbox = await startGcsSandbox({
  port: Number(values.port),
  host: values.host,
  project: values.project,
  buckets: values.bucket,
  callers: values.token.map((token) => ({ token })),
  ...(values.folder !== undefined && { folder: values.folder }),
});
process.stdout.write(`GCS sandbox on ${sandbox.endpoint}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void sandbox.stop().then(() => process.exit(0)));
