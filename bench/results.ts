import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { Bench, Figure } from './figure.ts';
import { registry } from './registry.ts';

/** What a bench found when it last ran for the report. */
export interface Measured {
  readonly bench: string;
  readonly about: string;
  readonly machine: string;
  /** A day, as 2026-01-31. */
  readonly day: string;
  readonly figures: readonly Figure[];
}

const fileOf = (bench: string) => new URL(`./results/${bench}.json`, import.meta.url);

/** Kept beside the benches, so that one of them can be run again without the hour that all of them take. */
export async function keepResult({ name: bench, about }: Bench, figures: readonly Figure[]): Promise<void> {
  const day = new Date().toISOString().slice(0, 10);
  const measured: Measured = { bench, about, machine: machine(), day, figures };
  await writeFile(fileOf(bench), `${JSON.stringify(measured, null, 2)}\n`);
}

/** In the order of the registry; what was never measured is absent. */
export async function keptResults(): Promise<Measured[]> {
  const measured = Object.keys(registry).filter((bench) => existsSync(fileOf(bench)));
  return Promise.all(measured.map(async (bench) => JSON.parse(await readFile(fileOf(bench), 'utf8')) as Measured));
}

function machine(): string {
  const model = cpus()[0]?.model.trim();
  const kind = !model || model === 'unknown' ? process.arch : `${process.arch}, ${model}`;
  return `${availableParallelism()} cores (${kind}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}
