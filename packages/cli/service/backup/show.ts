import type { Backup } from '@holdfast/contract';
import type { Command } from 'commander';
import { formatBytes, formatCount, printJson, printLine } from '../../output.ts';
import { printRecord } from '../lists.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { withService } from '../session.ts';

export const backupArgument = ['<backup>', 'id, or latest:<project>'] as const;

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a backup')
    .argument(...backupArgument)
    .action(
      async (reference: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          const backupId = await backupIdOf(client, reference);
          showBackup(await client.getBackup({ params: { backupId } }), options);
        }),
    );
}

export function showBackup(backup: Backup, { json }: { json?: boolean }): void {
  if (json) {
    printJson(backup);
    return;
  }
  const { progress, error } = backup;
  printRecord({
    Id: backup.id,
    Project: backup.projectId,
    Type: backup.type,
    Trigger: backup.trigger,
    Schedule: backup.scheduleId,
    Status: backup.status,
    Progress: backup.completedAt === null ? `${progress.percent} %, ${progress.phase}` : null,
    Parent: backup.parentId,
    Collections: backup.collections.join(', '),
    Snapshot: backup.snapshotTime,
    Documents: backup.documentCount === null ? null : formatCount(backup.documentCount),
    Size: backup.size === null ? null : formatBytes(backup.size),
    Stored: backup.compressedSize === null ? null : formatBytes(backup.compressedSize),
    Reads: formatCount(backup.readsUsed),
    Took: backup.durationFormatted,
    Storage: backup.storageDestination?.name,
    Copies: backup.copies.map((copy) => `${copy.storageDestinationId} ${copy.status}`).join(', '),
    SHA256: backup.sha256,
    Verified: backup.verifiedAt,
    'Legal hold': backup.legalHold ? 'yes' : null,
    Created: backup.createdAt,
    Expires: backup.expiresAt,
    Error: error === null ? null : `${error.code}: ${error.message}`,
    Advice: error?.advice,
  });
  for (const warning of backup.warnings) printLine(`Warning: ${warning.message}`);
}
