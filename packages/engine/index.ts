/** The data plane: what the service and the command line build on. */

export type { Envelope } from './crypto/envelope.ts';
export { KeyRing, newDataKey, type Secret } from './crypto/key-ring.ts';
export type { SegmentDescriptor } from './format/descriptor.ts';
export type { ManifestBody } from './format/manifest-body.ts';
export { backupPrefix, backupsPrefix, manifestKey, segmentKey, shardKey } from './format/object-keys.ts';
export { type BackUpUsersOptions, backUpUsers, type UserSection } from './pipeline/auth-user-segments.ts';
export { type BackupPlan, planBackup, reasonNotToFollow } from './pipeline/backup-plan.ts';
export { BackupReader, type OpenBackupOptions } from './pipeline/backup-reader.ts';
export { BufferPool } from './pipeline/buffer-pool.ts';
export { finishBackup } from './pipeline/finish-backup.ts';
export { openChain, openView, viewOfChain } from './pipeline/open-view.ts';
export { type RangeState, runRange } from './pipeline/run-range.ts';
export { SealPool } from './pipeline/seal-pool.ts';
export { segmentBufferBytes } from './pipeline/segment-writer.ts';
export { type Selection, wholeView } from './pipeline/selection.ts';
export { type VerifyResult, verifyChain } from './pipeline/verify-backup.ts';
export { updateTimeOf, View, type ViewEntry } from './pipeline/view.ts';
export type { WrittenManifest } from './pipeline/write-manifest.ts';
export * from './ports/index.ts';
export * from './sources/firestore/index.ts';
export * from './stores/index.ts';
