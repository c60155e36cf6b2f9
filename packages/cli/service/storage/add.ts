import { storageTypes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { readKeyFile } from '../key-file.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { withService } from '../session.ts';
import { showStorage } from './show.ts';

interface AddOptions extends ServiceOptions {
  readonly type: (typeof storageTypes)[number];
  readonly bucket?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly prefix?: string;
  readonly path?: string;
  readonly forcePathStyle?: boolean;
  readonly objectLock?: { mode: 'governance' | 'compliance'; days: number };
  readonly default?: boolean;
  readonly accessKeyId?: string;
  readonly secretAccessKeyFile?: string;
  readonly serviceAccountKey?: string;
}

type Body = Parameters<Client['createStorageDestination']>[0]['body'];

export function addCommand(): Command {
  return serviceCommand('add', 'add a place for backups; it is checked at once')
    .argument('<name>', 'what to call it here')
    .addOption(new Option('-t, --type <type>', 'what kind of storage').choices(storageTypes).makeOptionMandatory())
    .option('-b, --bucket <name>', 'bucket of s3, spaces or gcs')
    .option('--region <region>', 'region of the bucket')
    .option('--endpoint <address>', 'for storage that speaks the protocol of S3 elsewhere')
    .option('--force-path-style', 'the bucket stands in the path, not in the host name')
    .option('--prefix <prefix>', 'keep everything below this prefix')
    .option('--path <folder>', 'the folder of type local')
    .option('--object-lock <mode:days>', 'governance:30 or compliance:30', parseObjectLock)
    .option('--default', 'backups that name no destination go here')
    .option('--access-key-id <id>', 'of s3 and spaces (AWS_ACCESS_KEY_ID)')
    .option('--secret-access-key-file <file>', '- reads it from the input (AWS_SECRET_ACCESS_KEY)')
    .option('--service-account-key <file>', 'of gcs; - reads it from the input (GOOGLE_APPLICATION_CREDENTIALS)')
    .action(
      async (name: string, options: AddOptions) =>
        await withService(options, async ({ client }) => {
          const storage = await client.createStorageDestination({ body: await bodyOf(name, options) });
          showStorage(storage, options);
          if (storage.error !== null) process.exitCode = exitCodeOfService(storage.error.code);
        }),
    );
}

async function bodyOf(name: string, options: AddOptions): Promise<Body> {
  const { type, prefix, path, endpoint, region, forcePathStyle } = options;
  const common = { name, isDefault: options.default === true, ...(prefix && { prefix }) };
  if (type === 'local') return { ...common, type, path: required(path, '--path') };
  const place = {
    ...common,
    bucket: required(options.bucket, '--bucket'),
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    ...(options.objectLock && { objectLock: options.objectLock }),
  };
  if (type === 'gcs') return { ...place, type, credentials: { serviceAccountKey: await googleKeyOf(options) } };
  return { ...place, type, credentials: await keyPairOf(options), ...(forcePathStyle && { forcePathStyle }) };
}

async function googleKeyOf({ serviceAccountKey }: AddOptions): Promise<string> {
  const file = serviceAccountKey ?? process.env.GOOGLE_APPLICATION_CREDENTIALS;
  return await readKeyFile(required(file, '--service-account-key'));
}

/** The secret is never an argument: arguments can be read by everyone on the machine. */
async function keyPairOf({ accessKeyId, secretAccessKeyFile }: AddOptions) {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  const secret = secretAccessKeyFile === undefined ? AWS_SECRET_ACCESS_KEY : await readKeyFile(secretAccessKeyFile);
  return {
    accessKeyId: required(accessKeyId ?? AWS_ACCESS_KEY_ID, '--access-key-id or AWS_ACCESS_KEY_ID'),
    secretAccessKey: required(secret?.trim(), '--secret-access-key-file or AWS_SECRET_ACCESS_KEY'),
  };
}

function required(value: string | undefined, what: string): string {
  if (!value) throw wrongUsage(`Give ${what}.`);
  return value;
}

function parseObjectLock(text: string): AddOptions['objectLock'] {
  const [, mode, days] = /^(governance|compliance):(\d{1,5})$/.exec(text) ?? [];
  if (mode === undefined) throw new InvalidArgumentError('It must be governance:<days> or compliance:<days>.');
  return { mode: mode as 'governance' | 'compliance', days: Number(days) };
}
