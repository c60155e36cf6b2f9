import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';

const rounds = 5;
const secondsPerRound = 3;
const connections = 32;
const target = 0.15;

interface Sides {
  baseline: string;
  service: string;
  token: string;
  organizationId: string;
}

/** A bare list call through the whole pipeline against an empty route, in turns, on the same process; medians of several rounds. */
export async function benchHttp(): Promise<{ name: string; ratio: number; target: number; pass: boolean; baselinePerSecond: number; servicePerSecond: number }> {
  const server = spawn(process.execPath, [fileURLToPath(new URL('./server.ts', import.meta.url))], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
    const sides = JSON.parse(line) as Sides;
    const headers = { authorization: `Bearer ${sides.token}`, 'x-organization-id': sides.organizationId };
    const [baseline, service]: [number[], number[]] = [[], []];
    await load(sides.service, headers);
    for (let round = 0; round < rounds; round++) {
      baseline.push(await load(sides.baseline, {}));
      service.push(await load(sides.service, headers));
    }
    const [baselinePerSecond, servicePerSecond] = [median(baseline), median(service)];
    const ratio = Math.round((servicePerSecond / baselinePerSecond) * 1000) / 1000;
    return { name: 'http', ratio, target, pass: ratio >= target, baselinePerSecond, servicePerSecond };
  } finally {
    server.kill('SIGTERM');
    await once(server, 'exit');
  }
}

async function load(url: string, headers: Record<string, string>): Promise<number> {
  const result = await autocannon({ url, headers, connections, duration: secondsPerRound });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} answered ${result.non2xx} times badly`);
  return Math.round(result.requests.average);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
