import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { type FaultProfile, sandboxGcsToken, startGcsSandbox, startS3Sandbox } from '@holdfast/sandbox';
import { blobStoreConformance } from '../conformance/blob-store.conformance.ts';
import type { Candidate } from '../conformance/candidate.ts';
import type { AttemptStore } from './attempt.ts';
import { createGcsStore } from './gcs/gcs-store.ts';
import { localAttempts } from './local/local-store.ts';
import { createMemoryStore, memoryAttempts } from './memory/memory-store.ts';
import { createS3Client } from './s3/client.ts';
import { createS3Store, type S3StoreOptions } from './s3/s3-store.ts';
import { type StoreFaults, withFaults } from './with-faults.ts';
import { withRetries } from './with-retries.ts';

const mib = 1024 * 1024;
/** Waits short enough for a test; the number of attempts is the real one. */
const retry = { delayMsMin: 1, delayMsMax: 20 };
const faultProfile: FaultProfile = {
  seed: 11,
  errorRate: 0.25,
  throttleRate: 0.3,
  delayRate: 0.15,
  delayMsMin: 1,
  delayMsMax: 10,
  lostAckRate: 0.05,
  truncateRate: 0.02,
  corruptReadRate: 0.01,
  corruptWriteRate: 0.01,
};

/** Faults between the retries and the store, switched while the store is in use. */
function switchable(store: AttemptStore): Pick<Candidate, 'store' | 'setFaults'> {
  const profile: StoreFaults = { seed: 7 };
  const rates = { errorRate: 0.25, throttleRate: 0.3, delayRate: 0.15, lostAckRate: 0.1 };
  return {
    store: withRetries(withFaults(store, profile), retry),
    setFaults: (on) =>
      void Object.assign(profile, on ? rates : { errorRate: 0, throttleRate: 0, delayRate: 0, lostAckRate: 0 }),
  };
}

blobStoreConformance('memory', { largeBytes: 5 * mib, manyObjects: 1100 }, async () => {
  const plain = switchable(memoryAttempts());
  const versioned = switchable(memoryAttempts({ keepsVersions: true }));
  const setFaults = (on: boolean) => {
    plain.setFaults(on);
    versioned.setFaults(on);
  };
  const close = async () => {};
  return { store: plain.store, versioned: versioned.store, lockable: createMemoryStore(), setFaults, close };
});

blobStoreConformance('local', { largeBytes: 5 * mib, manyObjects: 200 }, async () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-local-'));
  const local = switchable(localAttempts(root));
  return {
    ...local,
    unlockable: local.store,
    async layForeign(key, bytes) {
      mkdirSync(dirname(join(root, key)), { recursive: true });
      writeFileSync(join(root, key), bytes);
    },
    close: async () => rmSync(root, { recursive: true }),
  };
});

async function s3Candidate(kind: 's3' | 'spaces'): Promise<Candidate> {
  const region = kind === 's3' ? 'eu-central-1' : 'fra1';
  const sandbox = await startS3Sandbox({ region });
  const settings = { region, createdAtMs: Date.now(), versioning: 'Off' as const, objectLock: false };
  await sandbox.objects.saveBucket({ ...settings, name: 'plain' });
  // Versions make a duplicate visible that a plain bucket would swallow.
  await sandbox.objects.saveBucket({ ...settings, name: 'locking', versioning: 'Enabled', objectLock: true });
  const options: S3StoreOptions = {
    kind,
    region,
    bucket: 'plain',
    prefix: 'some/folder',
    endpoint: sandbox.endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: 'sandbox', secretAccessKey: 'sandbox-secret' },
    retry,
    partBytes: 5 * mib,
  };
  const store = createS3Store({ ...options, bucket: 'locking' });
  const lockable = createS3Store({ ...options, bucket: 'locking', prefix: 'locked' });
  const unlockable = createS3Store(options);
  const versioned = createS3Store({ ...options, bucket: 'locking', prefix: 'versions' });
  return {
    store,
    lockable,
    unlockable,
    versioned,
    setFaults: (on) => sandbox.faults.set(on ? faultProfile : {}),
    countObjects: (prefix) => {
      let count = 0;
      for (const [key, versions] of sandbox.objects.bucket('locking').keys.entriesFrom('some/folder/'))
        if (key.startsWith(`some/folder/${prefix}`)) count += versions.length;
      return count;
    },
    async layForeign(key, Body) {
      const { client } = createS3Client(options);
      await client.send(new PutObjectCommand({ Bucket: 'locking', Key: `some/folder/${key}`, Body }));
      client.destroy();
    },
    multiply: async (key, keys) => {
      const locking = sandbox.objects.bucket('locking');
      const { versionId: _id, sequence: _sequence, ...version } = locking.keys.get(`some/folder/${key}`)![0]!;
      for (const one of keys) await sandbox.objects.addVersion(locking, { ...version, key: `some/folder/${one}` });
    },
    async close() {
      await store.close();
      await lockable.close();
      await unlockable.close();
      await versioned.close();
      await sandbox.stop();
    },
  };
}

blobStoreConformance('s3', { largeBytes: 11 * mib, manyObjects: 1100 }, () => s3Candidate('s3'));
blobStoreConformance('spaces', { largeBytes: 11 * mib, manyObjects: 200 }, () => s3Candidate('spaces'));

blobStoreConformance('gcs', { largeBytes: 11 * mib, manyObjects: 1100 }, async () => {
  const sandbox = await startGcsSandbox({ buckets: ['plain'] });
  const plain = sandbox.objects.bucket('plain').settings;
  await sandbox.objects.saveBucket({ ...plain, name: 'locking', objectRetention: true });
  await sandbox.objects.saveBucket({ ...plain, name: 'keeping', versioning: true });
  const credentials = { type: 'access_token' as const, accessToken: async () => sandboxGcsToken };
  const options = { bucket: 'plain', prefix: 'some/folder', endpoint: sandbox.endpoint, credentials, retry };
  return {
    store: createGcsStore(options),
    lockable: createGcsStore({ ...options, bucket: 'locking' }),
    unlockable: createGcsStore({ ...options, prefix: 'free' }),
    versioned: createGcsStore({ ...options, bucket: 'keeping' }),
    setFaults: (on) => sandbox.faults.set(on ? faultProfile : {}),
    async layForeign(key, body) {
      const name = encodeURIComponent(`some/folder/${key}`);
      const url = `${sandbox.endpoint}/upload/storage/v1/b/plain/o?uploadType=media&name=${name}`;
      const headers = { authorization: `Bearer ${sandboxGcsToken}`, 'content-type': 'text/plain' };
      const answer = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) });
      if (!answer.ok) throw new Error(await answer.text());
    },
    close: () => sandbox.stop(),
  };
});
