import {
  type ConnectedFirestore,
  connectFirestore,
  EngineError,
  type FirestoreConnection,
  type ServiceAccountKey,
} from '@holdfast/engine';
import { type CommandFailure, wrongUsage } from '../command-failure.ts';
import { googleKeyFile } from './open-store.ts';

export interface DatabaseOptions {
  readonly project?: string;
  readonly database?: string;
  readonly emulator?: string;
  readonly credentials?: string;
  readonly readRate?: number;
}

export async function openDatabase(options: DatabaseOptions): Promise<ConnectedFirestore> {
  const connection = await connectionOf(options);
  const fromKey =
    connection.type === 'service_account' ? (connection.key as { project_id?: string }).project_id : undefined;
  const projectId = options.project ?? fromKey;
  if (projectId === undefined) throw new EngineError('VALIDATION_ERROR', 'Give --project.');
  return connectFirestore({
    projectId,
    connection,
    ...(options.database === undefined ? {} : { databaseId: options.database }),
    ...(options.readRate === undefined ? {} : { readRateLimit: options.readRate }),
  });
}

async function connectionOf({ emulator, credentials }: DatabaseOptions): Promise<FirestoreConnection> {
  const host = emulator ?? (credentials === undefined ? process.env.FIRESTORE_EMULATOR_HOST : undefined);
  if (host) return { type: 'emulator', host };
  if (!credentials && !process.env.GOOGLE_APPLICATION_CREDENTIALS) throw noCredentials();
  return { type: 'service_account', key: (await googleKeyFile(credentials)) as ServiceAccountKey };
}

/** The bucket's credentials and a backup's key do not give access to a database. */
function noCredentials(): CommandFailure {
  return wrongUsage(
    'The database needs credentials of its own.',
    'Give the key file of a service account with --credentials or GOOGLE_APPLICATION_CREDENTIALS, or an emulator with --emulator.',
  );
}
