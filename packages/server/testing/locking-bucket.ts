import { startGcsSandbox, startGoogleSandbox } from '@holdfast/sandbox';

/** A Google bucket that locks new objects. */
export async function startLockingBucket() {
  const google = await startGoogleSandbox();
  const gcs = await startGcsSandbox({ isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined });
  const nowMs = Date.now();
  const made = { createdAtMs: nowMs, updatedAtMs: nowMs, metageneration: 1, objectRetention: true };
  await gcs.objects.saveBucket({ ...made, name: 'locking', project: 'sandbox', location: 'US' });
  const objectsIn = (folder: string) =>
    [...gcs.objects.bucket('locking').objects.entriesFrom(folder)].filter(([key]) => key.startsWith(folder));
  return {
    /** The environment of the service that uses it. */
    environment: { GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage: gcs.endpoint }) },
    /** As a destination that locks for this many days. */
    place: (days: number) => ({
      name: 'Locking',
      type: 'gcs',
      bucket: 'locking',
      objectLock: { mode: 'governance', days },
      credentials: { serviceAccountKey: google.control.createServiceAccount('sandbox') },
    }),
    objectsIn,
    faults: gcs.faults,
    /** Their locks end then, whatever was requested. */
    lock: (folder: string, until: Date) => {
      for (const [, { settings }] of objectsIn(folder))
        settings.retention = { mode: 'Unlocked', retainUntilTime: until.toISOString() };
    },
    close: async () => {
      await Promise.all([gcs.stop(), google.stop()]);
    },
  };
}
