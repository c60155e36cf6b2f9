import { verifyChain, viewOfChain } from '@holdfast/engine';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { countOf, formatBytes, printJson, printLine } from '../output.ts';
import { ProgressBar } from '../progress.ts';
import { latestArgument } from './latest.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { chainOf, withSession } from './session.ts';

export function verifyCommand(): Command {
  return storeCommand('verify', 'decrypt, hash and count everything a backup consists of')
    .argument(...latestArgument)
    .action(
      async (reference: string, options: StoreOptions) =>
        await withSession(options, async (session) => {
          const chain = await chainOf(session, reference);
          const bar = new ProgressBar('Verifying', options);
          const result = await verifyChain(chain, viewOfChain(chain), {
            signal: session.signal,
            onProgress: ({ segments, segmentsTotal, bytes }) =>
              bar.update({ share: segments / Math.max(1, segmentsTotal), bytes }),
          }).finally(() => bar.finish());
          if (options.json) printJson({ backupId: chain.at(-1)!.backupId, ...result });
          else if (result.isIntact) {
            printLine(
              `Intact: ${countOf(result.documents, 'document')} in ${countOf(result.segments, 'segment')} of ${countOf(result.backups, 'backup')}, ${formatBytes(result.storedBytes)}.`,
            );
          } else {
            printLine(`Damaged: ${countOf(result.errorCount, 'fault')}.`);
            for (const { backupId, segment, message } of result.errors)
              printLine(`  ${backupId} ${segment ?? ''} ${message}`);
          }
          if (!result.isIntact) process.exitCode = exitCode.damaged;
        }),
    );
}
