import { runSandbox } from '../run-sandbox.ts';
import { startS3Sandbox } from './server.ts';

await runSandbox(
  {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    region: { type: 'string', default: 'us-east-1' },
    folder: { type: 'string' },
    bucket: { type: 'string', multiple: true, default: [] },
    'access-key-id': { type: 'string', default: 'sandbox' },
    'secret-access-key': { type: 'string', default: 'sandbox-secret' },
  },
  async (values) => {
    const sandbox = await startS3Sandbox({
      port: Number(values.port),
      host: values.host,
      region: values.region,
      buckets: values.bucket,
      credentials: [{ accessKeyId: values['access-key-id'], secretAccessKey: values['secret-access-key'] }],
      ...(values.folder !== undefined && { folder: values.folder }),
    });
    return { lines: [`S3 sandbox on ${sandbox.endpoint}`], stop: () => sandbox.stop() };
  },
);
