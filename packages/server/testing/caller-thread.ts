import { parentPort, workerData } from 'node:worker_threads';
import type { CallersOptions } from './callers.ts';

/** Several callers, each requesting one page after the other; reports how long each answer took. */
const { url, identities, callers, pauseMs } = workerData as CallersOptions;
let latencies: number[] = [];

async function ask(headers: Record<string, string>): Promise<void> {
  const startedAtMs = performance.now();
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  latencies.push(performance.now() - startedAtMs);
}

parentPort?.on('message', () => {
  parentPort?.postMessage(latencies);
  latencies = [];
});

async function keepAsking(headers: Record<string, string>): Promise<never> {
  for (;;) {
    await ask(headers);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

await Promise.all(
  Array.from({ length: callers }, (_, index) => keepAsking(identities[index % identities.length] ?? {})),
);
