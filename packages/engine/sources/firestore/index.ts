export type { ServiceAccountKey } from '../../google/assertion.ts';
export { documentContent } from './apply/document-content.ts';
export { rampedSeconds } from './apply/governor.ts';
export { moveDocument } from './apply/move-document.ts';
export { FirestoreTarget } from './apply/target.ts';
export { FirestoreAuthUsers } from './auth/auth-users.ts';
export { isRedacted } from './auth/redaction.ts';
export type { CaptureSettings } from './capture/capture.ts';
export { FirestoreCapture } from './capture/capture.ts';
export {
  type ConnectedFirestore,
  type ConnectOptions,
  connectFirestore,
  type FirestoreConnection,
  type GoogleEndpoints,
} from './connect.ts';
export type { DatabaseInfo, ProbeResult } from './database-info.ts';
export type { CollectionCount } from './scan/collection-tree.ts';
export { FirestoreSource } from './source.ts';
export {
  type Credentials,
  type RefreshTokenGrant,
  refreshTokenCredentials,
} from './transport/credentials.ts';
