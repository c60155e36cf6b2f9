import { S3Client } from '@aws-sdk/client-s3';
import { EngineError } from '../../ports/index.ts';
import { minuteMs } from '../../time/durations.ts';
import { createStoreNetwork, type StoreNetwork } from '../network.ts';
import { boundAnswers } from './bounded-answers.ts';

export interface S3Connection {
  /** `spaces` is the S3 protocol at DigitalOcean: its endpoint follows from the region. */
  kind: 's3' | 'spaces';
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  endpoint?: string;
  forcePathStyle?: boolean;
  network?: StoreNetwork;
}

const connectTimeoutMs = 10_000;
const idleTimeoutMs = minuteMs;
const region = /^[a-z0-9-]{1,40}$/;

/** A client that tries once: repeating is the business of `withRetries`, which knows what a lost answer means. */
export function createS3Client(connection: S3Connection): { client: S3Client; network: StoreNetwork } {
  if (!region.test(connection.region))
    throw new EngineError('VALIDATION_ERROR', `Not a region: ${JSON.stringify(connection.region.slice(0, 50))}`);
  const endpoint = endpointOf(connection);
  const network = connection.network ?? createStoreNetwork();
  const client = new S3Client({
    region: connection.region,
    // A copy: the client writes into the object it is given.
    credentials: { ...connection.credentials },
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: connection.forcePathStyle ?? false,
    maxAttempts: 1,
    followRegionRedirects: false,
    // Checksums are computed and compared by the store itself, in a way that services without AWS's newer headers take.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      httpAgent: network.httpAgent,
      httpsAgent: network.httpsAgent,
      connectionTimeout: connectTimeoutMs,
      socketTimeout: idleTimeoutMs,
    },
  });
  boundAnswers(client);
  return { client, network };
}

function endpointOf(connection: S3Connection): string | undefined {
  if (connection.endpoint === undefined)
    return connection.kind === 'spaces' ? `https://${connection.region}.digitaloceanspaces.com` : undefined;
  const url = URL.parse(connection.endpoint);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '')
    throw new EngineError('VALIDATION_ERROR', 'The endpoint must be an http or https address.');
  return connection.endpoint;
}

/** The region, where nothing else says where the storage is. */
export function regionAsAddress({ endpoint, region }: S3Connection): string | undefined {
  return endpoint === undefined ? region : undefined;
}
