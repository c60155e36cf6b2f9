import { realpath } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import {
  createGcsStore,
  createLocalStore,
  createS3Store,
  EngineError,
  parseGcsKeyFile,
  type StoreNetwork,
  type VersionedBlobStore,
} from '@holdfast/engine';
import type { Config } from '../../../config.ts';
import { privateAddressReason } from '../../../platform/outbound/address-guard.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { invalid } from '../../../platform/problem.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import { traced } from '../../../platform/tracing.ts';
import type { DestinationRow, OpenableDestination } from '../storage-store.ts';
import { linkFiles, localFolder, ownFolder } from './local-folders.ts';

export interface AccessKeyPair {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface GoogleKey {
  serviceAccountKey: { client_email: string; private_key: string; project_id?: string };
}

export interface OpenOptions {
  attemptsMax?: number;
  makesFolder?: boolean;
}

export const storageCredentialsPurpose = (destinationId: string) => `storage_destinations.credentials:${destinationId}`;

/** For jobs that carry a destination without a row: seals its credentials with the current master key. */
export function withResealed<Data extends { destination: OpenableDestination }>(
  data: Data,
  keyring: MasterKeyring,
): Data {
  const { id, credentials } = data.destination;
  if (credentials === null) return data;
  const resealed = keyring.reseal(credentials, storageCredentialsPurpose(id));
  return { ...data, destination: { ...data.destination, credentials: resealed } };
}

const regionDefault = 'us-east-1';
/** For calls with a waiting user. */
const awaitedCallTimeoutMs = 10_000;
const awaitedBudgetMs = 15_000;

/** The error of a destination that came with a moved project, until an admin gives it credentials. */
export function credentialsMissing(storageDestinationId: string): EngineError {
  return new EngineError(
    'STORAGE_CREDENTIALS_MISSING',
    'The destination has no credentials: it came with a project from another organization. An admin has to give it some.',
    { details: { storageDestinationId } },
  );
}

export function isWithoutCredentials({
  type,
  credentials,
}: Pick<OpenableDestination, 'type' | 'credentials'>): boolean {
  return type !== 'local' && credentials === null;
}

/** Calls of a store that are traced as spans. */
const tracedCalls = ['put', 'get', 'getRange', 'head', 'list', 'delete', 'extendLock', 'lockAbility'] as const;

/** Opens destinations with their sealed credentials. Every address is checked when it is dialled. */
export class StoreOpener {
  readonly #config: Config;
  readonly #keyring: MasterKeyring;
  readonly #outbound: Outbound;

  constructor(options: { config: Config; keyring: MasterKeyring; outbound: Outbound }) {
    this.#config = options.config;
    this.#keyring = options.keyring;
    this.#outbound = options.outbound;
  }

  /**
   * A call with a waiting user passes fewer attempts than a job. A folder that existed before is made again only when
   * the caller knows that it held nothing.
   */
  async open(destination: OpenableDestination, options: OpenOptions = {}): Promise<VersionedBlobStore> {
    const store = await this.#open(destination, options);
    if (!this.#config.OTEL_EXPORTER_OTLP_ENDPOINT) return store;
    const attributes = { 'holdfast.destination.id': destination.id, 'holdfast.destination.type': destination.type };
    return traced(store, 'storage', attributes, tracedCalls);
  }

  async #open(destination: OpenableDestination, options: OpenOptions): Promise<VersionedBlobStore> {
    if (destination.type === 'local') return this.#openFolder(destination, options.makesFolder === true);
    if (destination.credentials === null) throw credentialsMissing(destination.id);
    const credentials = JSON.parse(
      this.#keyring.openText(destination.credentials, storageCredentialsPurpose(destination.id)),
    ) as AccessKeyPair & GoogleKey;
    const attemptsMax = Math.min(options.attemptsMax ?? 100, this.#config.STORAGE_RETRY_ATTEMPTS);
    const isAwaited = options.attemptsMax !== undefined;
    const place = {
      bucket: destination.bucket ?? '',
      prefix: destination.prefix,
      retry: { attemptsMax, ...(isAwaited && { budgetMs: awaitedBudgetMs }) },
      ...(isAwaited && { callTimeoutMs: awaitedCallTimeoutMs }),
    };
    if (destination.type === 'gcs') return createGcsStore({ ...place, ...this.gcsConnection(credentials) });
    if (destination.endpoint?.startsWith('http:')) await this.requireReachable(destination.endpoint);
    return createS3Store({ ...place, ...this.s3Connection(destination.type, destination, credentials) });
  }

  /** The destination's address as the command line takes it. */
  describe(destination: DestinationRow): { name: string; address: string } {
    const { name, type, bucket, prefix, region, endpoint } = destination;
    if (type === 'local') {
      const { organizationId, path } = destination;
      return { name, address: localFolder(this.#config.HOLDFAST_DATA, organizationId, path ?? '') };
    }
    const scheme = type === 'gcs' ? 'gs' : type;
    const query = new URLSearchParams({ ...(region && { region }), ...(endpoint && { endpoint }) }).toString();
    return { name, address: `${scheme}://${bucket}/${prefix.replace(/\/+$/, '')}${query === '' ? '' : `?${query}`}` };
  }

  s3Connection(
    kind: 's3' | 'spaces',
    address: Pick<OpenableDestination, 'region' | 'endpoint'> & { forcePathStyle?: boolean | undefined },
    credentials: AccessKeyPair,
  ) {
    return {
      kind,
      credentials,
      region: address.region ?? regionDefault,
      ...(address.endpoint ? { endpoint: address.endpoint } : {}),
      forcePathStyle: address.forcePathStyle ?? false,
      network: this.#network(),
    };
  }

  /** Only the operator may change these endpoints, to any address. A key file cannot. */
  gcsConnection(credentials: GoogleKey) {
    const { storage, oauth2 } = this.#config.GOOGLE_API_ENDPOINTS;
    return {
      credentials: parseGcsKeyFile(credentials.serviceAccountKey),
      ...(storage ? { endpoint: storage } : {}),
      ...(oauth2 ? { tokenUrl: `${oauth2}/token` } : {}),
      ...(storage || oauth2 ? {} : { network: this.#network() }),
    };
  }

  /** Unencrypted connections are allowed only to subnets that the operator opened. */
  async requireReachable(endpoint: string | null | undefined): Promise<void> {
    if (!endpoint) return;
    const { hostname, protocol } = new URL(endpoint);
    const { guard } = this.#outbound;
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const addresses = isIP(host) === 0 ? await this.#addressesOf(host) : [host];
    if (protocol === 'http:') {
      const dialled = addresses.filter((address) => guard.allows(address));
      if (dialled.length > 0 && dialled.every((address) => guard.opens(address))) return;
      throw new EngineError(
        'STORAGE_UNAVAILABLE',
        'The endpoint must be https, or lie in a subnet that the operator opened (OUTBOUND_ALLOWED_SUBNETS).',
      );
    }
    if (addresses.some((address) => !guard.allows(address)))
      throw new EngineError('STORAGE_UNAVAILABLE', `The endpoint ${privateAddressReason}.`);
  }

  async #addressesOf(name: string): Promise<string[]> {
    try {
      return await this.#outbound.resolve(name);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new EngineError('STORAGE_UNAVAILABLE', `The name of the endpoint could not be resolved: ${name}.`, {
        cause,
        details: { code },
      });
    }
  }

  /** Refuses a bad endpoint early, as far as its text shows. What a name resolves to is checked when it is dialled. */
  checkEndpoint(endpoint: string | null | undefined): void {
    if (!endpoint) return;
    const url = new URL(endpoint);
    if (this.#outbound.guard.refusesHost(url.hostname)) throw invalid('endpoint', privateAddressReason);
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const isOpened =
      isIP(host) === 0 ? this.#config.OUTBOUND_ALLOWED_SUBNETS.length > 0 : this.#outbound.guard.opens(host);
    if (url.protocol === 'http:' && !isOpened) throw invalid('endpoint', 'must be https');
    if (url.username || url.password) throw invalid('endpoint', 'must not hold credentials');
  }

  /** Throws when the path is not the organization's own. */
  checkPath(organizationId: string, path: string): void {
    localFolder(this.#config.HOLDFAST_DATA, organizationId, path);
  }

  /** Makes files under these prefixes of one local folder appear in another one too, of any organization. */
  async shareFiles(from: OpenableDestination, to: OpenableDestination, prefixes: readonly string[]): Promise<void> {
    for (const destination of [from, to]) await (await this.#openFolder(destination)).close();
    const [source, target] = [await realpath(this.#folderOf(from)), this.#folderOf(to)];
    for (const prefix of prefixes) await linkFiles(resolve(source, prefix), join(target, prefix));
  }

  #folderOf({ organizationId, path }: OpenableDestination): string {
    return localFolder(this.#config.HOLDFAST_DATA, organizationId, path ?? '');
  }

  /** Errors name the given path only: where the data folder is must not be shown. */
  #openFolder(destination: OpenableDestination, makesFolder = false): Promise<VersionedBlobStore> {
    return createLocalStore({
      isExpected: destination.placeId !== null && !makesFolder,
      root: this.#folderOf(destination),
      within: ownFolder(this.#config.HOLDFAST_DATA, destination.organizationId),
      location: `local:${destination.path}`,
    });
  }

  requireLocalAllowed(): void {
    if (!this.#config.ALLOW_LOCAL_STORAGE)
      throw invalid('type', 'local folders are not allowed by the operator of this service (ALLOW_LOCAL_STORAGE)');
  }

  #network(): StoreNetwork {
    const { http, https } = this.#outbound.createNodeAgents({ keepAlive: true, maxSockets: 32 });
    return {
      httpAgent: http,
      httpsAgent: https,
      destroy: () => {
        http.destroy();
        https.destroy();
      },
    };
  }
}
