import type { HoldfastError } from '@holdfast/contract/client';
import { useAll, useRead } from '../../api/calls.ts';
import { useWorkplace, useZone } from '../../api/organization.tsx';
import { formatDateTime } from '../../format/times.ts';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import type { Plan } from './plan.ts';

/** The facts that describe the plan in words. */
export interface PlanWords {
  readonly what: string;
  /** False while it is being read. */
  readonly isKnown: boolean;
  readonly sourceId: string | null | undefined;
  readonly moment: string;
  readonly momentUtc: string;
  /** The backup a version is taken from; it may be younger than the version. */
  readonly takenFrom: string;
  readonly which: string;
  readonly target: string;
  readonly targetSourceId: string;
  /** Where the safety backup goes, if known. */
  readonly place: string | undefined;
  /** The error of loading the target. */
  readonly error: HoldfastError | null;
  /** Whether writes to the target ramp up. */
  readonly rampsUp: boolean;
}

/** The answers in words. */
export function usePlanWords(plan: Plan): PlanWords {
  const zone = useZone();
  const { basket } = useBasket(useWorkplace().organization.id);
  const listed = useAll('listProjects', {});
  const projects = listed.rows ?? [];
  const backup = useRead(
    'getBackup',
    { params: { backupId: plan.backupId ?? '' } },
    { enabled: plan.backupId !== undefined, everyMs: false },
  );
  const sourceId = plan.isBasket ? basket.projectId : (plan.projectId ?? backup.data?.projectId);
  const source = projects.find(({ id }) => id === sourceId);
  const target = projects.find(({ id }) => id === (plan.targetProjectId ?? sourceId));
  const snapshotTime = backup.data?.snapshotTime ?? undefined;
  const at = plan.at ?? plan.version ?? snapshotTime;
  const documents =
    plan.documents.length === 1 ? (plan.documents[0] ?? '') : t.restores.documents(plan.documents.length);
  const which = plan.isBasket
    ? t.newRestore.basket(basket.items.length)
    : plan.documents.length > 0
      ? plan.below
        ? t.newRestore.withBelow(documents)
        : documents
      : plan.collections.length > 0
        ? t.newRestore.collections(plan.collections)
        : t.newRestore.all;
  return {
    what: source?.name ?? '',
    isKnown: listed.rows !== undefined && (plan.backupId === undefined || !backup.isLoading),
    sourceId,
    moment: at && !plan.isBasket ? formatDateTime(at, zone) : '',
    momentUtc: at && !plan.isBasket && zone !== 'UTC' ? `${formatDateTime(at, 'UTC')} UTC` : '',
    takenFrom: plan.version && snapshotTime ? t.newRestore.takenFrom(formatDateTime(snapshotTime, zone)) : '',
    which,
    target: target?.name ?? '',
    targetSourceId: target?.sourceProjectId ?? '',
    place: backup.data?.storageDestination?.name,
    error: (listed.rows === undefined ? listed.error : null) ?? (backup.data ? null : backup.error),
    rampsUp: target?.settings.writeRampUp ?? true,
  };
}
