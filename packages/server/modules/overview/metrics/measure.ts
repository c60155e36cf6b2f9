import { aheadOfDatabaseMs } from '../../../platform/clock-agreement.ts';
import type { Transaction } from '../../../platform/database/database.ts';
import type { MetricFamily } from '../../../platform/metric-family.ts';
import type { Platform } from '../../../platform/platform.ts';
import { readTotals } from '../../../platform/totals.ts';
import { measuresStore } from '../../backups/index.ts';
import { measuredLogs } from '../../pitr/index.ts';
import { projectStore } from '../../projects/index.ts';
import { drillStore } from '../../restores/index.ts';
import { scheduleStore } from '../../schedules/index.ts';
import { ExpectedIntervals } from './expected-intervals.ts';
import { clockFamily, queueFamilies, totalFamilies } from './installation-families.ts';
import { backupFamilies, projectFamilies, scheduleFamilies } from './resource-families.ts';

/** More schedules, projects or logs than this are left out, and one of the metrics says so. */
const measuredMax = 100_000;

/** The contents of the database as metrics. Read again at every scrape; concurrent scrapes share the answer. */
export function createMeasure(platform: Platform): () => Promise<MetricFamily[]> {
  const intervals = new ExpectedIntervals();
  let running: Promise<MetricFamily[]> | undefined;
  return () => {
    running ??= measure(platform, intervals).finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function measure(platform: Platform, intervals: ExpectedIntervals): Promise<MetricFamily[]> {
  const { database, log } = platform;
  try {
    const read = await database.system((transaction) => readResources(platform, transaction, intervals));
    return [...read, ...queueFamilies(await platform.queue.counts()), readable(1)];
  } catch (error) {
    log.warn({ err: error }, 'the metrics could not be read from the database');
    return [readable(0)];
  }
}

const readable = (value: 0 | 1): MetricFamily => ({
  name: 'holdfast_metrics_database_readable',
  help: '1 when the figures of this scrape could be read from the database; without them nothing is known.',
  type: 'gauge',
  samples: [{ labels: {}, value }],
});

async function readResources(
  { clock }: Platform,
  transaction: Transaction,
  intervals: ExpectedIntervals,
): Promise<MetricFamily[]> {
  const now = clock.now();
  const projects = await projectStore.measured(transaction, measuredMax + 1);
  const schedules = await scheduleStore.measured(transaction, measuredMax + 1);
  const isCutOff = projects.length > measuredMax || schedules.length > measuredMax;
  const [shownProjects, shownSchedules] = [projects.slice(0, measuredMax), schedules.slice(0, measuredMax)];
  return [
    ...projectFamilies({
      projects: shownProjects,
      drills: await drillStore.lastProven(
        transaction,
        shownProjects.map(({ id }) => id),
      ),
      logs: await measuredLogs(transaction, measuredMax),
      now,
    }),
    ...scheduleFamilies(shownSchedules, await intervals.seconds(shownSchedules, now)),
    ...backupFamilies({
      projects: shownProjects,
      schedules: shownSchedules,
      ofSchedules: await measuresStore.ofSchedules(transaction, shownSchedules),
      byHand: await measuresStore.madeByHand(transaction, shownProjects),
    }),
    ...totalFamilies(await readTotals(transaction), isCutOff),
    clockFamily(await aheadOfDatabaseMs(clock, transaction)),
  ];
}
