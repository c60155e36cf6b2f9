/**
 * Google's own emulator of Firestore, where it was installed with the `gcloud` command or by `firebase-tools`: the only
 * Firestore that can be tried here and was written by those who run the real one. It needs Java.
 */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { endProcess, freePort, untilListening } from './foreign-process.ts';

const jarInSdk = 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar';
const sdkFolders = ['/usr/lib/google-cloud-sdk', '/usr/share/google-cloud-sdk', join(homedir(), 'google-cloud-sdk')];
const firebaseFolder = join(homedir(), '.cache/firebase/emulators');
const mainClass = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
/** It lives for a test: what takes long to compile would not pay. */
const javaOptions = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Duser.language=en'];
/** Its first answer takes seconds, on a busy machine many. */
const firstAnswerTimeoutMs = 120_000;

const jar = findJar();
export const isGoogleEmulatorInstalled = jar !== undefined && spawnSync('java', ['-version']).status === 0;

function findJar(): string | undefined {
  const inSdk = sdkFolders.map((folder) => join(folder, jarInSdk)).find((path) => existsSync(path));
  if (inSdk !== undefined || !existsSync(firebaseFolder)) return inSdk;
  const name = readdirSync(firebaseFolder).findLast((file) => /^cloud-firestore-emulator-v.*\.jar$/.test(file));
  return name === undefined ? undefined : join(firebaseFolder, name);
}

export async function startGoogleEmulator(): Promise<{ readonly address: string; stop(): Promise<void> }> {
  if (jar === undefined) throw new Error("Google's emulator of Firestore is not installed here.");
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const command = [...javaOptions, '-cp', jar, mainClass, '--host', '127.0.0.1', '--port', String(port)];
  const child = spawn('java', command, { stdio: 'ignore' });
  const stopWithUs = () => child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  const stop = async () => {
    process.off('exit', stopWithUs);
    await endProcess(child);
  };
  try {
    await untilListening(child, port, "Google's emulator");
    const signal = AbortSignal.timeout(firstAnswerTimeoutMs);
    await fetch(`http://${address}/v1/projects/first/databases/(default)/documents/a`, { signal });
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, stop };
}

/** As `gcloud emulators firestore` and `firebase emulators:export` do. */
export async function exportByEmulator(
  address: string,
  projectId: string,
  folder: string,
  name: string,
): Promise<void> {
  const answer = await fetch(`http://${address}/emulator/v1/projects/${projectId}:export`, {
    method: 'POST',
    body: JSON.stringify({
      database: `projects/${projectId}/databases/(default)`,
      export_directory: folder,
      export_name: name,
    }),
  });
  if (!answer.ok) throw new Error(`The export ended with ${answer.status}: ${await answer.text()}`);
}
