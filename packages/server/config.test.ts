import { expect, test } from 'vitest';
import { ConfigurationError, describeConfig, loadConfig, remarksOn } from './config.ts';

test('all faults are reported at once', () => {
  const broken = {
    PORT: 'many',
    MASTER_KEY: 'short',
    JWT_ALGORITHM: 'HS256',
    HOLDFAST_ROLES: 'api,king',
    OIDC_ISSUER: 'http://example.com',
  };
  try {
    loadConfig(broken);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    const { faults } = error as ConfigurationError;
    for (const name of ['PORT', 'MASTER_KEY', 'JWT_SECRET', 'HOLDFAST_ROLES', 'OIDC_CLIENT_ID', 'OIDC_ISSUER']) {
      expect(
        faults.some((fault) => fault.startsWith(`${name}:`)),
        name,
      ).toBe(true);
    }
  }
});

test('safe defaults for loopback with an own database are not the defaults elsewhere', () => {
  expect(loadConfig({})).toMatchObject({
    ALLOW_EMULATOR_SOURCES: true,
    ALLOW_LOCAL_STORAGE: true,
    HOST: '127.0.0.1',
    PORT: 8787,
  });
  expect(loadConfig({ HOST: '0.0.0.0' })).toMatchObject({ ALLOW_EMULATOR_SOURCES: false, ALLOW_LOCAL_STORAGE: false });
  expect(loadConfig({ DATABASE_URL: 'postgres://a:b@c/d' })).toMatchObject({
    ALLOW_EMULATOR_SOURCES: false,
    ALLOW_LOCAL_STORAGE: false,
  });
});

test('every setting is described, and no secret is printed', () => {
  const secrets = {
    JWT_SECRET: 'x'.repeat(40),
    MASTER_KEY: Buffer.alloc(32, 3).toString('base64'),
    DATABASE_URL: 'postgres://user:hunter2@host/db',
    SMTP_URL: 'smtp://u:hunter3@host',
  };
  const text = describeConfig(loadConfig(secrets));
  for (const secret of ['hunter2', 'hunter3', 'xxxx', secrets.MASTER_KEY]) expect(text).not.toContain(secret);
  for (const block of text.split('\n\n')) expect(block).toMatch(/^# .{10,}\n[A-Z_]+=/);
});

test('a missing master key beside a database of several processes causes a remark', () => {
  const [remark] = remarksOn(
    loadConfig({ DATABASE_URL: 'postgres://a:b@c/d', MASTER_KEY: '', HOLDFAST_DATA: '/data' }),
  );
  expect(remark).toMatch(/^MASTER_KEY: is empty, so a key is made in \/data\. .*`openssl rand -base64 32`/);
  const key = Buffer.alloc(32, 3).toString('base64');
  expect(remarksOn(loadConfig({ DATABASE_URL: 'postgres://a:b@c/d', MASTER_KEY: key }))).toEqual([]);
  expect(remarksOn(loadConfig({}))).toEqual([]);
});

test('an issuer follows from a client id, and proxies can be given in three ways', () => {
  expect(loadConfig({ OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' }).OIDC_ISSUER).toBe('https://accounts.google.com');
  expect(
    [
      loadConfig({ TRUST_PROXY: 'true' }),
      loadConfig({ TRUST_PROXY: '2' }),
      loadConfig({ TRUST_PROXY: '10.0.0.1, 10.0.0.2' }),
    ].map((config) => config.TRUST_PROXY),
  ).toEqual([true, 2, ['10.0.0.1', '10.0.0.2']]);
});

/** Any value is valid: an account at the provider, a name to show, a folder that is made or refused at the start. */
const free = ['HOLDFAST_DATA', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OTEL_SERVICE_NAME', 'GEOIP_FILE'];

const number = 'must be a number';
const yesOrNo = 'must be one of true, 1, yes, on, false, 0, no, off';
const web = 'must be an address that begins with http:// or https://';
const postgres = 'must be an address that begins with postgres:// or postgresql://';
const proxies = 'must be true, false, a number of hops, or addresses and subnets of proxies, comma-separated';
const badValues: [name: string, value: string, fault: string][] = [
  ['PORT', '65536', 'must be at most 65535'],
  ['PORT', 'http', number],
  ['HOST', 'http://example.com', 'must be a name or an address, without http:// and port'],
  ['BASE_URL', 'ftp://example.com', web],
  ['BASE_URL', 'backups.example.com', web],
  ['HOLDFAST_ROLES', 'api,king', 'must be one of api, worker, scheduler'],
  ['HOLDFAST_ROLES', ',', 'must not be empty'],
  ['DATABASE_URL', 'mysql://example.com/holdfast', postgres],
  ['DATABASE_APP_URL', 'example.com', postgres],
  ['DATABASE_POOL_SIZE', '1', 'must be at least 2'],
  ['REDIS_URL', 'http://example.com', 'must be an address that begins with redis:// or rediss://'],
  ['MASTER_KEY', 'c2hvcnQ=', 'must be 32 bytes in base64'],
  ['MASTER_KEYS_PREVIOUS', 'c2hvcnQ=', 'must be 32 bytes in base64'],
  ['OIDC_ISSUER', 'accounts.example.com', web],
  ['ALLOWED_REDIRECT_URIS', 'https://a.test/,/back', '"/back" is not a whole address'],
  ['LOCAL_SIGN_IN', 'maybe', yesOrNo],
  ['SIGN_UP_POLICY', 'closed', 'must be one of invited, open'],
  ['SIGN_UP_DOMAINS', 'ada@acme.test', '"ada@acme.test" is not a domain such as example.com'],
  ['ORGANIZATIONS_PER_USER_MAX', '0', 'must be at least 1'],
  ['WEBHOOKS_PER_ORGANIZATION_MAX', '1.5', 'must be a whole number'],
  ['PROJECTS_PER_ORGANIZATION_MAX', '2.5', 'must be a whole number'],
  ['STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX', '0', 'must be at least 1'],
  ['SCHEDULES_PER_ORGANIZATION_MAX', '-1', 'must be at least 1'],
  ['PLAN_CHANGES', 'nobody', 'must be one of self, operator'],
  ['JWT_ALGORITHM', 'none', 'must be one of RS256, HS256'],
  ['JWT_SECRET', 'short', 'must have at least 32 characters'],
  ['ACCESS_TOKEN_TTL', '1h', number],
  ['REFRESH_TOKEN_TTL', '7d', number],
  ['SMTP_URL', 'http://mail.example.com', 'must be an address that begins with smtp:// or smtps://'],
  ['SMTP_URL', 'smtp://', 'must be an address that begins with smtp:// or smtps://'],
  ['MAIL_FROM', 'Holdfast', 'must be an e-mail address, such as Holdfast <backups@example.com>'],
  ['DEFAULT_PLAN', 'free', 'must be one of starter, professional, enterprise'],
  ['AUDIT_RETENTION_DAYS', '0', 'must be at least 1'],
  ['ALLOW_EMULATOR_SOURCES', 'maybe', yesOrNo],
  ['ALLOW_LOCAL_STORAGE', 'maybe', yesOrNo],
  ['GOOGLE_API_ENDPOINTS', 'firestore', 'must be JSON'],
  ['GOOGLE_API_ENDPOINTS', '[]', 'must be an object'],
  ['GOOGLE_API_ENDPOINTS', '{"gmail": "http://a.test"}', 'has no place for gmail'],
  ['GOOGLE_API_ENDPOINTS', '{"firestore": "127.0.0.1:8080"}', web],
  ['OUTBOUND_ALLOWED_SUBNETS', 'foo', '"foo" is not a subnet such as 10.0.0.0/8'],
  ['OUTBOUND_ALLOWED_SUBNETS', '10.0.0.0/8,10.0.0.0/33', '"10.0.0.0/33" is not a subnet such as 10.0.0.0/8'],
  ['RATE_LIMIT_PER_MINUTE', '0', 'must be at least 1'],
  ['AUTH_RATE_LIMIT_PER_MINUTE', '-1', 'must be at least 1'],
  ['REFUSED_RATE_LIMIT_PER_MINUTE', 'none', number],
  ['TRUST_PROXY', 'maybe', proxies],
  ['TRUST_PROXY', '10.0.0.1,proxy.example.com', proxies],
  ['LOG_LEVEL', 'loud', 'must be one of fatal, error, warn, info, debug, trace, silent'],
  ['LOG_FORMAT', 'xml', 'must be one of json, text'],
  ['METRICS_TOKEN', 'short', 'must have at least 8 characters'],
  ['METRICS_TOKEN', 'two words', 'must be letters, digits and signs of ASCII without spaces, as a header carries them'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318', web],
  [
    'OTEL_EXPORTER_OTLP_HEADERS',
    'x-team',
    'must be name=value, comma-separated, with other characters percent-encoded',
  ],
  ['SHUTDOWN_GRACE_SECONDS', '601', 'must be at most 600'],
  ['WORKER_CONCURRENCY', '0', 'must be at least 1'],
  ['RESTORE_RANGE_DOCUMENTS', '0', 'must be at least 1'],
  ['ANOMALY_SHRINK_PERCENT', '101', 'must be at most 100'],
  ['PITR_SEGMENT_SECONDS', '0', 'must be at least 0.05'],
  ['PITR_READS_PER_HOUR', '999', 'must be at least 1000'],
  ['JOB_ATTEMPTS', '0', 'must be at least 1'],
  ['SOURCE_RETRY_ATTEMPTS', '101', 'must be at most 100'],
  ['STORAGE_RETRY_ATTEMPTS', 'many', number],
];

test.each(badValues)('%s=%s is refused with a sentence that names the setting', (name, value, fault) => {
  const beside: Record<string, Record<string, string>> = {
    DATABASE_APP_URL: { DATABASE_URL: 'postgres://a:b@c/d' },
    OIDC_ISSUER: { OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' },
  };
  try {
    loadConfig({ ...beside[name], [name]: value });
    expect.unreachable();
  } catch (error) {
    expect((error as ConfigurationError).faults).toEqual([`${name}: ${fault}`]);
  }
});

test('every setting that can be wrong is in the table of wrong values', () => {
  const names = [...describeConfig(loadConfig({})).matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!);
  expect(new Set([...badValues.map(([name]) => name), ...free])).toEqual(new Set(names));
});

test.each([
  ['TRUST_PROXY', 'loopback, 10.0.0.0/8, ::1'],
  ['OUTBOUND_ALLOWED_SUBNETS', '10.0.0.0/8, fd00::/8'],
  ['DATABASE_URL', 'postgresql:///holdfast?host=/var/run/postgresql'],
  ['DATABASE_URL', 'postgres://holdfast:p%40ss@127.0.0.1:5432/holdfast?sslmode=require'],
  ['REDIS_URL', 'rediss://:secret@127.0.0.1:6379/1'],
  ['SMTP_URL', 'smtps://user:secret@mail.example.com:465'],
  ['MAIL_FROM', 'backups@example.com'],
  ['MAIL_FROM', '"Back, up" <backups@example.com>'],
  ['SIGN_UP_DOMAINS', '@acme.test, münchen.example'],
  ['HOST', '::'],
  ['ALLOWED_REDIRECT_URIS', 'https://app.example.com/back, com.example.app:/back'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20abc, x-team=a'],
  ['GOOGLE_API_ENDPOINTS', '{"firestore": "http://127.0.0.1:8080"}'],
])('%s=%s is good', (name, value) => {
  expect(() => loadConfig({ [name]: value })).not.toThrow();
});
