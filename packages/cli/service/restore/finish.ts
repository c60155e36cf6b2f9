import { printJson, printLine } from '../../output.ts';
import { patiently, waitForJob } from '../jobs.ts';
import type { WaitOptions } from '../options.ts';
import type { Service } from '../session.ts';
import { reportRestoreEnd, showRestore } from './show.ts';

export function deleteExtraQuestion(target: string): string {
  return `Delete from ${target} what is not restored (--delete-extra; --dry-run counts it)?`;
}

/** A restore that has begun: shown as it is, or waited for. */
export async function finishRestore(service: Service, restoreJobId: string, options: WaitOptions): Promise<void> {
  const { client } = service;
  if (options.wait) await waitForJob(service, restoreJobId, options);
  const restore = await patiently(service, () => client.getRestore({ params: { restoreJobId } }));
  if (options.wait) showRestore(restore, options);
  else if (options.json) printJson(restore);
  else printLine(`${restore.id} ${restore.status}`);
  if (options.wait) reportRestoreEnd(restore);
}
