import { anomalyReasons } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { OutboxEvent } from '../../platform/outbox.ts';
import type { Platform } from '../../platform/platform.ts';
import type { TroubleKind, TroubleWords } from './tables.ts';
import { troubleStore } from './trouble-store.ts';

/** Modules call this to say that something is wrong, or over. Every call is part of their transaction. */
export class Troubles {
  readonly #platform: Pick<Platform, 'ids' | 'clock'>;

  constructor(platform: Pick<Platform, 'ids' | 'clock'>) {
    this.#platform = platform;
  }

  async begin(
    transaction: Transaction,
    organizationId: string,
    kind: TroubleKind,
    subjectId: string,
    words: TroubleWords,
  ): Promise<void> {
    const { ids, clock } = this.#platform;
    const trouble = { id: ids.next('evt'), kind, subjectId, words, beganAt: clock.now() };
    await troubleStore.begin(transaction, organizationId, trouble);
  }

  async end(
    transaction: Transaction,
    organizationId: string,
    kinds: readonly TroubleKind[],
    subjectId: string,
  ): Promise<void> {
    await troubleStore.end(transaction, organizationId, kinds, subjectId, this.#platform.clock.now());
  }

  /** Called when an admin has looked. A mass deletion ends only with the next backup. */
  async endAnomalies(transaction: Transaction, organizationId: string, projectId: string): Promise<void> {
    for (const reason of anomalyReasons)
      await this.end(transaction, organizationId, ['backup.anomaly'], anomalyOf(projectId, reason));
  }

  async endOfSchedule(transaction: Transaction, organizationId: string, scheduleId: string): Promise<void> {
    await this.end(transaction, organizationId, ['backup.failed', 'schedule.failed'], scheduleId);
  }

  async #endCapture(transaction: Transaction, organizationId: string, projectId: string): Promise<void> {
    for (const subject of [projectId, missingBaseOf(projectId)])
      await this.end(transaction, organizationId, ['pitr.stopped'], subject);
  }

  /** Most troubles are events that webhooks get as well. */
  async onEvents(transaction: Transaction, events: readonly OutboxEvent[]): Promise<void> {
    for (const event of events) await this.#onEvent(transaction, event);
  }

  async #onEvent(transaction: Transaction, { organizationId, type, payload }: OutboxEvent): Promise<void> {
    const data = payload.data as EventData;
    const scheduleId = payload.metadata?.scheduleId ?? undefined;
    if (type === 'backup.failed' && scheduleId)
      return this.begin(transaction, organizationId, 'backup.failed', scheduleId, {
        title: `A scheduled backup of ${data.project?.name} failed`,
        detail: data.backup?.error?.message ?? 'The backup ended without a result.',
        advice: adviceOf(data.backup?.error?.details) ?? 'Open the backup to see what can be done.',
        page: `/backups/${data.backup?.id}`,
      });
    if (type === 'schedule.failed' && data.schedule)
      return this.begin(transaction, organizationId, 'schedule.failed', data.schedule.id, {
        title: `The schedule "${data.schedule.name}" of ${data.project?.name} missed a backup`,
        detail: `It was due at ${data.expectedAt}. ${data.reason}`,
        advice: missedAdvice(data.reason),
        page: `/schedules/${data.schedule.id}`,
      });
    if (type === 'backup.anomaly' && data.project)
      return this.begin(transaction, organizationId, 'backup.anomaly', anomalyOf(data.project.id, data.reason), {
        title: `A backup of ${data.project.name} is suspicious`,
        detail: anomalySentence(data),
        advice:
          'Nothing of this project is removed until an admin has had a look and lets retention go on, on the page of the project.',
        page: `/backups/${data.backup?.id}`,
      });
    if (type === 'storage.error' && data.storageDestination)
      return this.begin(transaction, organizationId, 'storage.error', data.storageDestination.id, {
        title: `The storage destination "${data.storageDestination.name}" does not work`,
        detail: data.error?.message ?? 'It cannot be reached.',
        advice: 'Backups into it fail until it works again. Test it and correct its credentials on its page.',
        page: '/storage',
      });
    if (type === 'backup.completed') {
      if (scheduleId) await this.endOfSchedule(transaction, organizationId, scheduleId);
      if (data.project)
        await this.end(transaction, organizationId, ['backup.anomaly'], massDeletionOf(data.project.id));
    }
    if (type === 'schedule.deleted' && data.schedule)
      return this.endOfSchedule(transaction, organizationId, data.schedule.id);
    if (type === 'pitr.disabled' && data.project) return this.#endCapture(transaction, organizationId, data.project.id);
    if (type === 'project.deleted' && data.project) {
      await this.endAnomalies(transaction, organizationId, data.project.id);
      await this.#endCapture(transaction, organizationId, data.project.id);
      await this.end(transaction, organizationId, ['backup.anomaly'], massDeletionOf(data.project.id));
    }
    if (type === 'storage.connected' && data.storageDestination)
      return this.end(transaction, organizationId, ['storage.error'], data.storageDestination.id);
  }
}

/** Each kind is separate: a collection that shrank last week must not hide that the newest backup is damaged. */
function anomalyOf(projectId: string, reason: string | undefined): string {
  return `${projectId}/${reason}`;
}

/** A mass deletion is over with the next backup; other anomalies of a project are over when an admin has looked. */
export function massDeletionOf(projectId: string): string {
  return `${projectId}/mass-deletion`;
}

/** A missing base is over when there is one, not when the next change is captured. */
export function missingBaseOf(projectId: string): string {
  return `${projectId}/base`;
}

/** The parts of the events' data that the sentences use. */
interface EventData {
  project?: { id: string; name: string };
  backup?: { id: string; error?: { message: string; details?: Record<string, unknown> } };
  schedule?: { id: string; name: string };
  storageDestination?: { id: string; name: string };
  error?: { message: string };
  reason?: string;
  expectedAt?: string;
  before?: { documentCount: number; collection: string | null } | null;
  after?: { documentCount: number } | null;
}

function adviceOf(details: Record<string, unknown> | undefined): string | undefined {
  return typeof details?.advice === 'string' ? details.advice : undefined;
}

function missedAdvice(reason: string | undefined): string {
  if (reason?.includes('storage destination'))
    return 'Give the schedule a storage destination, or the organization a default one.';
  if (reason?.includes('another backup'))
    return 'See how long backups of this project take, and let fewer of them be due at the same time.';
  if (reason?.includes('worker'))
    return 'See that processes with the role worker run, and that backups before it do not take all their time.';
  return 'See that a process with the role scheduler runs and can reach its database.';
}

function anomalySentence({ reason, before, after }: EventData): string {
  if (reason === 'verification_failed') return 'A verification found it damaged.';
  if (reason === 'drill_failed') return 'A trial restore of it failed.';
  const what = before?.collection ? `The collection ${before.collection}` : 'The database';
  return `${what} had ${before?.documentCount} documents in the backup before, and has ${after?.documentCount} in this one.`;
}
