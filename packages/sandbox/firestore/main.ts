import { parseArgs } from 'node:util';
import { startFirestoreSandbox } from './server.ts';

/**
 * Runs the sandbox in a process of its own: `node packages/sandbox/firestore/main.ts --port 8080 --sample 10000`.
 * Prints its two addresses, one per line, once it is ready.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'control-port': { type: 'string', default: '0' },
    'strict-databases': { type: 'boolean', default: false },
    sample: { type: 'string', default: '0' },
    project: { type: 'string', default: 'demo' },
    seed: { type: 'string', default: '1' },
  },
});
const sandbox = await startFirestoreSandbox({
  port: Number(values.port),
  host: values.host,
  controlPort: Number(values['control-port']),
  strictDatabases: values['strict-databases'],
});
if (Number(values.sample) > 0) {
  const name = { project: values.project, database: '(default)' };
  sandbox.control.loadSample(name, { documents: Number(values.sample), seed: Number(values.seed) });
}
process.stdout.write(`FIRESTORE_EMULATOR_HOST=${sandbox.address}\n`);
process.stdout.write(`FIRESTORE_SANDBOX_CONTROL=http://${sandbox.host}:${sandbox.controlPort}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void sandbox.stop().then(() => process.exit(0)));
}
