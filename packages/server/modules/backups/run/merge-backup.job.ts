import { mergeChain } from '@holdfast/engine';
import { openNamedChain, openNewestChain } from '../contents/newest-chain.ts';
import type { BackupsContext } from '../context.ts';
import {
  runSingleStep,
  type SingleStepJob,
  type SingleStepResult,
  type SingleStepWork,
  writeOnce,
} from './single-step-backup.ts';

/** Makes a full backup of the project's newest chain, from what lies in storage: the source is not read. */
export async function runMerge(context: BackupsContext, job: SingleStepJob): Promise<void> {
  await runSingleStep(context, job, (work) => merge(context, work));
}

async function merge(context: BackupsContext, work: SingleStepWork): Promise<SingleStepResult> {
  const { store, keys, signal, loaded } = work;
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
