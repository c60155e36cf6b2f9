import { runRetentionChaos } from '@holdfast/server/testing/retention/retention-chaos';
import { startTemplateDatabase } from '@holdfast/server/testing/template-database';

/** Random histories of backups, time, holds, locks, deletions, restores and rules while schedulers and workers are killed. */
export async function chaosRetention({ histories, seed }: { histories: number; seed: number }): Promise<boolean> {
  const { url: templateUrl, stop } = await startTemplateDatabase();
  try {
    const { faults, ...figures } = await runRetentionChaos({ histories, seed, templateUrl, log: console.log });
    console.log(JSON.stringify({ name: 'chaos retention', seed, ...figures, faults: faults.length }));
    for (const fault of faults.slice(0, 20)) console.log(fault);
    return faults.length === 0;
  } finally {
    await stop();
  }
}
