import { expect, test } from 'vitest';
import { ConfigurationError, describeConfig, loadConfig } from './config.ts';

test('all faults are told at once', () => {
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

test('what is safe on loopback with an own database is not the default elsewhere', () => {
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

test('an issuer follows from a client id, and proxies can be told in three ways', () => {
  expect(loadConfig({ OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' }).OIDC_ISSUER).toBe('https://accounts.google.com');
  expect(
    [
      loadConfig({ TRUST_PROXY: 'true' }),
      loadConfig({ TRUST_PROXY: '2' }),
      loadConfig({ TRUST_PROXY: '10.0.0.1, 10.0.0.2' }),
    ].map((config) => config.TRUST_PROXY),
  ).toEqual([true, 2, ['10.0.0.1', '10.0.0.2']]);
});
