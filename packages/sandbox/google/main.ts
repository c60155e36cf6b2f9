import { runSandbox } from '../run-sandbox.ts';
import { serveGoogleControl } from './control-server.ts';
import { startGoogleSandbox } from './server.ts';

/** `node packages/sandbox/google/main.ts --port 8090 --project shop` */
await runSandbox(
  {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    project: { type: 'string', multiple: true, default: [] },
  },
  async (values) => {
    const projects = values.project.map((projectId) => ({ projectId }));
    const sandbox = await startGoogleSandbox({ port: Number(values.port), host: values.host, projects });
    const control = await serveGoogleControl(sandbox.control, values.host);
    const lines = [`GOOGLE_API_ENDPOINTS=${JSON.stringify(sandbox.endpoints)}`, `CONTROL=${control.url}`];
    return { lines, stop: () => Promise.all([sandbox.stop(), control.stop()]) };
  },
);
