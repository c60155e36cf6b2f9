import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization } from '../../testing/team.ts';
import { startTestApp } from '../../testing/test-app.ts';
import { createLocator } from './location.ts';

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-geoip-'));
  file = join(folder, 'city.mmdb');
  await writeFile(file, cityDatabase());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('an address in the file has its city and country, others have none, and without a file no address has', () => {
  const locate = createLocator(file);
  expect(locate('203.0.113.7')).toBe('Zurich, Switzerland');
  expect(locate('::ffff:203.0.113.7')).toBe('Zurich, Switzerland');
  expect(locate('10.1.2.3')).toBeNull();
  expect(locate('2001:db8::1')).toBeNull();
  expect(locate('nonsense')).toBeNull();
  expect(locate(null)).toBeNull();
  expect(createLocator(undefined)('203.0.113.7')).toBeNull();
});

test('an unreadable file stops the start, and its name is in the error', async () => {
  await expect(startTestApp({ GEOIP_FILE: join(folder, 'missing.mmdb') })).rejects.toThrow(/GEOIP_FILE.*missing\.mmdb/);
  await writeFile(join(folder, 'broken.mmdb'), 'this is no database');
  expect(() => createLocator(join(folder, 'broken.mmdb'))).toThrow(/GEOIP_FILE/);
});

test('rows contain the location of the caller, and a forwarded address counts only from a trusted proxy', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  for (const [trust, location, ip] of [
    ['true', 'Zurich, Switzerland', '203.0.113.7'],
    ['false', null, '127.0.0.1'],
  ] as const) {
    const app = await startTestApp({ GEOIP_FILE: file, TRUST_PROXY: trust });
    try {
      const { id: organizationId, owner } = await foundOrganization(app);
      const body = { name: 'Renamed' };
      await app.request('PUT', '/api/v1/organizations/current', { token: owner.token, organizationId, body, headers });
      const log = await app.request('GET', '/api/v1/audit-logs?action=organization.updated', {
        token: owner.token,
        organizationId,
      });
      expect(log.body.data[0].context).toMatchObject({ location, ip });
    } finally {
      await app.close();
    }
  }
});

/** The smallest MaxMind database with one network, 203.0.113.0/24: a tree of 24 nodes, one record, the metadata. */
function cityDatabase(): Buffer {
  const bits = [203, 0, 113].map((octet) => octet.toString(2).padStart(8, '0')).join('');
  const nodeCount = bits.length;
  const tree = Buffer.alloc(nodeCount * 6);
  for (const [index, bit] of [...bits].entries()) {
    const next = index === nodeCount - 1 ? nodeCount + 16 : index + 1;
    tree.writeUIntBE(bit === '0' ? next : nodeCount, index * 6, 3);
    tree.writeUIntBE(bit === '1' ? next : nodeCount, index * 6 + 3, 3);
  }
  const record = { city: { names: { en: 'Zurich' } }, country: { names: { en: 'Switzerland' } } };
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1,
    database_type: 'GeoLite2-City',
    description: { en: 'test' },
    ip_version: 4,
    languages: ['en'],
    node_count: nodeCount,
    record_size: 24,
  };
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([tree, Buffer.alloc(16), encode(record), marker, encode(metadata)]);
}

function encode(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([(2 << 5) | value.length]), Buffer.from(value)]);
  if (typeof value === 'number') return Buffer.from([(6 << 5) | 2, value >> 8, value & 0xff]);
  if (Array.isArray(value)) return Buffer.concat([Buffer.from([value.length, 11 - 7]), ...value.map(encode)]);
  const entries = Object.entries(value as Record<string, unknown>);
  const parts = entries.flatMap(([key, item]) => [encode(key), encode(item)]);
  return Buffer.concat([Buffer.from([(7 << 5) | entries.length]), ...parts]);
}
