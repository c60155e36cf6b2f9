import { runSandbox } from '../run-sandbox.ts';
import { startFirestoreSandbox } from './server.ts';

/** `node packages/sandbox/firestore/main.ts --port 8080 --sample 10000` prints its two addresses, one per line. */
await runSandbox(
  {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'control-port': { type: 'string', default: '0' },
    'strict-databases': { type: 'boolean', default: false },
    sample: { type: 'string', default: '0' },
    project: { type: 'string', default: 'demo' },
    seed: { type: 'string', default: '1' },
  },
  async (values) => {
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
    const control = `http://${sandbox.host}:${sandbox.controlPort}`;
    const lines = [`FIRESTORE_EMULATOR_HOST=${sandbox.address}`, `FIRESTORE_SANDBOX_CONTROL=${control}`];
    return { lines, stop: () => sandbox.stop() };
  },
);
