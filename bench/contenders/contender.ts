/** What a contender is told to do, and what it says about it. */
export interface ContenderTask {
  readonly address: string;
  readonly project: string;
  readonly collection: string;
  /** Where files may be written or, for a restore, read from. */
  readonly folder: string;
  /** `prepare` is what the bare wire does before its restores are timed. */
  readonly do: 'backup' | 'restore' | 'verify' | 'prepare';
  /** Restores write here. */
  readonly targetProject?: string;
}

export interface ContenderResult {
  readonly documents: number;
  readonly seconds: number;
  /** The most memory the process ever had resident. */
  readonly peakRssBytes: number;
  readonly storedBytes?: number;
}

export type Contender = (task: ContenderTask) => Promise<{ documents: number; storedBytes?: number }>;
