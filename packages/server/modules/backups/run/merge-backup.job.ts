import { mergeChain, wholeDatabase, writeViewAsBackup } from '@holdfast/engine';
import { openNamedChain, openNewestChain } from '../contents/newest-chain.ts';
import type { BackupsContext, CapturedState } from '../context.ts';
import {
  runSingleStep,
  type SingleStepJob,
  type SingleStepResult,
  type SingleStepWork,
  writeOnce,
} from './single-step-backup.ts';

/** Merges the project's newest chain into a full backup. Reads only storage, not the source. */
export async function runMerge(context: BackupsContext, job: SingleStepJob): Promise<void> {
  await runSingleStep(context, job, (work) => merge(context, work));
}

async function merge(context: BackupsContext, work: SingleStepWork): Promise<SingleStepResult> {
  const { store, keys, signal, loaded } = work;
  const captured = loaded.row.standsFor ? undefined : await context.captured(loaded.row, signal);
  if (captured) return await writeCaptured(context, work, captured);
  const { newest, chain } = loaded.row.standsFor
    ? await openNamedChain(context, loaded.row.organizationId, loaded.row.standsFor, signal)
    : await openNewestChain(context, loaded.row, signal);
  try {
    await work.expect(chain.readers.at(-1)!.body.counts.documents);
    const written = await writeOnce(context, work, () =>
      mergeChain(chain.readers, {
        store,
        keys,
        signal,
        codec: context.engine.codec,
        backupId: loaded.row.id,
        onProgress: work.show,
      }),
    );
    return { written, change: { snapshots: newest.snapshots } };
  } finally {
    await chain.close();
  }
}

/** Writes base and captured changes as one backup, when a log knows more than the newest chain. */
export async function writeCaptured(
  context: BackupsContext,
  work: SingleStepWork,
  { view, readers, instant, logId, documentCount, close }: CapturedState,
): Promise<SingleStepResult> {
  const { store, keys, signal, loaded } = work;
  try {
    await work.expect(documentCount);
    const content = {
      database: view.database,
      records: view.records({}, { signal }),
      type: 'synthetic' as const,
      snapshotTime: instant,
      scope: wholeDatabase,
      mergedFrom: readers.map(({ backupId }) => backupId),
    };
    const { codec } = context.engine;
    const { id: backupId, trigger } = loaded.row;
    const options = { store, keys, codec, backupId, trigger, log: logId, signal, onProgress: work.show };
    return { written: await writeOnce(context, work, () => writeViewAsBackup(content, options)) };
  } finally {
    await close();
  }
}
