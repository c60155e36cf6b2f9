/**
 * An S3 that somebody else wrote: the gateway of Ceph, with a cluster of one of each of its parts that keeps everything in
 * memory. Where its programs are not installed, tests that need it are skipped, and say so.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endProcess, freePort, untilListening } from './foreign-process.ts';

const programs = ['ceph-mon', 'ceph-mgr', 'ceph-osd', 'ceph', 'monmaptool', 'ceph-authtool', 'radosgw'];
const commandTimeoutMs = 30_000;
const attemptsMax = 40;
const run = promisify(execFile);

export interface ForeignS3 {
  readonly endpoint: string;
  readonly credentials: Credentials;
  /** Somebody who may do nothing until a bucket's policy says so. */
  addUser(name: string): Promise<Credentials>;
  stop(): Promise<void>;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const isForeignS3Installed = programs.every((name) => {
  try {
    accessSync(join('/usr/bin', name));
    return true;
  } catch {
    return false;
  }
});

export async function startForeignS3(): Promise<ForeignS3> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-ceph-'));
  const config = join(folder, 'ceph.conf');
  const [monitorPort, gatewayPort] = [await freePort(), await freePort()];
  const fsid = randomUUID();
  await writeFile(config, configOf({ folder, fsid, monitorPort, gatewayPort }));
  for (const name of ['mon', 'osd', 'mgr', 'rgw', 'run']) await mkdir(join(folder, name));
  const children: ChildProcess[] = [];
  const stopWithUs = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', stopWithUs);
  const stop = async () => {
    process.off('exit', stopWithUs);
    for (const child of children) child.kill('SIGKILL');
    for (const child of children) await endProcess(child);
    await rm(folder, { recursive: true, force: true });
  };
  const start = (program: string, ...options: string[]): ChildProcess => {
    const child = spawn(program, ['-f', '-c', config, ...options], { stdio: 'ignore' });
    children.push(child);
    return child;
  };
  const command = (program: string, ...options: string[]) =>
    run(program, ['-c', config, ...options], { timeout: commandTimeoutMs });
  try {
    const map = join(folder, 'monmap');
    const keyring = join(folder, 'keyring');
    await run('ceph-authtool', ['--create-keyring', keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *']);
    await run('monmaptool', ['--create', '--addv', 'a', `[v1:127.0.0.1:${monitorPort}]`, '--fsid', fsid, map]);
    await command('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring);
    await untilListening(start('ceph-mon', '-i', 'a'), monitorPort, 'The monitor');
    start('ceph-mgr', '-i', 'x');
    const disk = randomUUID();
    // The monitor listens some time before it takes orders.
    await untilDone(() => command('ceph', 'osd', 'new', disk));
    await command('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', disk);
    start('ceph-osd', '-i', '0');
    // A gateway that finds no disk waits for one, and longer than any test.
    await untilDone(async () => {
      const { stdout } = await command('ceph', 'osd', 'stat');
      if (!stdout.includes('1 up')) throw new Error('The disk is not there yet.');
    });
    await untilListening(start('radosgw', '-n', 'client.rgw.a'), gatewayPort, 'The gateway');
    const addUser = async (name: string): Promise<Credentials> => {
      const credentials = { accessKeyId: name, secretAccessKey: `${name}-secret` };
      const keys = ['--access-key', credentials.accessKeyId, '--secret', credentials.secretAccessKey];
      await untilDone(() => command('radosgw-admin', 'user', 'create', '--uid', name, '--display-name', name, ...keys));
      return credentials;
    };
    const credentials = await addUser('foreign');
    return { endpoint: `http://127.0.0.1:${gatewayPort}`, credentials, addUser, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The parts find each other in some seconds. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === attemptsMax) throw error;
      await sleep(500);
    }
  }
}

interface Cluster {
  readonly folder: string;
  readonly fsid: string;
  readonly monitorPort: number;
  readonly gatewayPort: number;
}

function configOf({ folder, fsid, monitorPort, gatewayPort }: Cluster): string {
  const settings = {
    fsid,
    'mon host': `v1:127.0.0.1:${monitorPort}/0`,
    'public addr': '127.0.0.1',
    'auth cluster required': 'none',
    'auth service required': 'none',
    'auth client required': 'none',
    'osd pool default size': 1,
    'osd pool default min size': 1,
    'osd pool default pg num': 4,
    'osd crush chooseleaf type': 0,
    'mon allow pool size one': true,
    'mon data avail crit': 1,
    'osd objectstore': 'memstore',
    'memstore device bytes': 2 ** 31,
    'run dir': join(folder, 'run'),
    'admin socket': join(folder, 'run', '$name.asok'),
    'log file': '/dev/null',
    'mon cluster log file': '/dev/null',
    'mon data': join(folder, 'mon'),
    'osd data': join(folder, 'osd'),
    'mgr data': join(folder, 'mgr'),
    keyring: join(folder, 'keyring'),
    'rgw frontends': `beast endpoint=127.0.0.1:${gatewayPort}`,
    'rgw data': join(folder, 'rgw'),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return ['[global]', ...lines, ''].join('\n');
}
