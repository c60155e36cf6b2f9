import pg from 'pg';
import { type BackupBench, startBackupBench } from './backup-bench.ts';

/** A bench with a log that is stored often and listens as in production, and the owner of its database. */
export async function startPitrBench(): Promise<{ bench: BackupBench; owner: pg.Client }> {
  const environment = { PITR_SEGMENT_SECONDS: '0.1', ACCESS_TOKEN_TTL: '86400' };
  const bench = await startBackupBench(environment, { listenMode: 'as-production', listenHeartbeatMs: 50 });
  const owner = new pg.Client(bench.app.databaseUrl);
  await owner.connect();
  return { bench, owner };
}
