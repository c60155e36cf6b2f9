import type { Backup, JobError, JobStatus } from '@holdfast/contract';

/** What a backup, a restore, a drill and a task of a destination have in common. */
export interface Job {
  readonly id: string;
  readonly status: JobStatus;
  readonly progress: Backup['progress'];
  readonly error: JobError | null;
}
