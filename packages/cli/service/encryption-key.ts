import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { askTwice } from '../ask.ts';
import { wrongUsage } from '../command-failure.ts';
import { type ConfirmOptions, confirm, withYes } from '../confirm.ts';
import { formatCount, printJson, printLine } from '../output.ts';
import { readKeyFile } from './key-file.ts';
import { printRecord } from './lists.ts';
import { groupCommand, type ServiceOptions, serviceCommand } from './options.ts';
import { withService } from './session.ts';

interface SetOptions extends ServiceOptions {
  readonly passphraseFile?: string;
  readonly keyFile?: string;
}

type EncryptionKey = Awaited<ReturnType<Client['getEncryptionKey']>>;

export function encryptionKeyCommand(): Command {
  const commands = [showCommand, setCommand, rotateCommand, withdrawCommand].map((command) => command());
  return groupCommand('encryption-key', 'the key under which backups are encrypted', commands);
}

function showCommand(): Command {
  return serviceCommand('show', 'whose key is in use; the key itself is never shown, `recovery-kit` holds it').action(
    async (options: ServiceOptions) =>
      await withService(options, async ({ client }) => showKey(await client.getEncryptionKey(), options)),
  );
}

function setCommand(): Command {
  return serviceCommand('set', 'encrypt new backups under your own passphrase or 256-bit key')
    .option('--passphrase-file <file>', 'a file that holds the passphrase; - reads it from the input')
    .option('--key-file <file>', '32 bytes in base64, as `local keygen` writes them; - reads it from the input')
    .action(
      async (options: SetOptions) =>
        await withService(options, async ({ client }) => {
          showKey(await client.setEncryptionKey({ body: await secretOf(options) }), options);
          if (!options.json) process.stderr.write('Take a new recovery kit now: `holdfast recovery-kit`.\n');
        }),
    );
}

function rotateCommand(): Command {
  return serviceCommand('rotate', 're-wrap the key of every backup, without touching backup data').action(
    async (options: ServiceOptions) =>
      await withService(options, async ({ client }) => {
        const rotated = await client.rotateEncryptionKey();
        if (options.json) return printJson(rotated);
        printLine(
          `The keys of ${formatCount(rotated.rewrapped)} backups are re-wrapped, under version ${rotated.version}.`,
        );
        process.stderr.write('Take a new recovery kit now: `holdfast recovery-kit`.\n');
      }),
  );
}

function withdrawCommand(): Command {
  return withYes(
    serviceCommand('withdraw', "return to the service's key; backups under yours stay closed until it is set again"),
  ).action(
    async (options: ServiceOptions & ConfirmOptions) =>
      await withService(options, async ({ client }) => {
        await confirm('Withdraw your key? Backups made with it cannot be read until it is set again.', options);
        const message = await client.removeEncryptionKey();
        if (options.json) printJson({ withdrawn: true });
        else printLine(message);
      }),
  );
}

async function secretOf({ passphraseFile, keyFile }: SetOptions): Promise<{ passphrase: string } | { key: string }> {
  if (passphraseFile !== undefined && keyFile !== undefined) throw wrongUsage('Give a passphrase or a key, not both.');
  if (keyFile !== undefined) return { key: base64Of((await readKeyFile(keyFile)).trim()) };
  if (passphraseFile !== undefined) return { passphrase: (await readKeyFile(passphraseFile)).replace(/\r?\n$/, '') };
  if (!process.stdin.isTTY) throw wrongUsage('Give --passphrase-file or --key-file.');
  return { passphrase: await askTwice('Passphrase: ') };
}

/** A key file may also contain hexadecimal digits. */
function base64Of(text: string): string {
  return /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex').toString('base64') : text;
}

function showKey(key: EncryptionKey, { json }: ServiceOptions): void {
  if (json) {
    printJson(key);
    return;
  }
  printRecord({
    Whose: key.source === 'customer' ? 'yours' : "the service's",
    Kind: key.type,
    Version: key.version,
    Since: key.updatedAt,
  });
}
