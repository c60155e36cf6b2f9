import type { Backup, JobError, JobStatus } from '@holdfast/contract';

/** The common fields of a backup, a restore, a drill and a storage task. */
export interface Job {
  readonly id: string;
  readonly status: JobStatus;
  readonly progress: Backup['progress'];
  readonly error: JobError | null;
}
