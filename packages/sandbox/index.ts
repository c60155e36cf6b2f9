export type { Control as FirestoreSandboxControl } from './firestore/control.ts';
export type { FaultRule as FirestoreFaultRule } from './firestore/faults/faults.ts';
export type { ListenBehaviour, ListenMode } from './firestore/listen/behaviour.ts';
export type { FirestoreSandbox, FirestoreSandboxOptions } from './firestore/server.ts';
export { startFirestoreSandbox } from './firestore/server.ts';
export type { Clock } from './firestore/store/clock.ts';
export {
  type GcsCaller,
  type GcsSandbox,
  type GcsSandboxOptions,
  sandboxGcsToken,
  startGcsSandbox,
} from './gcs/server.ts';
export {
  type AuthUser,
  type GoogleSandbox,
  type GoogleSandboxControl,
  type GoogleSandboxOptions,
  type ServiceAccountKey,
  startGoogleSandbox,
} from './google/index.ts';
export type { FaultCounts, FaultProfile } from './objects/faults.ts';
export { Faults } from './objects/faults.ts';
export {
  type S3Sandbox,
  type S3SandboxOptions,
  sandboxS3Credential,
  startS3Sandbox,
} from './s3/server.ts';
export type { S3Credential } from './s3/signature/verify.ts';
export { deleteCollection } from './sample-data/accident.ts';
export { fillFast } from './sample-data/fill-fast.ts';
export type { SampleOptions } from './sample-data/generate.ts';
export { loadSample, sampleDocuments } from './sample-data/generate.ts';
export type { SampleDocument } from './sample-data/sample-document.ts';
