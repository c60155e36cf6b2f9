import type { BodyInput, Operations } from '@holdfast/contract';
import type { Basket } from '../../shell/basket.ts';

export type RestoreBody = BodyInput<Operations['startRestore']>;
export type MergeMode = 'overwrite' | 'skip_existing' | 'merge';

/** Everything the five answers say; it lives in the address, so that a restore can be shared before it runs. */
export interface Plan {
  readonly projectId: string | undefined;
  readonly backupId: string | undefined;
  readonly at: string | undefined;
  readonly collections: readonly string[];
  readonly documents: readonly string[];
  /** Includes everything below the documents. */
  readonly below: boolean;
  readonly isBasket: boolean;
  readonly targetProjectId: string | undefined;
  readonly mode: MergeMode;
  readonly deleteExtra: boolean;
  readonly safety: boolean;
  readonly users: boolean | undefined;
  /** When the document got the version in the backup; used in texts only. */
  readonly version: string | undefined;
}

/** What people type or paste; a path that begins or ends with a space comes as the one document. */
export const lines = (text: string | undefined) =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

export function planOf(search: Readonly<Record<string, string | undefined>>): Plan {
  return {
    projectId: search.projectId,
    backupId: search.backupId,
    at: search.at,
    collections: (search.collections ?? '').split('\n').filter(Boolean),
    documents: search.document === undefined ? lines(search.documents) : [search.document],
    below: search.below === '1',
    isBasket: search.basket === '1',
    targetProjectId: search.target,
    mode: search.mode === 'merge' || search.mode === 'skip_existing' ? search.mode : 'overwrite',
    deleteExtra: search.extra === '1',
    safety: search.safety !== 'off',
    users: search.users === undefined ? undefined : search.users === '1',
    version: search.document === undefined || search.at !== undefined ? undefined : search.version,
  };
}

/** The request of this plan. */
export function bodyOf(plan: Plan, basket: Basket, dryRun: boolean): RestoreBody {
  const options = {
    mergeMode: plan.mode,
    dryRun,
    ...(plan.deleteExtra && !plan.isBasket && plan.documents.length === 0 ? { deleteExtra: true } : {}),
    ...(plan.below && !plan.isBasket && plan.documents.length > 0 ? { includeSubcollections: true } : {}),
    ...(plan.safety ? {} : { safetyBackup: false }),
    ...(plan.users === undefined ? {} : { includeAuthUsers: plan.users }),
  };
  const target = plan.targetProjectId ? { targetProjectId: plan.targetProjectId } : {};
  if (plan.isBasket) {
    const items = basket.items.map(({ path, backupId, pointInTime }) => ({
      path,
      ...(backupId ? { backupId } : {}),
      ...(pointInTime ? { pointInTime } : {}),
    }));
    const needsProject = items.some(({ pointInTime }) => pointInTime);
    return { items, ...target, ...(needsProject && basket.projectId ? { projectId: basket.projectId } : {}), options };
  }
  return {
    ...(plan.at && plan.projectId
      ? { projectId: plan.projectId, pointInTime: plan.at }
      : plan.backupId
        ? { backupId: plan.backupId }
        : {}),
    ...target,
    ...(plan.documents.length > 0
      ? { documentIds: [...plan.documents] }
      : plan.collections.length > 0
        ? { collections: [...plan.collections] }
        : {}),
    options,
  };
}

export const isComplete = (plan: Plan, basket: Basket) =>
  plan.isBasket
    ? basket.items.length > 0
    : plan.backupId !== undefined || (plan.at !== undefined && plan.projectId !== undefined);

/** A handful of named documents: nothing else is touched, so one button is enough. */
export const isSmall = (plan: Plan) => plan.isBasket || (plan.documents.length > 0 && !plan.below);
