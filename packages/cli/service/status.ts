import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { printJson, printLine, printTable, unread } from '../output.ts';
import { showBackup } from './backup/show.ts';
import type { Job } from './job.ts';
import { followJob, isOver, kindOf, recordOf, reportEnd, retryWhileUnavailable } from './jobs.ts';
import { takeSome } from './lists.ts';
import { type ServiceOptions, serviceCommand } from './options.ts';
import { ProgressBoard } from './progress-board.ts';
import { remindOfKit } from './remind-of-kit.ts';
import { reportRestoreEnd, showRestore } from './restore/show.ts';
import { type Service, withService } from './session.ts';

interface StatusOptions extends ServiceOptions {
  readonly watch?: boolean;
}

const pollMs = 1000;
const jobsMax = 100;

export function statusCommand(): Command {
  return serviceCommand('status', 'progress of a backup or a restore, or of all that wait or run')
    .argument('[id]', 'a backup or a restore')
    .option('-w, --watch', 'stay until they have ended; with --json a line for each change')
    .action(
      async (id: string | undefined, options: StatusOptions) =>
        await withService(options, (service) =>
          id === undefined ? showAll(service, options) : showOne(service, id, options),
        ),
    );
}

async function showOne(service: Service, id: string, options: StatusOptions): Promise<void> {
  kindOf(id);
  if (options.watch) await watch(options, (show) => each(followJob(service, id), (job) => show([job])));
  const record = await retryWhileUnavailable(service, () => recordOf(service, id));
  const isShown = options.watch === true && options.json === true;
  if ('restoreJobId' in record) {
    if (!isShown) showRestore(record, options);
    if (options.watch) reportRestoreEnd(record);
  } else {
    if (!isShown) showBackup(record, options);
    if (options.watch) reportEnd(record);
  }
}

async function showAll(service: Service, options: StatusOptions): Promise<void> {
  if (!options.json) await remindOfKit(service.client);
  if (!options.watch) return list(await activeJobs(service), options);
  const jobs = await watch(options, (show) => followAll(service, show));
  if (!options.json) list(jobs, options);
  if (jobs.some(({ status }) => status !== 'completed')) process.exitCode = exitCode.jobFailed;
}

async function watch<T>(
  options: StatusOptions,
  work: (show: (jobs: readonly Job[]) => void) => Promise<T>,
): Promise<T> {
  // An early end must not look like the end of the watched jobs.
  unread.exit = exitCode.cancelled;
  const board = new ProgressBoard(options);
  const printed = new Map<string, string>();
  try {
    const watched = await work(options.json ? (jobs) => printChanged(jobs, printed) : (jobs) => board.update(jobs));
    unread.exit = exitCode.ok;
    return watched;
  } finally {
    board.finish();
  }
}

/** One line of JSON per changed job. */
function printChanged(jobs: readonly Job[], printed: Map<string, string>): void {
  for (const { id, status, progress, error } of jobs) {
    const state = JSON.stringify({ id, status, progress, error });
    if (printed.get(id) !== state) printLine(state);
    printed.set(id, state);
  }
}

async function each<T>(items: AsyncIterable<T>, work: (item: T) => void): Promise<void> {
  for await (const item of items) work(item);
}

/** Follows all jobs, also those that begin meanwhile, until there are none. */
async function followAll(service: Service, show: (jobs: readonly Job[]) => void): Promise<Job[]> {
  const known = new Map<string, Job>();
  for (;;) {
    const active = await retryWhileUnavailable(service, () => activeJobs(service));
    const isActive = new Set(active.map(({ id }) => id));
    for (const job of active) known.set(job.id, job);
    for (const job of known.values())
      if (!isOver(job) && !isActive.has(job.id))
        known.set(job.id, await retryWhileUnavailable(service, () => recordOf(service, job.id)));
    show([...known.values()]);
    if ([...known.values()].every(isOver)) return [...known.values()];
    await sleep(pollMs, undefined, { signal: service.signal });
  }
}

async function activeJobs({ client }: Service): Promise<Job[]> {
  const query = (status: 'running' | 'pending') => ({ query: { status, limit: jobsMax } });
  const lists = await Promise.all([
    takeSome<Job>(client.paginate('listBackups', query('running')), jobsMax),
    takeSome<Job>(client.paginate('listRestores', query('running')), jobsMax),
    takeSome<Job>(client.paginate('listBackups', query('pending')), jobsMax),
    takeSome<Job>(client.paginate('listRestores', query('pending')), jobsMax),
  ]);
  // A job can begin between two of the lists and appear in both.
  return [...new Map(lists.flatMap(({ items }) => items).map((job) => [job.id, job])).values()];
}

function list(jobs: readonly Job[], { json }: StatusOptions): void {
  if (json) {
    printJson({ jobs });
    return;
  }
  if (jobs.length === 0) {
    printLine('Nothing waits or runs.');
    return;
  }
  const rows = jobs.map(({ id, status, progress }) => [id, status, `${progress.percent} %`, progress.phase]);
  printTable([['ID', 'STATUS', 'DONE', 'PHASE'], ...rows]);
}
