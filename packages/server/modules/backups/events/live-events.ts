import type { Readable } from 'node:stream';
import { followJob } from '../../jobs/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { presentProgress } from '../present-backup.ts';

export async function followBackup(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<Readable> {
  const { database, changes } = context.platform;
  const find = () =>
    database.tenant(organizationId, (transaction) => backupStore.get(transaction, organizationId, backupId));
  await find();
  const read = async () => {
    const row = await find();
    const isOver = row.status !== 'pending' && row.status !== 'running';
    return { data: { id: row.id, status: row.status, progress: presentProgress(row), error: row.error }, isOver };
  };
  return followJob({ changes, organizationId, id: backupId, read, signal });
}
