import type { ApplyResult } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { systemActor } from '../../audit/index.ts';
import { type StoredError, toJobError } from '../../job-error.ts';
import type { RestoresContext } from '../context.ts';
import { tellRestore } from '../restore-events.ts';
import { type NewRestore, restoreStore } from '../restore-store.ts';
import type { DocumentFailure, StoredPreview } from '../tables.ts';
import type { RestoreWork } from './restore-meter.ts';

export type Ending =
  | { result: ApplyResult; users: { failed: number; errors: DocumentFailure[] } }
  | { preview: StoredPreview }
  | { error: StoredError };

/** The one transaction that ends a restore. One whose every document is not settled well is failed, never completed. */
export async function endRestore(context: RestoresContext, work: RestoreWork, ending: Ending): Promise<void> {
  const { database, clock, outbox } = context.platform;
  const { organizationId, id } = work.row;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, id);
    if (row.status !== 'running' || row.epoch !== work.row.epoch) return;
    const now = clock.now();
    const users = 'users' in ending ? ending.users : { failed: 0, errors: [] };
    const errorCount = row.errorCount + users.failed;
    const errorSample = [...row.errorSample, ...users.errors].slice(0, 100);
    const error = 'error' in ending ? ending.error : errorCount > 0 ? partialFailure(errorCount, errorSample) : null;
    const change: Partial<NewRestore> = error
      ? { status: 'failed', error }
      : {
          status: 'completed',
          phase: 'Completed',
          percent: 100,
          checkpoint: { stage: 'done' },
          ...('preview' in ending ? { preview: ending.preview } : {}),
        };
    const ended = await restoreStore.update(transaction, organizationId, id, {
      ...change,
      errorCount,
      errorSample,
      completedAt: now,
      updatedAt: now,
    });
    await tellRestore(outbox, transaction, error ? 'restore.failed' : 'restore.completed', { ...work, row: ended });
    await context.audit.write(transaction, {
      organizationId,
      action: error ? 'restore.failed' : 'restore.completed',
      actor: systemActor,
      resource: { type: 'restore', id },
      origin: null,
      details: {
        documentsRestored: ended.documentsRestored,
        errors: errorCount,
        ...(error ? { code: error.code } : {}),
      },
    });
  });
}

/** The code of what failed most tellingly; the rest of the documents were written and stay. */
function partialFailure(count: number, sample: readonly DocumentFailure[]): StoredError {
  const codes = new Set(sample.map(({ code }) => code));
  const message = `${count} ${count === 1 ? 'document was' : 'documents were'} not written; everything else was. The first: ${sample[0]?.path ?? ''}: ${sample[0]?.message ?? ''}`;
  if (codes.has('PERMISSION_DENIED')) return toJobError(new Problem('RESTORE_PERMISSION_DENIED', message));
  if (codes.has('RESOURCE_EXHAUSTED')) return toJobError(new Problem('RESTORE_QUOTA_EXCEEDED', message));
  return {
    ...toJobError(new Problem('INTERNAL_ERROR', message)),
    advice: 'Look at the errors of the single documents, mend their causes, then resume the restore.',
  };
}
