import type { MetricFamily } from '../../platform/metric-family.ts';
import type { Module } from '../module.ts';
import type { OverviewContext } from './context.ts';
import { createMeasure } from './metrics/measure.ts';
import { overviewHandlers } from './routes.ts';
import { usageTask } from './usage.ts';

export interface OverviewModule extends Module {
  /** Metrics for monitoring. */
  measure(): Promise<MetricFamily[]>;
}

/** For people: the state of everything, and what changes. Reads what the other modules know and decides nothing. */
export function createOverviewModule(context: OverviewContext): OverviewModule {
  return {
    handlers: overviewHandlers(context),
    tasks: [usageTask(context)],
    measure: createMeasure(context.platform),
  };
}
