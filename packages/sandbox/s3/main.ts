import { parseArgs } from 'node:util';
import { startS3Sandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    region: { type: 'string', default: 'us-east-1' },
    folder: { type: 'string' },
    bucket: { type: 'string', multiple: true, default: [] },
    'access-key-id': { type: 'string', default: 'sandbox' },
    'secret-access-key': { type: 'string', default: 'sandbox-secret' },
  },
});

const sandbox = await startS3Sandbox({
  port: Number(values.port),
  host: values.host,
  region: values.region,
  buckets: values.bucket,
  credentials: [{ accessKeyId: values['access-key-id'], secretAccessKey: values['secret-access-key'] }],
  ...(values.folder !== undefined && { folder: values.folder }),
});
process.stdout.write(`S3 sandbox on ${sandbox.endpoint}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void sandbox.stop().then(() => process.exit(0)));
