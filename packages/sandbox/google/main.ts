/** Runs the sandbox in a process of its own: `node packages/sandbox/google/main.ts --port 8090 --project shop`. */

import { parseArgs } from 'node:util';
import { serveGoogleControl } from './control-server.ts';
import { startGoogleSandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    project: { type: 'string', multiple: true, default: [] },
  },
});
const projects = values.project.map((projectId) => ({ projectId }));
const sandbox = await startGoogleSandbox({ port: Number(values.port), host: values.host, projects });
const control = await serveGoogleControl(sandbox.control, values.host);
process.stdout.write(`GOOGLE_API_ENDPOINTS=${JSON.stringify(sandbox.endpoints)}\nCONTROL=${control.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void Promise.all([sandbox.stop(), control.stop()]).then(() => process.exit(0)));
}
