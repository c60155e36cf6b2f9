import type { DrillReport } from '@holdfast/contract';
import { type BackupReader, readUsers, type Scope, type View, viewOfChain } from '@holdfast/engine';
import { version } from '../../../version.ts';
import type { RestoresContext } from '../context.ts';
import type { DrillRow } from './drill-store.ts';
import { openDrillTarget } from './drill-target.ts';
import { drillThread } from './drill-thread.ts';
import type { Proof, ShowProgress } from './proof.ts';
import { proveInScratch } from './prove-in-scratch.ts';
import { proveInTarget, type TargetState } from './prove-in-target.ts';

export interface ProofWork {
  signal: AbortSignal;
  noteEmpty(at: Date): Promise<void>;
  show(percent: number, documents: number, bytes: number): Promise<void>;
}

/** Restores the backup into a scratch database or a named project, reads it back, and compares. */
export async function proveBackup(context: RestoresContext, row: DrillRow, work: ProofWork): Promise<DrillReport> {
  const { signal } = work;
  const startedAt = context.platform.clock.now().toISOString();
  const chain = await context.backups.openChainOf(row.organizationId, row.backupId, signal);
  try {
    const view = viewOfChain(chain.readers);
    const newest = chain.readers.at(-1) as BackupReader;
    const documentsExpected = newest.body.counts.documents;
    const show: ShowProgress = ({ restored, compared, bytes }) => {
      const share = (restored + compared) / Math.max(1, 2 * documentsExpected);
      return work.show(Math.min(99, Math.floor(100 * share)), restored, bytes);
    };
    const { proof, target } = await proveSomewhere(context, row, view, show, work);
    const { comparison, digests } = proof;
    return {
      backup: backupOf(chain.readers, newest),
      target,
      engine: { name: 'holdfast', version },
      comparison: 'values',
      documentsExpected,
      documentsRestored: proof.restored,
      documentsMatched: comparison.matched,
      bytes: comparison.bytes,
      authUsers: await countUsers(newest, signal),
      differences: { count: comparison.differences, sample: comparison.sample },
      mismatches: comparison.sample.map(({ path }) => path),
      ...digests,
      startedAt,
      restoreDurationMs: Math.round(proof.restoreMs),
      compareDurationMs: Math.round(proof.compareMs),
    };
  } finally {
    await chain.close();
  }
}

async function proveSomewhere(
  context: RestoresContext,
  row: DrillRow,
  view: View,
  show: ShowProgress,
  { signal, noteEmpty }: ProofWork,
): Promise<{ proof: Proof; target: DrillReport['target'] }> {
  const { organizationId, targetProjectId } = row;
  if (targetProjectId === null) {
    const proof = await drillThread.comparing((thread) => proveInScratch(view, signal, show, thread));
    const { database } = proof;
    return { proof, target: { kind: 'scratch', database, foundEmptyAt: null, contents: 'discarded' } };
  }
  const named = await openDrillTarget(context, { organizationId, targetProjectId });
  let foundEmptyAt = row.targetFoundEmptyAt;
  const state: TargetState = {
    foundEmptyAt,
    noteEmpty: () => {
      foundEmptyAt = context.platform.clock.now();
      return noteEmpty(foundEmptyAt);
    },
  };
  try {
    const proof = await drillThread.comparing((thread) => proveInTarget(view, named, state, signal, show, thread));
    const { database } = proof;
    const found = foundEmptyAt?.toISOString() ?? null;
    return { proof, target: { kind: 'project', database, foundEmptyAt: found, contents: 'left' } };
  } finally {
    await named.firestore.close();
  }
}

function backupOf(readers: readonly BackupReader[], { body, manifestSha256 }: BackupReader): DrillReport['backup'] {
  return {
    type: body.type,
    snapshotTime: body.snapshotTime,
    database: body.database,
    scope: scopeOf(body.scope),
    chain: readers.map(({ backupId }) => backupId),
    sha256: manifestSha256,
  };
}

function scopeOf({ collections, documents, excludeCollections }: Scope): DrillReport['backup']['scope'] {
  if (documents !== undefined) return 'documents';
  return collections === 'all' && excludeCollections.length === 0 ? 'everything' : 'collections';
}

/** Accounts are read and counted, which throws when the number is not the manifest's. They are written nowhere. */
async function countUsers(newest: BackupReader, signal: AbortSignal): Promise<DrillReport['authUsers']> {
  if (newest.body.authUsers === null) return null;
  let read = 0;
  for await (const { users } of readUsers(newest, signal)) read += users.length;
  return { expected: newest.body.authUsers.count, read };
}
