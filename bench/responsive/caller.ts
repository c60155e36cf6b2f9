import { parentPort, workerData } from 'node:worker_threads';

/** Asks for one page after the other at a steady pace, on a thread of its own, and tells how long each took. */
const { url, headers, pauseMs } = workerData as {
  url: string;
  headers: Record<string, string>;
  pauseMs: number;
};
let latencies: number[] = [];

async function ask(): Promise<void> {
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

for (;;) {
  await ask();
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
