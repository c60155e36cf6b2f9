import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import {
  type BlobStore,
  createGcsStore,
  createLocalStore,
  createS3Store,
  EngineError,
  parseGcsKeyFile,
} from '@holdfast/engine';
import { wrongUsage } from '../command-failure.ts';

/**
 * A store from its address: a folder, `s3://bucket/prefix?region=…&endpoint=…`, `spaces://bucket/prefix?region=…` or
 * `gs://bucket/prefix`. S3 credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, Google's from the file
 * that GOOGLE_APPLICATION_CREDENTIALS names. A missing folder is only created for a command that writes the first
 * backup, so that a mistyped folder never looks like an empty one.
 */
export async function openStore(address: string, { isMade = false } = {}): Promise<BlobStore> {
  const url = urlOf(address);
  if (url === undefined || url.protocol === 'file:')
    return await openFolder(url ? decodeURIComponent(url.pathname) : address, isMade);
  const place = { bucket: url.hostname, prefix: decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '') };
  if (url.protocol === 'gs:')
    return createGcsStore({ ...place, credentials: parseGcsKeyFile(await googleKeyFile()), ...endpointOf(url) });
  if (url.protocol !== 's3:' && url.protocol !== 'spaces:')
    throw new EngineError('VALIDATION_ERROR', `${url.protocol}// is no kind of store.`);
  return createS3Store({
    ...place,
    kind: url.protocol === 's3:' ? 's3' : 'spaces',
    region: url.searchParams.get('region') ?? process.env.AWS_REGION ?? 'us-east-1',
    credentials: awsCredentials(),
    ...endpointOf(url),
    ...(url.searchParams.has('endpoint') ? { forcePathStyle: url.searchParams.get('pathStyle') !== 'false' } : {}),
  });
}

/** Undefined for a folder. A mistyped address is refused: its backups would lie in a folder that nobody looks for. */
function urlOf(address: string): URL | undefined {
  const url = /^[a-z0-9]+:\/\//.test(address) ? new URL(address) : undefined;
  const isMistyped = url ? url.hash !== '' : /^(file|gcs|gs|https?|s3|spaces):/i.test(address);
  if (isMistyped)
    throw wrongUsage(
      `${address} is no address of a store.`,
      'Give a folder, s3://bucket/prefix, spaces://bucket/prefix or gs://bucket/prefix, with %23 for #.',
    );
  if (url?.protocol === 'file:' && (url.host !== '' || url.search !== ''))
    throw wrongUsage(
      `${address} is no folder: after file:// its whole path follows, as in file:///var/backups.`,
      'Or give the folder alone, without file://.',
    );
  return url;
}

async function openFolder(root: string, isMade: boolean): Promise<BlobStore> {
  if (!isMade && !existsSync(root)) throw new EngineError('STORAGE_NOT_FOUND', `The folder ${root} does not exist.`);
  return await createLocalStore({ root });
}

function endpointOf(url: URL): { endpoint?: string } {
  const endpoint = url.searchParams.get('endpoint');
  return endpoint === null ? {} : { endpoint };
}

function awsCredentials(): { accessKeyId: string; secretAccessKey: string; sessionToken?: string } {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    throw new EngineError('VALIDATION_ERROR', 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.');
  }
  const session = AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {};
  return { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY, ...session };
}

export async function googleKeyFile(path = process.env.GOOGLE_APPLICATION_CREDENTIALS): Promise<unknown> {
  if (!path) throw new EngineError('VALIDATION_ERROR', 'Set GOOGLE_APPLICATION_CREDENTIALS to a key file.');
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new EngineError('VALIDATION_ERROR', `The key file ${path} cannot be read.`, { cause });
  }
}
