import { join } from 'node:path';
import pg from 'pg';
import { startBackupCluster } from '../backup-cluster.ts';
import { RoleKiller } from '../role-killer.ts';
import { type RetentionResult, runRetention } from './run-retention.ts';

/** The same histories with the service in separate processes, one of which is killed repeatedly. */
export async function runRetentionChaos(options: {
  histories: number;
  seed: number;
  templateUrl: string;
  log: (line: string) => void;
}): Promise<RetentionResult & { kills: number }> {
  const bench = await startBackupCluster({
    documents: 1,
    roles: 'api',
    templateUrl: options.templateUrl,
    environment: { ANOMALY_SHRINK_PERCENT: '100', ACCESS_TOKEN_TTL: '86400' },
  });
  const { cluster, session } = bench;
  const database = new pg.Pool({ connectionString: bench.databaseUrl, max: 2 });
  const killer = new RoleKiller(cluster, 1500);
  const call = async (method: string, path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${session.token}`,
      'x-organization-id': session.organizationId,
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await fetch(`${cluster.address}/api/v1${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  };
  try {
    await killer.start(['scheduler', 'worker', 'worker']);
    const storageFolder = join(bench.folder, 'storage', session.organizationId);
    const service = { firestore: bench.firestore, database, storageFolder, call };
    const steps = { least: 10, most: 18 };
    const result = await runRetention(service, { ...options, steps });
    return { ...result, kills: killer.kills };
  } finally {
    await killer.stop();
    await database.end();
    await bench.close();
  }
}
