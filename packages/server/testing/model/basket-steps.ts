import type { Value } from './documents.ts';
import type { BackupFact, Model } from './model.ts';
import { damageFaults, factOf, follow, isFairFailure, soundnessOf } from './restore-steps.ts';
import type { Ambush, Troubled } from './trouble.ts';
import type { World } from './world.ts';

export interface BasketStep extends Troubled {
  readonly do: 'basket';
  /** A backup and one of its documents each. */
  readonly picks: readonly { readonly backup: number; readonly document: number }[];
  readonly mergeMode: 'overwrite' | 'skip_existing' | 'merge';
}

interface Item {
  readonly backup: BackupFact;
  readonly path: string;
}

/** Restores documents of several backups of a project at once. */
export async function restoreBasket(world: World, model: Model, step: BasketStep, ambush: Ambush): Promise<string[]> {
  const items = itemsOf(model, step);
  const [first] = items;
  if (!first) return [];
  const { project } = first.backup;
  const before = await world.projects[project]!.live.read();
  const { mergeMode } = step;
  const answer = await world.call('POST', '/backups/restore', {
    items: items.map(({ backup, path }) => ({ backupId: backup.id, path })),
    ...(items.some(({ backup }) => model.former.has(backup.id))
      ? { targetProjectId: world.projects[project]!.id }
      : {}),
    options: { mergeMode },
  });
  if (answer.status !== 202) return model.isAway ? [] : [`a basket was refused: ${answer.text}`];
  const documents = new Map<string, Value>(items.map(({ backup, path }) => [path, backup.documents.get(path)!]));
  const paths = [...documents.keys()];
  const together: BackupFact = { ...first.backup, part: { documents: paths }, documents };
  const how = { mergeMode, deleteExtra: false, safetyBackup: true, dryRun: false, asked: { documents: paths } };
  const fact = factOf(answer.body.data, together, how, project);
  const backupIds = [...new Set(items.map(({ backup }) => backup.id))];
  const basket = Object.assign(fact, { backupIds });
  model.restores.push(basket);
  const soundness = await soundnessOf(world, model, backupIds);
  const { ended, faults } = await follow(world, model, basket, ambush, before);
  if (ended.status === 'failed' && step.trouble === 'none' && !isFairFailure(model, soundness, ended))
    faults.push(`a basket failed: ${JSON.stringify(ended.error)}`);
  return [...faults, ...damageFaults(basket, ended)];
}

/** Each document once, all from backups of one project. */
function itemsOf(model: Model, { picks }: BasketStep): Item[] {
  const full = model.present.filter(({ documents }) => documents.size > 0);
  const items = new Map<string, Item>();
  for (const pick of picks) {
    const [first] = items.values();
    const candidates = full.filter(({ project }) => project === (first?.backup.project ?? project));
    const backup = candidates[pick.backup % candidates.length];
    if (!backup) continue;
    const path = [...backup.documents.keys()][pick.document % backup.documents.size]!;
    if (!items.has(path)) items.set(path, { backup, path });
  }
  return [...items.values()];
}
