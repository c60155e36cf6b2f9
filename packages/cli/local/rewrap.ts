import { KeyRing, listBackups, rewrapBackup } from '@holdfast/engine';
import type { Command } from 'commander';
import { printJson, printLine } from '../output.ts';
import { latestArgument } from './latest.ts';
import { type StoreOptions, storeCommand } from './options.ts';
import { secretsFrom } from './secrets.ts';
import { chainOf, type Session, withSession } from './session.ts';

interface RewrapOptions extends StoreOptions {
  readonly newKeyFile?: string;
  readonly newPassphraseFile?: string;
}

export function rewrapCommand(): Command {
  return storeCommand('rewrap', 'change the key of a backup and of those it depends on; no data is rewritten')
    .argument(...latestArgument)
    .option('--new-key-file <file>', 'the key from now on')
    .option('--new-passphrase-file <file>', 'the passphrase from now on')
    .action(
      async (reference: string, options: RewrapOptions) =>
        await withSession(options, async (session) => {
          const { newKeyFile, newPassphraseFile } = options;
          const given = {
            ...(newKeyFile === undefined ? {} : { keyFile: newKeyFile }),
            ...(newPassphraseFile === undefined ? {} : { passphraseFile: newPassphraseFile }),
          };
          const next = await secretsFrom(given, session.store, { question: 'New passphrase: ', isNew: true });
          // After an interruption, a part of the chain is already under the new key.
          const keys = session.keys.openingAlso(next);
          const to = new KeyRing(next);
          const chain = await chainOf({ ...session, keys }, reference);
          for (const { backupId } of chain) await rewrapBackup(session.store, backupId, keys, to, session);
          const rewrapped = chain.map(({ backupId }) => backupId);
          const underFormerKey = await openedBy(session, await openedBy({ ...session, keys: to }));
          if (options.json) return printJson({ rewrapped, underFormerKey });
          printLine(`Re-wrapped ${rewrapped.join(', ')}.`);
          if (underFormerKey.length > 0)
            printLine(
              `! Still under the former key: ${underFormerKey.join(', ')}. Re-wrap them too before you part with it: until then, one that builds on a re-wrapped backup opens with neither key alone.`,
            );
        }),
    );
}

/** The ids of the backups whose manifests these keys open, without those that are known. */
async function openedBy({ store, keys, codec, signal }: Session, known: readonly string[] = []): Promise<string[]> {
  const ids: string[] = [];
  for await (const { backupId, body } of listBackups(store, keys, codec, { signal }))
    if (body !== null && !known.includes(backupId)) ids.push(backupId);
  return ids;
}
