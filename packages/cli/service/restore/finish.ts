import type { Client } from '@holdfast/contract/client';
import { CommandFailure } from '../../command-failure.ts';
import { type ConfirmOptions, confirm } from '../../confirm.ts';
import { countOf, printJson, printLine } from '../../output.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { pollJob, retryWhileUnavailable, waitForJob } from '../jobs.ts';
import type { WaitOptions } from '../options.ts';
import type { Service } from '../session.ts';
import { reportRestoreEnd, showRestore } from './show.ts';

type Body = NonNullable<NonNullable<Parameters<Client['startRestore']>[0]>['body']>;

/** Asks with the number of affected documents, from a dry run; without a terminal nobody could read it. */
export async function confirmDeleteExtra(
  service: Service,
  body: Body,
  target: string,
  options: ConfirmOptions & WaitOptions,
): Promise<void> {
  const question = async () => {
    if (!process.stdin.isTTY)
      return `Delete from ${target} what is not restored (--delete-extra; --dry-run counts it)?`;
    const count = await countDeletions(service, body, options);
    return `Delete ${countOf(count, 'document')} from ${target} that are not restored (--delete-extra)?`;
  };
  await confirm(question, options);
}

async function countDeletions(service: Service, body: Body, options: WaitOptions): Promise<number> {
  const { client } = service;
  const { id } = await client.startRestore({ body: { ...body, options: { ...body.options, dryRun: true } } });
  const ask = () => client.getRestore({ params: { restoreJobId: id } });
  const { status, error, preview } = await pollJob(service, ask, { ...options, json: true });
  if (status === 'completed' && preview) return preview.delete;
  const code = error?.code ?? 'CONFLICT';
  throw new CommandFailure(code, error?.message ?? `The count ${status}.`, { exit: exitCodeOfService(code) });
}

/** A restore that has begun: shown as it is, or waited for. */
export async function finishRestore(service: Service, restoreJobId: string, options: WaitOptions): Promise<void> {
  const { client } = service;
  if (options.wait) await waitForJob(service, restoreJobId, options);
  const restore = await retryWhileUnavailable(service, () => client.getRestore({ params: { restoreJobId } }));
  if (options.wait) showRestore(restore, options);
  else if (options.json) printJson(restore);
  else printLine(`${restore.id} ${restore.status}`);
  if (options.wait) reportRestoreEnd(restore);
}
