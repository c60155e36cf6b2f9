import {
  type DocumentVersion,
  decodeDocument,
  isEngineError,
  parseInstant,
  scopeContains,
  viewOfChain,
} from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type BackupInTime, backupStore, scopeOf } from '../../backups/index.ts';
import { toProblem } from '../../job-error.ts';
import { projectStore } from '../../projects/index.ts';
import type { PitrContext } from '../context.ts';
import { capturedVersions } from './document-history.ts';
import { openLive } from './live-document.ts';
import { type KnownVersion, type Sighting, Timeline, type TimelineState } from './timeline.ts';

export interface VersionsRequest {
  readonly organizationId: string;
  readonly projectId: string;
  readonly path: string;
  readonly limit: number;
  readonly position: VersionsPosition | undefined;
  readonly signal: AbortSignal;
}

/** Where the page before ended. */
export interface VersionsPosition {
  state: TimelineState;
  /** Captured versions before this time come next; null when there are none left. */
  logBefore: string | null;
  /** Backups behind this one come next. */
  backup: { snapshotTime: string; id: string } | null;
  /** Found already, but there was no room on the page. */
  waiting: KnownVersion[];
}

export interface VersionsPage {
  versions: KnownVersion[];
  next: VersionsPosition | null;
  unreadable: Unreadable[];
}

/** What could not be read; null means the log. */
export interface Unreadable {
  backupId: string | null;
  code: string;
  message: string;
}

/** Limits of one page. A page without a version may be empty and still have a next page. */
const backupsPerPage = 200;
const backupsAtOnce = 6;
const pageMs = 8 * secondMs;
const afterEverything = '9999-12-31T23:59:59.999999999Z';

/** Every known version of a document, newest first, from the live database, the log and the backups. */
export async function knownVersions(context: PitrContext, request: VersionsRequest): Promise<VersionsPage> {
  const { organizationId, projectId, limit } = request;
  await context.backups.platform.database.tenant(organizationId, (transaction) =>
    projectStore.get(transaction, organizationId, projectId),
  );
  const walk = new Walk(context, request);
  if (!request.position) await walk.lookAtLive();
  // One version more than the page holds: only then all backups that hold the last one are known.
  while (walk.found.length <= limit && (await walk.step()));
  const next = walk.isOver && walk.found.length <= limit ? null : walk.position(walk.found.slice(limit));
  return { versions: walk.found.slice(0, limit), next, unreadable: walk.unreadable.slice(0, unreadableMax) };
}

const unreadableMax = 100;

/** Errors that concern only one backup or the log, and not the others. */
const ofOneThing: ReadonlySet<string> = new Set([
  'DECRYPTION_ERROR',
  'INTEGRITY_ERROR',
  'STORAGE_UNAVAILABLE',
  'STORAGE_PERMISSION_DENIED',
  'STORAGE_CREDENTIALS_MISSING',
]);

/** Goes back in time through log and backups together. */
class Walk {
  readonly #context: PitrContext;
  readonly #request: VersionsRequest;
  readonly #timeline: Timeline;
  readonly #endsAtMs = performance.now() + pageMs;
  readonly found: KnownVersion[];
  readonly unreadable: Unreadable[] = [];
  #captured: DocumentVersion[] | undefined;
  #logBefore: string | null;
  /** The time of the last captured version that was taken. */
  #shownThrough: string | null;
  #backups: BackupInTime[] | undefined;
  #sightings: (Sighting | undefined)[] = [];
  #lastBackup: VersionsPosition['backup'];
  #lookedInto = 0;

  constructor(context: PitrContext, request: VersionsRequest) {
    const { position } = request;
    this.#context = context;
    this.#request = request;
    this.found = [...(position?.waiting ?? [])];
    this.#timeline = new Timeline(position?.state, this.found.at(-1));
    this.#logBefore = position ? position.logBefore : afterEverything;
    this.#shownThrough = this.#logBefore;
    this.#lastBackup = position?.backup ?? null;
  }

  get isOver(): boolean {
    return this.#logBefore === null && this.#captured?.length === 0 && this.#backups?.length === 0;
  }

  position(waiting: KnownVersion[]): VersionsPosition {
    const logBefore = this.#captured?.length ? this.#shownThrough : this.#logBefore;
    return { state: this.#timeline.state, logBefore, backup: this.#lastBackup, waiting };
  }

  /** When the source does not answer, backups and log are still shown. */
  async lookAtLive(): Promise<void> {
    const { path, signal } = this.#request;
    try {
      const live = await openLive(this.#context, this.#request.organizationId, this.#request.projectId, signal);
      try {
        const origin = { source: 'live', backupId: null } as const;
        const body = await live.get(path);
        this.#add(
          body
            ? presentIn(body, origin, live.readTime)
            : { kind: 'absent', at: live.readTime, ...origin, isExact: false },
        );
      } finally {
        await live.close();
      }
    } catch (error) {
      if (!isEngineError(error) || signal.aborted) throw error;
    }
  }

  /**
   * Takes the newer one of the next captured version and the next backup; false when this page has looked far enough.
   */
  async step(): Promise<boolean> {
    const captured = await this.#nextCaptured();
    const backup = await this.#nextBackup();
    if (captured && (!backup || captured.time > backup.snapshotTime)) {
      this.#captured!.shift();
      this.#shownThrough = captured.time;
      this.#add(
        captured.bytes === undefined
          ? { kind: 'absent', at: captured.time, source: 'pitr', backupId: null, isExact: true }
          : presentIn(captured.bytes, { source: 'pitr', backupId: null }, captured.time),
      );
      return true;
    }
    if (!backup) return false;
    if (this.#lookedInto >= backupsPerPage || performance.now() > this.#endsAtMs) return false;
    if (this.#sightings.length === 0) await this.#lookIntoBackups();
    const sighting = this.#sightings.shift();
    this.#backups!.shift();
    this.#lastBackup = { snapshotTime: backup.snapshotTime, id: backup.id };
    this.#lookedInto += 1;
    if (sighting) this.#add(sighting);
    return true;
  }

  #add(sighting: Sighting): void {
    this.found.push(...this.#timeline.add(sighting));
  }

  async #nextCaptured(): Promise<DocumentVersion | undefined> {
    if (this.#captured?.length || this.#logBefore === null) {
      this.#captured ??= [];
      return this.#captured[0];
    }
    const { organizationId, projectId, path, limit, signal } = this.#request;
    const asked = { organizationId, projectId, path, before: this.#logBefore, limit, signal };
    const { versions, isWhole } = await capturedVersions(this.#context, asked).catch((error: unknown) => {
      this.#passOver(null, error);
      return { versions: [], isWhole: true };
    });
    this.#captured = versions;
    this.#logBefore = isWhole ? null : (versions.at(-1)?.time ?? null);
    return versions[0];
  }

  #passOver(backupId: string | null, error: unknown): void {
    const problem = toProblem(error);
    if (this.#request.signal.aborted || !(problem instanceof Problem) || !ofOneThing.has(problem.code)) throw error;
    this.unreadable.push({ backupId, code: problem.code, message: problem.message });
  }

  async #nextBackup(): Promise<BackupInTime | undefined> {
    if (this.#backups?.length) return this.#backups[0];
    const { organizationId, projectId, path } = this.#request;
    for (;;) {
      const page = await this.#context.backups.platform.database.tenant(organizationId, async (transaction) => {
        const projectIds = await projectStore.withFormer(transaction, organizationId, projectId);
        return backupStore.completedBefore(transaction, organizationId, projectIds, this.#lastBackup, backupsPerPage);
      });
      this.#backups = page.filter((backup) => scopeContains(scopeOf(backup), path));
      const last = page.at(-1);
      if (this.#backups.length > 0 || !last) return this.#backups[0];
      this.#lastBackup = { snapshotTime: last.snapshotTime, id: last.id };
    }
  }

  async #lookIntoBackups(): Promise<void> {
    const several = this.#backups!.slice(0, backupsAtOnce);
    this.#sightings = await Promise.all(
      several.map((backup) =>
        this.#lookInto(backup).catch((error: unknown) => {
          this.#passOver(backup.id, error);
          return undefined;
        }),
      ),
    );
  }

  /** What one backup says about the document. An increment without the document says that it did not change. */
  async #lookInto({ id, type, snapshotTime }: BackupInTime): Promise<Sighting | undefined> {
    const { organizationId, path, signal } = this.#request;
    const origin = { source: 'backup', backupId: id } as const;
    const absent: Sighting = { kind: 'absent', at: snapshotTime, ...origin, isExact: false };
    const chain = await this.#context.chains.openChainOf(organizationId, id, signal, { alone: true, attemptsMax: 4 });
    try {
      const view = viewOfChain(chain.readers);
      const state = await view.stateOf(path, { signal });
      if (!state) return type === 'incremental' ? undefined : absent;
      if (state.isDeleted) return absent;
      const { state: known } = this.#timeline;
      if (known.kind === 'present' && known.updateTime === state.updateTime)
        return { kind: 'present', at: state.updateTime, updateTime: state.updateTime, isFirst: false, ...origin };
      const body = await view.get(path, { signal });
      return body && presentIn(body, origin, snapshotTime);
    } finally {
      await chain.close();
    }
  }
}

/** Documents of a foreign file have no times; they get the time at which they were seen. */
function presentIn(body: Uint8Array, origin: Pick<KnownVersion, 'source' | 'backupId'>, seenAt: string): Sighting {
  const { createTime, updateTime } = decodeDocument(body);
  const updated = parseInstant(updateTime ?? '') ?? parseInstant(seenAt) ?? seenAt;
  return {
    kind: 'present',
    at: updated,
    updateTime: updated,
    isFirst: createTime !== undefined && parseInstant(createTime ?? '') === updated,
    ...origin,
  };
}
