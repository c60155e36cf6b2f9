import { parseArgs } from 'node:util';
import { startFirestoreSandbox } from './server.ts';

/** Runs the sandbox in a process of its own: `node packages/sandbox/firestore/main.ts --port 8080`. */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'control-port': { type: 'string', default: '0' },
    'strict-databases': { type: 'boolean', default: false },
  },
});
const sandbox = await startFirestoreSandbox({
  port: Number(values.port),
  host: values.host,
  controlPort: Number(values['control-port']),
  strictDatabases: values['strict-databases'],
});
process.stdout.write(`FIRESTORE_EMULATOR_HOST=${sandbox.address}\n`);
process.stdout.write(`FIRESTORE_SANDBOX_CONTROL=http://${sandbox.host}:${sandbox.controlPort}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void sandbox.stop().then(() => process.exit(0)));
}
