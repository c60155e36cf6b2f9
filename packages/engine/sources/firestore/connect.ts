/** Connects to a database: the only place that knows how the parts of this folder fit together. */

import { googleOauthOrigin, type ServiceAccountKey } from '../../google/assertion.ts';
import { FirestoreTarget } from './apply/target.ts';
import { AccountsClient } from './auth/accounts-client.ts';
import { FirestoreAuthUsers } from './auth/auth-users.ts';
import { FirestoreCapture } from './capture/capture.ts';
import { FirestoreClient } from './client.ts';
import type { RetryOptions } from './retry.ts';
import { FirestoreSource } from './source.ts';
import { GrpcChannel } from './transport/channel.ts';
import {
  accessTokenCredentials,
  type Credentials,
  emulatorCredentials,
  type RefreshTokenGrant,
  refreshTokenCredentials,
  serviceAccountCredentials,
} from './transport/credentials.ts';

export type FirestoreConnection =
  | { readonly type: 'emulator'; readonly host: string }
  | { readonly type: 'service_account'; readonly key: ServiceAccountKey }
  | ({ readonly type: 'oauth' } & RefreshTokenGrant)
  | { readonly type: 'access_token'; readonly getToken: () => Promise<string> };

/** Origins of single Google APIs, where they are not Google's own. */
export interface GoogleEndpoints {
  readonly firestore?: string;
  readonly oauth2?: string;
  readonly identitytoolkit?: string;
}

export interface ConnectOptions {
  readonly projectId: string;
  readonly databaseId?: string;
  readonly connection: FirestoreConnection;
  readonly endpoints?: GoogleEndpoints;
  /** HTTP/2 connections to spread the streams over. */
  readonly connections?: number;
  readonly retry?: Partial<RetryOptions>;
  /** How many bytes one call may receive before other work in the process gets its turn; absent: no limit. */
  readonly turnBytesMax?: number;
  /** Documents read per second; absent: unlimited. */
  readonly readRateLimit?: number;
}

export interface ConnectedFirestore {
  readonly source: FirestoreSource;
  readonly target: FirestoreTarget;
  readonly capture: FirestoreCapture;
  readonly authUsers: FirestoreAuthUsers;
  close(): Promise<void>;
}

const firestoreOrigin = 'https://firestore.googleapis.com';
const identityOrigin = 'https://identitytoolkit.googleapis.com';
/** Emulators may be silent while nothing changes, and asking them costs nothing. */
const freeAskAfterMs = 6_000;

export function connectFirestore(options: ConnectOptions): ConnectedFirestore {
  const database = `projects/${options.projectId}/databases/${options.databaseId ?? '(default)'}`;
  const credentials = credentialsOf(options.connection, options.endpoints?.oauth2 ?? googleOauthOrigin);
  const channel = new GrpcChannel({
    origin: originOf(options),
    credentials,
    headers: { 'google-cloud-resource-prefix': database, 'x-goog-api-client': 'gl-node/holdfast' },
    ...(options.connections === undefined ? {} : { connections: options.connections }),
    ...(options.turnBytesMax === undefined ? {} : { turnBytesMax: options.turnBytesMax }),
  });
  const client = new FirestoreClient({
    channel,
    database,
    ...(options.retry === undefined ? {} : { retry: options.retry }),
    ...(options.readRateLimit === undefined ? {} : { readRateLimit: options.readRateLimit }),
  });
  const accounts = new AccountsClient({
    origin: options.endpoints?.identitytoolkit ?? identityOrigin,
    projectId: options.projectId,
    credentials,
    retry: client.retry,
  });
  const source = new FirestoreSource(client);
  const isFree = options.connection.type === 'emulator';
  return {
    source,
    target: new FirestoreTarget(client),
    capture: new FirestoreCapture(source, isFree ? { askAfterMs: freeAskAfterMs } : {}),
    authUsers: new FirestoreAuthUsers(accounts),
    close: () => source.close(),
  };
}

function originOf(options: ConnectOptions): string {
  if (options.connection.type === 'emulator') return `http://${options.connection.host}`;
  return options.endpoints?.firestore ?? firestoreOrigin;
}

function credentialsOf(connection: FirestoreConnection, oauthOrigin: string): Credentials {
  if (connection.type === 'emulator') return emulatorCredentials();
  if (connection.type === 'service_account') return serviceAccountCredentials(connection.key, oauthOrigin);
  if (connection.type === 'oauth') return refreshTokenCredentials(connection, oauthOrigin);
  return accessTokenCredentials(connection.getToken);
}
