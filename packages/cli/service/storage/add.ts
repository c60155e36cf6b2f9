import { storageTypes } from '@holdfast/contract';
import type { Client } from '@holdfast/contract/client';
import { type Command, Option } from 'commander';
import { warnAboutDuplicateName } from '../duplicate-names.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { withService } from '../session.ts';
import { type CredentialOptions, googleKeyOf, keyPairOf, required, withCredentials } from './credentials.ts';
import { type ObjectLock, parseObjectLock } from './object-lock.ts';
import { showStorage } from './show.ts';

interface AddOptions extends ServiceOptions, CredentialOptions {
  readonly type: (typeof storageTypes)[number];
  readonly bucket?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly prefix?: string;
  readonly path?: string;
  readonly forcePathStyle?: boolean;
  readonly objectLock?: ObjectLock;
  readonly default?: boolean;
}

type Body = Parameters<Client['createStorageDestination']>[0]['body'];

export function addCommand(): Command {
  return withCredentials(serviceCommand('add', 'add a place for backups; it is checked at once'))
    .argument('<name>', 'what to call it here')
    .addOption(new Option('-t, --type <type>', 'what kind of storage').choices(storageTypes).makeOptionMandatory())
    .option('-b, --bucket <name>', 'bucket of s3, spaces or gcs')
    .option('--region <region>', 'region of the bucket')
    .option('--endpoint <address>', 'for storage that speaks the protocol of S3 elsewhere')
    .option('--force-path-style', 'the bucket is in the path, not in the host name')
    .option('--prefix <prefix>', 'keep everything below this prefix')
    .option('--path <folder>', 'the folder of type local')
    .option('--object-lock <mode:days>', 'governance:30 or compliance:30', parseObjectLock)
    .option('--default', 'the destination of backups that name none')
    .action(
      async (name: string, options: AddOptions) =>
        await withService(options, async ({ client }) => {
          const storage = await client.createStorageDestination({ body: await bodyOf(name, options) });
          showStorage(storage, options);
          const all = client.paginate('listStorageDestinations', { query: { limit: 200 } });
          await warnAboutDuplicateName(all, storage, 'storage destination');
          if (storage.error !== null) process.exitCode = exitCodeOfService(storage.error.code);
        }),
    );
}

async function bodyOf(name: string, options: AddOptions): Promise<Body> {
  const { type, prefix, path, endpoint, region, forcePathStyle } = options;
  const common = { name, ...(options.default && { isDefault: true }), ...(prefix && { prefix }) };
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
