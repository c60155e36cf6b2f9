import type { Module } from '../module.ts';
import type { OverviewContext } from './context.ts';
import { overviewHandlers } from './routes.ts';
import { usageTask } from './usage.ts';

/** For people who look: how everything is, and what changes. Reads what the other modules know and decides nothing. */
export function createOverviewModule(context: OverviewContext): Module {
  return { handlers: overviewHandlers(context), tasks: [usageTask(context)] };
}
