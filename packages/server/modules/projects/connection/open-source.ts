import {
  type ConnectedFirestore,
  type Credentials,
  connectFirestore,
  EngineError,
  type FirestoreConnection,
  type RefreshTokenGrant,
  refreshTokenCredentials,
  type ServiceAccountKey,
} from '@holdfast/engine';
import type { Config } from '../../../config.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import { traced } from '../../../platform/tracing.ts';
import type { ProjectRow } from '../project-store.ts';
import { type NamedDatabase, SampleFirestore, sampleHost } from './sample-firestore.ts';

export type ConnectionFields = Pick<
  ProjectRow,
  | 'id'
  | 'sourceProjectId'
  | 'databaseId'
  | 'connectionType'
  | 'connectionHost'
  | 'connectionUserId'
  | 'credentials'
  | 'readRateLimit'
>;

export interface ConsentLookup {
  /** The provider's refresh token of a person, opened; undefined when they gave none or withdrew it. */
  refreshTokenOf(userId: string): Promise<string | undefined>;
}

export interface SourceOpenerOptions {
  config: Config;
  keyring: MasterKeyring;
  consents: ConsentLookup;
  /** Set where the sample database lives in another process. */
  openSample: ((named: NamedDatabase) => Promise<string>) | undefined;
}

export const credentialsPurpose = (projectId: string) => `projects.credentials:${projectId}`;

/** A fast source must not delay other calls to this process. */
const turnBytesMax = 256 * 1024;

/** Opens the database of a project with the credentials it was connected by. */
export class SourceOpener {
  readonly #options: SourceOpenerOptions;
  readonly #sample = new SampleFirestore();

  constructor(options: SourceOpenerOptions) {
    this.#options = options;
  }

  async open(project: ConnectionFields): Promise<ConnectedFirestore> {
    const connected = connectFirestore({
      projectId: project.sourceProjectId,
      databaseId: project.databaseId,
      connection: await this.#connection(project),
      endpoints: this.#options.config.GOOGLE_API_ENDPOINTS,
      retry: { attemptsMax: this.#options.config.SOURCE_RETRY_ATTEMPTS },
      turnBytesMax,
      ...(project.readRateLimit === null ? {} : { readRateLimit: project.readRateLimit }),
    });
    return this.#options.config.OTEL_EXPORTER_OTLP_ENDPOINT ? withSpans(connected, project.id) : connected;
  }

  /** What a person's own consent can reach. */
  async credentialsOfPerson(userId: string): Promise<Credentials> {
    return refreshTokenCredentials(await this.#grant(userId), this.#options.config.GOOGLE_API_ENDPOINTS.oauth2);
  }

  /** Its address, with the sample data in this database. */
  openSample(named: NamedDatabase): Promise<string> {
    return (this.#options.openSample ?? ((wanted) => this.#sample.open(wanted)))(named);
  }

  close(): Promise<void> {
    return this.#sample.close();
  }

  async #emulator({ connectionHost, sourceProjectId, databaseId }: ConnectionFields): Promise<string> {
    if (connectionHost !== sampleHost) return connectionHost ?? '';
    if (!this.#options.config.offersSample)
      throw new EngineError('SOURCE_UNAVAILABLE', 'The operator of this service no longer offers the sample database.');
    return this.openSample({ sourceProjectId, databaseId });
  }

  async #connection(project: ConnectionFields): Promise<FirestoreConnection> {
    if (project.connectionType === 'emulator') return { type: 'emulator', host: await this.#emulator(project) };
    if (project.connectionType === 'oauth') return { type: 'oauth', ...(await this.#grant(project.connectionUserId)) };
    if (project.credentials === null)
      throw new EngineError('SOURCE_AUTH_ERROR', 'This project has no credentials; reconnect it with a key.');
    const key = this.#options.keyring.openText(project.credentials, credentialsPurpose(project.id));
    return { type: 'service_account', key: JSON.parse(key) as ServiceAccountKey };
  }

  async #grant(userId: string | null): Promise<RefreshTokenGrant> {
    const { config, consents } = this.#options;
    const refreshToken = userId ? await consents.refreshTokenOf(userId) : undefined;
    if (!refreshToken)
      throw new EngineError('SOURCE_AUTH_ERROR', 'Nobody has given consent to read this project, or it was withdrawn.');
    return { clientId: config.OIDC_CLIENT_ID ?? '', clientSecret: config.OIDC_CLIENT_SECRET ?? '', refreshToken };
  }
}

/** Reads and writes of the database as spans. The listener of changes never ends, so it is no span. */
function withSpans(connected: ConnectedFirestore, projectId: string): ConnectedFirestore {
  const attributes = { 'holdfast.project.id': projectId };
  const reads = ['snapshotTime', 'listCollectionIds', 'planRanges', 'scan', 'fetch', 'count'] as const;
  return {
    source: traced(connected.source, 'source', attributes, reads),
    target: traced(connected.target, 'source', attributes, ['apply']),
    capture: connected.capture,
    authUsers: traced(connected.authUsers, 'source', attributes, ['users', 'importUsers', 'countImportable']),
    close: () => connected.close(),
  };
}
