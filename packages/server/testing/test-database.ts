import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { inject } from 'vitest';
import { connected } from './connected.ts';

/**
 * A separate database for one test file, copied from the migrated template: that of the test run, unless another is
 * named.
 */
export async function createTestDatabase(
  templateUrl = inject('templateUrl'),
): Promise<{ url: string; drop: () => Promise<void> }> {
  const template = new URL(templateUrl);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asOwner(template, (client) =>
    client.query(`create database ${name} template ${template.pathname.slice(1)} strategy file_copy`),
  );
  const url = new URL(template);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => asOwner(template, (client) => client.query(`drop database if exists ${name} with (force)`)),
  };
}

/** Connects to the maintenance database, because a template with a connection cannot be copied. */
async function asOwner(template: URL, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const url = new URL(template);
  url.pathname = '/postgres';
  await connected(url.href, work);
}
