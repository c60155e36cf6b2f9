import type { Scope } from '@holdfast/engine';
import { Command, InvalidArgumentError, Option } from 'commander';
import { wrongUsage } from '../command-failure.ts';
import { collectionPaths } from '../paths.ts';
import type { SecretOptions } from './secrets.ts';

/** Options that several commands share, declared once. */
export interface StoreOptions extends SecretOptions {
  readonly store: string;
  readonly json?: boolean;
}

export function storeCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(
      new Option('-s, --store <address>', 'folder, s3://bucket/prefix, spaces://… or gs://…')
        .env('HOLDFAST_STORE')
        .makeOptionMandatory(),
    )
    .option('-k, --key-file <file>', 'the 256-bit key: 32 bytes, base64 or hexadecimal')
    .option('--passphrase-file <file>', 'a file that holds the passphrase')
    .option('--kit-file <file>', 'the recovery kit of the organization')
    .option('--master-key-file <file>', "the service's master key, for keys that lie beside the backups (MASTER_KEY)")
    .option('--json', 'one JSON object on the output instead of sentences');
}

export function withDatabase(command: Command): Command {
  return command
    .option('-p, --project <id>', 'Google Cloud project')
    .option('-d, --database <id>', 'database of the project', '(default)')
    .option('--emulator <host:port>', 'a database without credentials (FIRESTORE_EMULATOR_HOST)')
    .option('--credentials <file>', 'service account key (GOOGLE_APPLICATION_CREDENTIALS)');
}

export interface ScopeOptions {
  readonly collections?: string[];
  readonly exclude?: string[];
  readonly subcollections?: boolean;
}

export function withScope(command: Command): Command {
  return command
    .option('-c, --collections <paths...>', 'only these collections', collectionPaths)
    .option('--exclude <paths...>', 'leave these collections out', collectionPaths)
    .option('--no-subcollections', 'without the collections below the documents of these collections');
}

export function scopeOf({ collections, exclude, subcollections }: ScopeOptions): Scope {
  const isAll = collections?.includes('*') ?? true;
  if (isAll && collections && collections.length > 1)
    throw wrongUsage('* means every collection: give it alone, or name the collections without it.');
  return {
    collections: isAll ? 'all' : collections!,
    includeSubcollections: subcollections !== false,
    excludeCollections: exclude ?? [],
  };
}

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a positive whole number.');
  return value;
}
