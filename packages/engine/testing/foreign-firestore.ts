/**
 * A Firestore somebody else wrote, as a process of its own: it does not share the assumptions of our sandbox. It comes as
 * an optional dependency for one platform; tests that need it are skipped elsewhere, and say so.
 */

import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { endProcess, freePort, untilListening } from './foreign-process.ts';
import { isGoogleEmulatorInstalled, startGoogleEmulator } from './google-emulator.ts';

export interface ForeignFirestore {
  /** `127.0.0.1:port`, for gRPC. */
  readonly address: string;
  stop(): Promise<void>;
}

export const isForeignFirestoreInstalled = findProgram() !== undefined;

export interface ForeignKind {
  readonly name: 'fireemu' | 'google';
  readonly title: string;
  readonly isInstalled: boolean;
  start(): Promise<ForeignFirestore>;
}

/** Those that nobody here wrote. What is not installed is skipped by tests, which say so. */
export const foreignFirestores: readonly ForeignKind[] = [
  {
    name: 'fireemu',
    title: 'a Firestore of other hands',
    isInstalled: isForeignFirestoreInstalled,
    start: startForeignFirestore,
  },
  {
    name: 'google',
    title: "Google's own emulator",
    isInstalled: isGoogleEmulatorInstalled,
    start: startGoogleEmulator,
  },
];

/** For commands that are told which. */
export function foreignNamed(name: string): ForeignKind {
  const kind = foreignFirestores.find((each) => each.name === name);
  const names = foreignFirestores.map((each) => each.name).join(' or ');
  if (kind === undefined) throw new Error(`There is no Firestore called ${name}, only ${names}.`);
  return kind;
}

function findProgram(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(
      `@fireemu/${process.platform}-${process.arch}/package.json`,
    );
    return join(dirname(manifest), 'bin', 'fireemu');
  } catch {
    return undefined;
  }
}

export async function startForeignFirestore(): Promise<ForeignFirestore> {
  const program = findProgram();
  if (program === undefined) throw new Error('The foreign Firestore is not installed on this platform.');
  makeExecutable(program);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-foreign-'));
  const port = await freePort();
  // Port 0 lets it choose for what no test asks for.
  const others = ['--ui-port', '0', '--hub-port', '0', '--logging-port', '0', '--log-verbosity', 'quiet'];
  const child = spawn(program, ['up', '--only', 'firestore', '--firestore-port', String(port), ...others], {
    cwd: folder,
    stdio: 'ignore',
  });
  const stopWithUs = () => child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  const stop = async () => {
    process.off('exit', stopWithUs);
    await endProcess(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilListening(child, port, 'The foreign Firestore');
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `127.0.0.1:${port}`, stop };
}

/** The package keeps its program without the mark of a program. */
function makeExecutable(program: string): void {
  try {
    accessSync(program, constants.X_OK);
  } catch {
    chmodSync(program, 0o755);
  }
}
