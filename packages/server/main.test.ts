// @module-tag long
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startApp } from './app.ts';
import { loadConfig } from './config.ts';
import { createLogger } from './platform/log.ts';
import { describeStartFailure } from './start-failure.ts';
import { readStartOptions, usage } from './start-options.ts';
import { ended, startBackupCluster } from './testing/backup-cluster.ts';
import { Cluster } from './testing/cluster.ts';
import { asOwner } from './testing/people.ts';
import { startTestApp, testMasterKey } from './testing/test-app.ts';
import { createTestDatabase } from './testing/test-database.ts';

/** Makes the process fail with an uncaught error when it is told to. */
const saboteur = (failure: string) =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => setTimeout(() => { ${failure} }))`)}`;

/** Collects the output of a process from now on. */
function listen(child: ChildProcess): () => string {
  let output = '';
  child.stdout?.on('data', (piece) => {
    output += String(piece);
  });
  return () => output;
}

test('an unhandled rejection is logged, and the process closes and ends with 1', async () => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-main-'));
  const environment = { NODE_OPTIONS: saboteur("Promise.reject(new Error('nobody catches this'))") };
  const cluster = new Cluster({ databaseUrl: database.url, folder, masterKey: testMasterKey, environment });
  try {
    const child = await cluster.startRole('worker');
    const output = listen(child);
    child.kill('SIGUSR2');
    expect((await once(child, 'exit'))[0]).toBe(1);
    expect(output()).toContain('the service ends to be restarted');
    expect(output()).toContain('nobody catches this');
  } finally {
    await cluster.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('an exception is logged in the same way, and another process finishes the work that is handed back', async () => {
  const environment = {
    NODE_OPTIONS: saboteur("throw new Error('nobody catches this')"),
    SHUTDOWN_GRACE_SECONDS: '1',
    LOG_LEVEL: 'info',
  };
  const bench = await startBackupCluster({ documents: 300, roles: 'api,scheduler', environment });
  try {
    bench.firestore.control.addFault({ method: 'RunQuery', latencyMs: 3000 });
    const victim = await bench.cluster.startRole('worker');
    const output = listen(victim);
    const backupId = await bench.start();
    await bench.untilBackup(backupId, ({ status, progress }) => status === 'running' && progress.phase === 'Reading');
    victim.kill('SIGUSR2');
    expect((await once(victim, 'exit'))[0]).toBe(1);
    expect(output()).toContain('the service ends to be restarted');
    expect(output()).toContain('nobody catches this');
    expect(output()).toMatch(new RegExp(`"backupId":"${backupId}".*"msg":"a job was handed back"`));
    bench.firestore.control.clearFaults();
    await bench.cluster.startRole('worker');
    const ending = { status: 'completed', documentCount: 300, error: null };
    expect(await bench.untilBackup(backupId, ended)).toMatchObject(ending);
  } finally {
    await bench.close();
  }
});

/** Starts the service as an operator does. Returns its output, and its exit code if it ended within the given time. */
async function start(
  environment: Record<string, string>,
  until?: RegExp,
  signal: NodeJS.Signals = 'SIGTERM',
  by: 'node' | 'npm' | 'terminal' = 'node',
) {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, PORT: '0', ...environment };
  const ways = {
    node: [process.execPath, [main]],
    npm: ['npm', ['start']],
    terminal: ['script', ['-qec', 'exec npm start', '/dev/null']],
  } as const;
  const [program, args] = ways[by];
  const child = spawn(program, args, { env, cwd: root });
  let [out, error] = ['', ''];
  let isAsked = false;
  child.stdout.on('data', (piece) => {
    out += String(piece);
    if (!until?.test(out) || isAsked) return;
    // As with Ctrl-C at a terminal.
    isAsked = by === 'terminal' ? child.stdin.write('\u0003') : child.kill(signal);
  });
  child.stderr.on('data', (piece) => {
    error += String(piece);
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, error };
}

describe('a start', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let folder: string;
  let usual: Record<string, string>;
  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'holdfast-start-'));
    usual = {
      DATABASE_URL: database.url,
      MASTER_KEY: testMasterKey,
      HOLDFAST_DATA: folder,
      HOLDFAST_ROLES: 'api,worker',
    };
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  test('that is told to stop during the start stops when it has started', async () => {
    const { code, out } = await start({ ...usual, LOG_FORMAT: 'text' }, /Server listening/);
    expect(code).toBe(0);
    expect(out).toContain('the service has stopped');
  });

  test('and its end are logged in lines for people, with LOG_FORMAT=text', async () => {
    // As when a terminal is closed.
    const { code, out } = await start({ ...usual, LOG_FORMAT: 'text' }, /^Sign in: \S+$/m, 'SIGHUP');
    expect(code).toBe(0);
    expect(out).toMatch(/^[\d-]+ [\d:]+ INFO {2}the service started version=\S+ roles=api address=http:\S+ data=\S+$/m);
    expect(out.match(/how memory is collected collector=tuned for moving bytes/g)).toHaveLength(1);
    expect(out).toMatch(/INFO {2}the service stops graceSeconds=20\n(.*\n)*.* INFO {2}the service has stopped\n$/);
    expect(out).not.toMatch(/^\{/m);
  });

  test('is logged for people on a terminal, and as lines of JSON into a pipe', async ({ skip }) => {
    const { out } = await start(usual, /^Sign in: \S+$/m);
    const lines = out.split('\n').filter((line) => line.startsWith('{'));
    expect(out).not.toMatch(/ INFO /);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(
      expect.arrayContaining(['the service started', 'the service has stopped']),
    );
    if (spawnSync('script', ['-qec', 'true', '/dev/null']).status !== 0) skip('there is no `script` here');
    const shown = await start(usual, /^Sign in: \S+$/m, 'SIGINT', 'terminal');
    expect(shown.out).toMatch(/^[\d-]+ [\d:]+ INFO {2}the service started version=/m);
    expect(shown.out).toMatch(/ INFO {2}the service has stopped\r?\n/);
    expect(shown.out).not.toMatch(/^\{/m);
  });

  test('by npm ends with it: ending npm leaves no service behind', async () => {
    const { code, out } = await start(usual, /^Sign in: \S+$/m, 'SIGTERM', 'npm');
    expect(code).toBe(0);
    expect(out).toContain('the service has stopped');
  });

  test('that cannot continue names the obstacle and the setting to change', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as { port: number }).port);
    const away = new URL(database.url);
    away.port = '9';
    const hangsUp = createServer((socket) => socket.on('data', () => socket.destroy())).listen(0, '127.0.0.1');
    await once(hangsUp, 'listening');
    const cut = new URL(database.url);
    cut.port = String((hangsUp.address() as { port: number }).port);
    const none = new URL(database.url);
    none.pathname = '/nowhere';
    const file = join(folder, 'file');
    await writeFile(file, '');
    const provider = {
      OIDC_ISSUER: `http://127.0.0.1:${await closedPort()}`,
      OIDC_CLIENT_ID: 'a',
      OIDC_CLIENT_SECRET: 'b',
    };
    const cases: [string, Record<string, string>, RegExp][] = [
      [
        'a database that is away',
        { DATABASE_URL: away.href },
        /^The database at 127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\): check DATABASE_URL/,
      ],
      [
        'a database that shuts down',
        { DATABASE_URL: cut.href },
        /^The database at \S+ ended the connection while the service started .*: start again when it is back\.$/,
      ],
      ['a missing database', { DATABASE_URL: none.href }, /^The database at \S+ has no database nowhere: create it/],
      [
        'a port in use',
        { PORT: port },
        /^Port \d+ on 127\.0\.0\.1 is in use by another program\. Stop it, or set PORT/,
      ],
      [
        'an address of another machine',
        { HOST: '192.0.2.1' },
        /^Port 0 on 192\.0\.2\.1 cannot be used: this machine has no such address/,
      ],
      [
        'an address that is none',
        { HOST: '300.1.1.1' },
        /^Port 0 on 300\.1\.1\.1 cannot be used: the name in HOST is not known/,
      ],
      [
        'a data folder that is a file',
        { HOLDFAST_DATA: file, MASTER_KEY: '' },
        /^The data folder \S+ cannot be used: it is no folder\. Set HOLDFAST_DATA/,
      ],
      [
        'a data folder below a file',
        { HOLDFAST_DATA: join(file, 'x'), DATABASE_URL: '' },
        /^The data folder \S+ cannot be used: a part of the path is no folder/,
      ],
      [
        'a file of places that is not there',
        { GEOIP_FILE: join(folder, 'nowhere.mmdb') },
        /^GEOIP_FILE: \S+nowhere\.mmdb cannot be used \(ENOENT\)\.$/,
      ],
      [
        'a file of places that is something else',
        { GEOIP_FILE: file },
        /^GEOIP_FILE: \S+file cannot be used \(it is no MaxMind database\)\.$/,
      ],
      [
        'an issuer that is away',
        provider,
        /^The identity provider http:\S+ cannot be used \(ECONNREFUSED\): check OIDC_ISSUER/,
      ],
    ];
    if (process.platform === 'linux')
      cases.push([
        'a data folder where nothing can be made',
        { HOLDFAST_DATA: '/proc/x', DATABASE_URL: '' },
        /^The data folder \/proc\/x cannot be used: it cannot be made or written \(ENOENT\)/,
      ]);
    for (const [what, environment, sentence] of cases)
      expect(await failureOf({ ...usual, ...environment }), what).toMatch(sentence);
    taken.close();
    hangsUp.close();
  });

  test('on a port that needs privileges says so, with two ways out', () => {
    const refused = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), {
      code: 'EACCES',
      syscall: 'listen',
    });
    expect(describeStartFailure(refused, loadConfig({ ...usual, PORT: '80' }))).toBe(
      'Port 80 on 127.0.0.1 may not be used by this user. Set PORT to one above 1023, or let a proxy listen there.',
    );
  });

  test('with a wrong password ends with 1 and one sentence, without a stack', async () => {
    const wrong = new URL(database.url);
    wrong.password = 'wrong';
    const { code, error } = await start({ ...usual, DATABASE_URL: wrong.href });
    expect([code, error]).toEqual([
      1,
      expect.stringMatching(/^The database at \S+ refused \w+: check the user and the password in DATABASE_URL\.\n$/),
    ]);
  });

  test('with another master key is refused before it changes anything, and beside the former one it locks nobody out', async () => {
    const app = await startTestApp();
    const another = { ...usual, DATABASE_URL: app.databaseUrl, MASTER_KEY: randomBytes(32).toString('base64') };
    expect(await failureOf(another)).toMatch(
      /^MASTER_KEY: what this database holds was sealed under another master key\. Start with that one/,
    );
    expect(await failureOf({ ...another, MASTER_KEYS_PREVIOUS: testMasterKey })).toBe('it started');
    await asOwner(app.databaseUrl, (owner) =>
      owner.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      ),
    );
    const ask = () => app.platform.database.system(({ client }) => client.query('select 1')).then(() => true, String);
    await expect.poll(ask).toBe(true);
    await app.close();
  });

  test('of a service that people already use continues without its provider, and says so', async () => {
    const away = {
      OIDC_ISSUER: `http://127.0.0.1:${await closedPort()}`,
      OIDC_CLIENT_ID: 'a',
      OIDC_CLIENT_SECRET: 'b',
      LOCAL_SIGN_IN: 'true',
    };
    const app = await startTestApp(away);
    await expect(app.requireProvider()).rejects.toThrow(/cannot be used/);
    await fetch(app.signInLink ?? '', { redirect: 'manual', headers: { accept: 'application/json' } });
    await app.requireProvider();
    await expect.poll(() => app.logged()).toContain('cannot be used (ECONNREFUSED)');
    await app.close();
  });
});

test('an unknown option starts nothing, and help is only shown', () => {
  expect(() => readStartOptions(['--port', '1'])).toThrow(
    "Unknown option '--port'. The option --help lists what there is.",
  );
  expect(() => readStartOptions(['--env-file'])).toThrow('argument missing. The option --help');
  expect(readStartOptions(['--help'])).toMatchObject({ help: true });
  for (const option of Object.keys(readStartOptions([])))
    expect(usage).toContain(`--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
});

test('a missing settings file is reported with its option, and Node does not read it before us', async () => {
  for (const option of [['--env-file', 'nowhere.env'], ['--env-file=nowhere.env']])
    expect(() => readStartOptions(option)).toThrow('The file nowhere.env of --env-file cannot be read (ENOENT).');
  // Without the two dashes Node would take the option for its own, and set the file's variables before they are
  // checked.
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  for (const name of ['start', 'dev', 'config']) expect(scripts[name]).toMatch(/ -- packages\/server\/main\.ts/);
});

test('certificates of a private authority in a settings file, where they have no effect, are refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-settings-'));
  const file = join(folder, 'holdfast.env');
  await writeFile(file, 'NODE_EXTRA_CA_CERTS=/etc/ssl/own.pem\n');
  try {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', undefined);
    const sentence = `NODE_EXTRA_CA_CERTS has no effect in ${file}: set it in the environment of the process`;
    expect(() => readStartOptions(['--env-file', file])).toThrow(sentence);
    vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/ssl/own.pem');
    expect(readStartOptions(['--env-file', file])).toMatchObject({ help: false });
  } finally {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  }
});

test('a settings file with a misspelt name, or a value that would be cut off, is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-settings-'));
  const file = join(folder, 'holdfast.env');
  const reading = async (text: string) => {
    await writeFile(file, text);
    return () => readStartOptions(['--env-file', file]);
  };
  try {
    const misspelt = `${file} sets STORAGE_RETRY_ATEMPTS, which is no setting. Did you mean STORAGE_RETRY_ATTEMPTS?`;
    expect(await reading('STORAGE_RETRY_ATEMPTS=3\n')).toThrow(misspelt);
    expect(await reading('STROAGE_RETYR_ATTEMPTS=3\n')).toThrow('Did you mean STORAGE_RETRY_ATTEMPTS?');
    const cut = 'The value of SMTP_URL';
    expect(await reading('# mail\nSMTP_URL=smtp://holdfast:pass#word@mail.example.com\n')).toThrow(cut);
    vi.stubEnv('LOG_LEVEL', 'warn');
    const fine =
      '# comment\nOF_ANOTHER_PROGRAM=1\nSMTP_URL="smtp://a:b#c@mail.example.com"\nLOG_LEVEL=debug # loud\nHOST=\n#HOST=x#y\n';
    expect(await reading(fine)).not.toThrow();
    expect([process.env.SMTP_URL, process.env.LOG_LEVEL]).toEqual(['smtp://a:b#c@mail.example.com', 'warn']);
  } finally {
    for (const name of ['SMTP_URL', 'OF_ANOTHER_PROGRAM', 'HOST']) delete process.env[name];
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  }
});

/** The error of a start in this process, in the words of the command. */
async function failureOf(environment: Record<string, string>): Promise<string> {
  const config = loadConfig({ PORT: '0', ...environment });
  const log = createLogger('silent');
  try {
    const app = await startApp(config, { log });
    try {
      await app.requireProvider();
    } finally {
      await app.close();
    }
    return 'it started';
  } catch (error) {
    return describeStartFailure(error, config);
  }
}

/** A port without a listener that fetch would dial. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
