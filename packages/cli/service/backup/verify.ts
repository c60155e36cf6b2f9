import { setTimeout as sleep } from 'node:timers/promises';
import { type Backup, couldNotRead } from '@holdfast/contract';
import type { Command } from 'commander';
import { exitCode } from '../../exit-codes.ts';
import { countOf, printJson, printLine } from '../../output.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { retryWhileUnavailable } from '../jobs.ts';
import { serviceCommand, type WaitOptions, withWait } from '../options.ts';
import { backupIdOf } from '../references.ts';
import { type Service, withService } from '../session.ts';
import { backupArgument } from './show.ts';

const pollMs = 500;

export function verifyCommand(): Command {
  return withWait(serviceCommand('verify', 'read a whole backup again and compare hashes and counts'))
    .argument(...backupArgument)
    .action(
      async (reference: string, options: WaitOptions) =>
        await withService(options, async (service) => {
          const backupId = await backupIdOf(service.client, reference);
          const started = await service.client.verifyBackup({ params: { backupId } });
          show(options.wait ? await untilVerified(service, backupId) : started, options);
        }),
    );
}

async function untilVerified(service: Service, backupId: string): Promise<Backup> {
  for (;;) {
    const backup = await retryWhileUnavailable(service, () => service.client.getBackup({ params: { backupId } }));
    if (backup.verification?.status !== 'running') return backup;
    await sleep(pollMs, undefined, { signal: service.signal });
  }
}

function show({ id, verification, verifiedAt }: Backup, { json }: WaitOptions): void {
  const isUnread = couldNotRead(verification);
  if (verification?.status === 'failed')
    process.exitCode = isUnread ? exitCodeOfService(verification.errors[0]!.code) : exitCode.damaged;
  if (json) {
    printJson({ id, verification, verifiedAt });
    return;
  }
  if (verification === null || verification.status === 'running') {
    printLine(`${id} is being verified.`);
    return;
  }
  const { status, documents, segments, errors } = verification;
  const verdict = status === 'passed' ? 'Intact' : isUnread ? 'Could not be read' : 'Damaged';
  printLine(`${verdict}: ${countOf(documents, 'document')} in ${countOf(segments, 'segment')} read.`);
  for (const { code, message, object } of errors) printLine(`  ${object ? `${object}: ` : ''}${code} ${message}`);
}
