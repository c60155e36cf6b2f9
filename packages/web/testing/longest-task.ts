import type { Page } from 'playwright-core';

/** The longest task of the page, and what it did. */
export interface LongestTask {
  /** Wall-clock time, including waiting for a processor. */
  readonly wallMs: number;
  /** The part of it spent waiting for a processor. */
  readonly waitedMs: number;
  /** Processor time of the heaviest task. */
  readonly processorMs: number;
  readonly scriptMs: number;
  readonly layoutMs: number;
  readonly paintMs: number;
  readonly collectionMs: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
}

type Part = 'scriptMs' | 'layoutMs' | 'paintMs' | 'collectionMs';

const partOf: Readonly<Record<string, Part>> = {
  FunctionCall: 'scriptMs',
  FireAnimationFrame: 'scriptMs',
  EventDispatch: 'scriptMs',
  TimerFire: 'scriptMs',
  RunMicrotasks: 'scriptMs',
  UpdateLayoutTree: 'layoutMs',
  Layout: 'layoutMs',
  PrePaint: 'paintMs',
  Paint: 'paintMs',
  Layerize: 'paintMs',
  Commit: 'paintMs',
  MinorGC: 'collectionMs',
  MajorGC: 'collectionMs',
};

/** Starts a trace; the returned function stops it and returns the longest task since. */
export async function watchTasks(page: Page): Promise<() => Promise<LongestTask>> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page belongs to no browser');
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'v8'] });
  return async () => {
    const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: TraceEvent[] };
    return longestOf(traceEvents.filter(({ ph }) => ph === 'X'));
  };
}

function longestOf(events: TraceEvent[]): LongestTask {
  const byThread = Map.groupBy(events, ({ pid, tid }) => `${pid}:${tid}`);
  const layouts = (thread: TraceEvent[]) => thread.filter(({ name }) => name === 'Layout').length;
  const [page = []] = [...byThread.values()].toSorted((a, b) => layouts(b) - layouts(a));
  const tasks = page.filter(({ name }) => name === 'ThreadControllerImpl::RunTask' || name === 'RunTask');
  const longest = tasks.reduce((most, task) => ((task.dur ?? 0) > (most.dur ?? 0) ? task : most));
  const heaviest = tasks.reduce((most, task) => ((task.tdur ?? 0) > (most.tdur ?? 0) ? task : most));
  return {
    wallMs: toMs(longest.dur),
    waitedMs: toMs((longest.dur ?? 0) - (longest.tdur ?? 0)),
    processorMs: toMs(heaviest.tdur),
    ...partsOf(page.filter((event) => event !== heaviest && isInside(event, heaviest))),
  };
}

const toMs = (micros = 0) => Math.round(micros / 100) / 10;

const isInside = (inner: TraceEvent, outer: TraceEvent) =>
  inner.ts >= outer.ts && inner.ts + (inner.dur ?? 0) <= outer.ts + (outer.dur ?? 0);

/** The time of each part without nested parts: a layout forced by script counts as layout. */
function partsOf(events: TraceEvent[]): Record<Part, number> {
  const micros: Record<Part, number> = { scriptMs: 0, layoutMs: 0, paintMs: 0, collectionMs: 0 };
  const open: TraceEvent[] = [];
  for (const event of events
    .filter(({ name }) => partOf[name])
    .toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))) {
    while (open.length > 0 && !isInside(event, open.at(-1) as TraceEvent)) open.pop();
    const around = open.at(-1);
    if (around) micros[partOf[around.name] as Part] -= event.tdur ?? 0;
    micros[partOf[event.name] as Part] += event.tdur ?? 0;
    open.push(event);
  }
  return Object.fromEntries(Object.entries(micros).map(([part, sum]) => [part, toMs(sum)])) as Record<Part, number>;
}
