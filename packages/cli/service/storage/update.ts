import type { Client } from '@holdfast/contract/client';
import type { Command } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { exitCodeOfService } from '../exit-code.ts';
import { type ServiceOptions, serviceCommand } from '../options.ts';
import { storageIdOf } from '../references.ts';
import { withService } from '../session.ts';
import { type CredentialOptions, googleKeyOf, keyPairOf, withCredentials } from './credentials.ts';
import { type ObjectLock, parseObjectLock } from './object-lock.ts';
import { showStorage, storageArgument } from './show.ts';

interface UpdateOptions extends ServiceOptions, CredentialOptions {
  readonly name?: string;
  readonly bucket?: string;
  readonly region?: string;
  readonly endpoint?: string;
  readonly forcePathStyle?: boolean;
  readonly objectLock?: ObjectLock | false;
  readonly default?: boolean;
  readonly credentials?: boolean;
}

type Body = NonNullable<Parameters<Client['updateStorageDestination']>[0]['body']>;

/** The prefix cannot change, because the backups are below it. */
export function updateCommand(): Command {
  return withCredentials(serviceCommand('update', 'change a destination; what is not given stays'))
    .argument(...storageArgument)
    .option('--name <name>', 'another name')
    .option('--bucket <name>', 'another bucket, to which its backups were copied; needs the credentials again')
    .option('--region <region>', 'another region; needs the credentials again')
    .option('--endpoint <address>', 'another address, "" for the usual one; needs the credentials again')
    .option('--force-path-style', 'the bucket is in the path, not in the host name')
    .option('--no-force-path-style', 'the bucket is in the host name')
    .option('--object-lock <mode:days>', 'governance:30 or compliance:30, for new backups', parseObjectLock)
    .option('--no-object-lock', 'lock new backups no longer')
    .option('--default', 'the destination of backups that name none')
    .option('--no-default', 'no longer the default')
    .option('--credentials', 'new ones, from the options below or from the environment')
    .action(
      async (reference: string, options: UpdateOptions) =>
        await withService(options, async ({ client }) => {
          const storageDestinationId = await storageIdOf(client, reference);
          const params = { storageDestinationId };
          const { type } = await client.getStorageDestination({ params });
          const body = { ...changesOf(options), ...(await credentialsOf(type, options)) };
          if (Object.keys(body).length === 0) throw wrongUsage('Say what to change.');
          const storage = await client.updateStorageDestination({ params, body });
          showStorage(storage, options);
          if (storage.error !== null) process.exitCode = exitCodeOfService(storage.error.code);
        }),
    );
}

function changesOf(options: UpdateOptions): Body {
  const { name, bucket, region, endpoint, forcePathStyle, objectLock, default: isDefault } = options;
  return {
    ...(name && { name }),
    ...(bucket && { bucket }),
    ...(region && { region }),
    ...(endpoint === undefined ? {} : { endpoint: endpoint || null }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    ...(objectLock === undefined ? {} : { objectLock: objectLock === false ? null : objectLock }),
    ...(isDefault === undefined ? {} : { isDefault }),
  };
}

/** Changing the destination's address requires its credentials again, so those of the environment are used then. */
async function credentialsOf(type: string, options: UpdateOptions): Promise<{ credentials?: Body['credentials'] }> {
  const { accessKeyId, secretAccessKeyFile, serviceAccountKey, credentials, bucket, region, endpoint } = options;
  const given = [accessKeyId, secretAccessKeyFile, serviceAccountKey, credentials, bucket, region, endpoint];
  if (given.every((value) => value === undefined)) return {};
  if (type === 'local') throw wrongUsage('A folder has no credentials, no bucket, no region and no endpoint.');
  if (type === 'gcs') return { credentials: { serviceAccountKey: await googleKeyOf(options) } };
  return { credentials: await keyPairOf(options) };
}
