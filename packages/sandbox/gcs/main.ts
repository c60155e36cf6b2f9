import { runSandbox } from '../run-sandbox.ts';
import { sandboxGcsToken, startGcsSandbox } from './server.ts';

await runSandbox(
  {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    project: { type: 'string', default: 'sandbox' },
    folder: { type: 'string' },
    bucket: { type: 'string', multiple: true, default: [] },
    token: { type: 'string', multiple: true, default: [sandboxGcsToken] },
  },
  async (values) => {
    const sandbox = await startGcsSandbox({
      port: Number(values.port),
      host: values.host,
      project: values.project,
      buckets: values.bucket,
      callers: values.token.map((token) => ({ token })),
      ...(values.folder !== undefined && { folder: values.folder }),
    });
    return { lines: [`GCS sandbox on ${sandbox.endpoint}`], stop: () => sandbox.stop() };
  },
);
