import type { Restore } from '@holdfast/contract';
import type { Command } from 'commander';
import { exitCode } from '../../exit-codes.ts';
import { countOf, formatCount, printJson, printLine } from '../../output.ts';
import { reportEnd } from '../jobs.ts';
import { printRecord } from '../lists.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { withService } from '../session.ts';

export function showCommand(): Command {
  return serviceCommand('show', 'everything known about a restore')
    .argument('<restore>', 'id')
    .action(
      async (restoreJobId: string, options: ServiceOptions) =>
        await withService(options, async ({ client }) => {
          showRestore(await client.getRestore({ params: { restoreJobId } }), options);
        }),
    );
}

export function showRestore(restore: Restore, { json }: { json?: boolean }): void {
  if (json) {
    printJson(restore);
    return;
  }
  const { progress, preview, error, errors } = restore;
  printRecord({
    Id: restore.id,
    Backup: restore.backupId,
    'Point in time': restore.pointInTime,
    Target: restore.targetProjectId,
    Status: restore.status,
    Phase: restore.phase,
    Progress: restore.completedAt === null ? `${progress.percent} %` : null,
    Mode: restore.mergeMode,
    'Dry run': restore.dryRun ? 'yes' : null,
    Would: preview === null ? null : previewText(preview),
    Restored: countOf(restore.documentsRestored, 'document'),
    Deleted: restore.documentsDeleted ? countOf(restore.documentsDeleted, 'document') : null,
    Failed: errors.count === 0 ? null : countOf(errors.count, 'document'),
    Conflicts: restore.conflicts
      ? `${countOf(restore.conflicts, 'document')} that somebody changed left as they are`
      : null,
    'Undo of': restore.undoOf,
    'Undone by': restore.undoneBy,
    'Safety backup': restore.safetyBackupId,
    Took: restore.duration === null ? null : `${restore.duration.toFixed(1)} s`,
    Created: restore.createdAt,
    Error: error === null ? null : `${error.code}: ${error.message}`,
    Advice: error?.advice,
  });
  for (const { path, code, message } of errors.sample) printLine(`  ${path}: ${code} ${message}`);
}

const previewed = ['create', 'replace', 'merge', 'skip', 'delete', 'irreversible'] as const;

function previewText(preview: NonNullable<Restore['preview']>): string {
  return previewed.map((what) => `${what} ${formatCount(preview[what] ?? 0)}`).join(', ');
}

/** The exit code of a restore that was waited for. */
export function reportRestoreEnd(restore: Pick<Restore, 'status' | 'error' | 'errors' | 'documentsRestored'>): void {
  reportEnd(restore);
  const isPartial = restore.errors.count > 0 && restore.documentsRestored > 0;
  if (restore.status === 'failed' && isPartial) process.exitCode = exitCode.partlyFailed;
}
