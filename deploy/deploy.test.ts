import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeOptions } from '@holdfast/server/platform/node-options';
import { Ajv } from 'ajv';
import { DockerfileParser } from 'dockerfile-ast';
import { expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const chart = 'deploy/helm/holdfast';

test('the image is made in stages on the Node we run on, runs as nobody special and asks for its database', () => {
  const dockerfile = DockerfileParser.parse(read('Dockerfile'));
  const instructions = dockerfile
    .getInstructions()
    .map((each) => [each.getKeyword(), each.getArgumentsContent() ?? '']);
  const of = (keyword: string) => instructions.filter(([each]) => each === keyword).map(([, text]) => text as string);
  const major = /"node": "(\d+)\./.exec(read('package.json'))?.[1];
  expect(of('FROM')).toHaveLength(2);
  for (const from of of('FROM')) expect(from).toMatch(new RegExp(`^node:${major}-`));
  expect(of('USER')).toEqual(['65532:65532']);
  expect(of('ENTRYPOINT')[0]).toContain('--require-database');
  expect(of('ENV').join(' ')).not.toMatch(/KEY|SECRET|PASSWORD|DATABASE_URL/);
  for (const copied of of('COPY').filter((text) => !text.startsWith('/app')))
    for (const path of copied.split(' ').slice(0, -1)) expect(existsSync(`${root}/${path}`), path).toBe(true);
});

test('npm start, the image and the unit of systemd start Node in the same way', () => {
  const option = nodeOptions.join(' ');
  expect(JSON.parse(read('package.json')).scripts.start).toContain(`node ${option} `);
  expect(read('Dockerfile')).toContain(`["node", ${nodeOptions.map((each) => `"${each}"`).join(', ')}, `);
  expect(read('deploy/systemd/holdfast@.service')).toContain(`/node ${option} `);
});

test('what the dashboard is built from is copied into the image: without the settings of its types the build fails', () => {
  const [, first = ''] = read('Dockerfile').split(/^FROM /m);
  const copied = [...first.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  const settings = 'packages/web/tsconfig.json';
  const base = join(dirname(settings), JSON.parse(read(settings)).extends);
  expect(copied).toEqual(expect.arrayContaining(['packages', 'scripts', base]));
});

test('what git leaves out no image is built from: keys and recovery kits lie among it', () => {
  const lines = (path: string) =>
    read(path)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
  const ignored = lines('.gitignore').map((line) => `**/${line.replace(/^\/|\/$/g, '')}`);
  expect(lines('.dockerignore')).toEqual(expect.arrayContaining(ignored));
});

interface Compose {
  services: Record<string, { environment?: Record<string, string>; read_only?: boolean; profiles?: string[] }>;
}

test('compose starts PostgreSQL, an api, two workers, a scheduler and a store, each of ours on a read-only root', () => {
  const document = parseDocument(read('compose.yaml'), { merge: true });
  expect(document.errors).toEqual([]);
  const { services } = document.toJS() as Compose;
  const roles = Object.values(services).flatMap(({ environment }) => environment?.HOLDFAST_ROLES ?? []);
  expect(roles.sort()).toEqual(['api', 'scheduler', 'worker', 'worker']);
  expect(Object.keys(services)).toEqual(expect.arrayContaining(['postgres', 'store', 'redis']));
  expect(services.redis?.profiles).toEqual(['redis']);
  for (const service of Object.values(services).filter(({ environment }) => environment?.HOLDFAST_ROLES)) {
    expect(service.read_only).toBe(true);
    expect(service.environment?.DATABASE_URL).toContain('@postgres:5432');
    expect(service.environment?.MASTER_KEY).toBe(`\${MASTER_KEY:?is needed}`);
    // What the example of a first installation has to be filled in, each process of it can be given.
    for (const [, name = ''] of read('docs/holdfast.env.example').matchAll(/^(\w+)=/gm))
      expect(Object.keys(service.environment ?? {}), name).toContain(name);
    expect(service.environment?.MASTER_KEYS_PREVIOUS).toBeDefined();
  }
  const command = / api (packages\/server\/\S+)/.exec(read('compose.yaml'))?.[1] ?? '';
  expect(existsSync(`${root}/${command}`), command).toBe(true);
});

test("the chart's values keep to their schema, which refuses what would go wrong", () => {
  const isValid = new Ajv().compile(JSON.parse(read(`${chart}/values.schema.json`)));
  const values = parse(read(`${chart}/values.yaml`));
  expect(isValid(values), 'without a secret').toBe(false);
  const good = { ...values, existingSecret: 'holdfast' };
  expect(isValid(good), JSON.stringify(isValid.errors)).toBe(true);
  expect(isValid({ ...good, config: { MASTER_KEY: 'in plain sight' } })).toBe(false);
  expect(isValid({ ...good, api: { replicas: 'two' } })).toBe(false);
  expect(isValid({ ...good, replicas: 3 })).toBe(false);
});

test('the chart brings the very rules that are tested', () => {
  expect(read(`${chart}/files/holdfast.rules.yaml`)).toBe(read('deploy/prometheus/holdfast.rules.yaml'));
  expect(read(`${chart}/Chart.yaml`)).toContain(`appVersion: ${JSON.parse(read('package.json')).version}`);
});

test.skipIf(!has('helm', 'version'))('the chart renders with everything on (needs helm)', () => {
  const on = [
    'serviceMonitor.enabled=true',
    'prometheusRule.enabled=true',
    'ingress.enabled=true',
    'ingress.host=a.example',
  ];
  const sets = ['existingSecret=s', ...on].flatMap((each) => ['--set', each]);
  const { status, stderr } = spawnSync('helm', ['template', 'test', chart, ...sets], { cwd: root });
  expect(status, String(stderr)).toBe(0);
});

test.skipIf(!has('systemd-analyze', '--version'))('systemd understands the unit (needs systemd-analyze)', () => {
  const { stderr } = spawnSync('systemd-analyze', ['verify', 'deploy/systemd/holdfast@.service'], { cwd: root });
  const complaints = String(stderr)
    .split('\n')
    .filter((line) => line.includes('holdfast') && !line.includes('is not executable'));
  expect(complaints).toEqual([]);
});

test('each role of the unit is told a port of its own: on one machine a second one could not listen', () => {
  const unit = read('deploy/systemd/holdfast@.service');
  const roles = [...(/enable --now (.+)/.exec(unit)?.[1] ?? '').matchAll(/holdfast@(\w+)/g)].map(([, role]) => role);
  expect(roles).toEqual(['api', 'scheduler', 'worker']);
  const ports = roles
    .slice(1)
    .map((role) => new RegExp(`PORT=(\\d+) into /etc/holdfast/${role}\\.env`).exec(unit)?.[1]);
  expect(new Set(['8787', ...ports])).toEqual(new Set(['8787', '8788', '8789']));
});
