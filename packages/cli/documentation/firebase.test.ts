// @module-tag long
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxS3Credential } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDocument, shellBlock } from '../../server/testing/documentation.ts';
import { openWorld, type World } from './testing/world.ts';

const page = 'docs/firebase.md';
const root = join(import.meta.dirname, '../../..');
const text = readDocument(page);

/** The rows of the table of calls: the call and the permission it needs. */
const calls = [...text.matchAll(/^\| `([\w.:]+)` \| [^|]+ \| (.+) \|$/gm)].map(([, call = '', permissions = '']) => ({
  call,
  permissions: [...permissions.matchAll(/`([\w.]+)`/g)].map(([, permission]) => permission as string),
}));

function role(title: string): string[] {
  const block = new RegExp(`title: ${title}\n[\\s\\S]*?\`\`\``).exec(text)?.[0] ?? '';
  return [...block.matchAll(/^ {2}- (\S+)$/gm)].map(([, permission]) => permission as string);
}

describe('the roles', () => {
  test('come from every call that is made, and from no other', async () => {
    const methods = await readFile(join(root, 'packages/engine/sources/firestore/protos.ts'), 'utf8');
    const made = [...methods.matchAll(/'\/google\.firestore\.(?:admin\.)?v1\.(\w+)\/(\w+)'/g)].map(
      ([, service, name]) => `${service}.${name}`,
    );
    expect(made.length).toBeGreaterThan(7);
    const folder = join(root, 'packages/engine/sources/firestore/auth');
    const files = ['accounts-client.ts', 'auth-users.ts', 'import-users.ts'];
    const accounts = (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
    const rest = [...accounts.matchAll(/accounts\.(?:get|post)\(\s*['`]([\w:]+)/g)].map(([, name]) => name as string);
    expect(rest.length).toBeGreaterThan(4);
    expect(calls.map(({ call }) => call).sort()).toEqual([...made, ...rest].sort());
  });

  test('contain what their calls need and nothing more', () => {
    const isWriting = (call: string) => /BatchWrite|batchCreate|lookup/.test(call);
    const needed = (chosen: typeof calls) => [...new Set(chosen.flatMap(({ permissions }) => permissions))].sort();
    expect(role('Holdfast backup')).toEqual(needed(calls.filter(({ call }) => !isWriting(call))));
    expect(role('Holdfast restore')).toEqual(needed(calls));
  });
});

/** The permission for each call of the protocol; calls that are missing here need none. */
const actionOf: Readonly<Record<string, string>> = {
  PutObject: 's3:PutObject',
  CreateMultipartUpload: 's3:PutObject',
  UploadPart: 's3:PutObject',
  CompleteMultipartUpload: 's3:PutObject',
  AbortMultipartUpload: 's3:AbortMultipartUpload',
  GetObject: 's3:GetObject',
  HeadObject: 's3:GetObject',
  DeleteObject: 's3:DeleteObject',
  DeleteObjects: 's3:DeleteObject',
  ListObjectsV2: 's3:ListBucket',
  ListObjects: 's3:ListBucket',
  ListObjectVersions: 's3:ListBucketVersions',
  GetBucketVersioning: 's3:GetBucketVersioning',
  GetObjectLockConfiguration: 's3:GetBucketObjectLockConfiguration',
  PutObjectRetention: 's3:PutObjectRetention',
  GetObjectRetention: 's3:GetObjectRetention',
  ListBuckets: 's3:ListAllMyBuckets',
  GetBucketLocation: 's3:GetBucketLocation',
  HeadBucket: 's3:ListBucket',
  PutBucketVersioning: 's3:PutBucketVersioning',
  CreateBucket: 's3:CreateBucket',
  DeleteBucket: 's3:DeleteBucket',
};

describe('the commands', () => {
  let world: World;
  beforeAll(async () => {
    const policy = JSON.parse(/```json\n([\s\S]*?)```/.exec(text)?.[1] ?? '') as { Statement: { Action: string[] }[] };
    const allowed = new Set(policy.Statement.flatMap(({ Action }) => Action));
    const deny = Object.keys(actionOf).filter((operation) => !allowed.has(actionOf[operation] as string));
    expect(deny).toContain('ListBuckets');
    world = await openWorld({ credentials: [{ ...sandboxS3Credential, deny }] });
  });
  afterAll(() => world.close());

  test('lead from a bucket under the policy of the page to a nightly backup and a restored document', {
    timeout: 120_000,
  }, async () => {
    const lines = ['first-backup', 'first-restore'].flatMap((name) =>
      shellBlock(page, name).text.replaceAll(/\\\n/g, ' ').trimEnd().split('\n'),
    );
    for (const line of lines) {
      if (line.startsWith('holdfast backup diff')) await world.firestore.doc('users/ada').delete();
      const endpoint = ` --endpoint ${world.s3.endpoint} --force-path-style`;
      const adapted = line
        .replace(/AWS_\w+=…/g, '')
        .replace(/ +#.*$/, '')
        .replace(/(storage add .*)$/, `$1${endpoint}`);
      const { code, out, error } = await world.shell.run(adapted, world.env);
      expect(code, `${adapted}\n${out}${error}`).toBe(line.includes('backup diff') ? 8 : 0);
    }
    expect((await world.firestore.doc('users/ada').get()).data()).toEqual({ name: 'ada Lovelace' });
  });

  test('report at once that a bucket has no object lock', async () => {
    const options = `--region eu-central-1 --endpoint ${world.s3.endpoint} --force-path-style --object-lock governance:30`;
    const added = await world.shell.run(`holdfast storage add Plain --type s3 --bucket acme ${options}`, world.env);
    expect(added.code).not.toBe(0);
    expect(added.out).toMatch(/Error +STORAGE_UNAVAILABLE: Object lock is not enabled on the bucket of s3:\/\/acme\//);
    const tested = await world.shell.run('holdfast storage test Plain', world.env);
    expect([tested.code, tested.out]).toEqual([
      6,
      expect.stringMatching(/✔ +delete[\s\S]*✘ +objectLock .*not enabled/),
    ]);
  });
});
