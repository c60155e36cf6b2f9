import { onTestFinished } from 'vitest';
import { type FirestoreSandbox, type FirestoreSandboxOptions, startFirestoreSandbox } from '../server.ts';
import { ManualClock } from './fixtures.ts';
import { RawClient } from './raw-client.ts';

export interface SandboxWithClient {
  readonly sandbox: FirestoreSandbox;
  readonly client: RawClient;
  readonly stop: () => Promise<void>;
}

export async function startWithClient(options: FirestoreSandboxOptions = {}): Promise<SandboxWithClient> {
  const sandbox = await startFirestoreSandbox(options);
  const client = new RawClient(sandbox.port);
  const stop = async () => {
    client.close();
    await sandbox.stop();
  };
  return { sandbox, client, stop };
}

/** For a single test, with a clock that stands still until it is moved. */
export async function startForTest(): Promise<SandboxWithClient & { readonly clock: ManualClock }> {
  const clock = new ManualClock();
  const started = await startWithClient({ clock });
  onTestFinished(started.stop);
  return { ...started, clock };
}
