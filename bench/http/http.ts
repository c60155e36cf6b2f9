import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { type Bench, type Figure, figure, median } from '../figure.ts';

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

/** A bare list call through the whole pipeline against an empty route, in turns, in the same process; medians of several rounds. */
export const httpBench: Bench = {
  name: 'http',
  about:
    'A list call through authentication, row-level security, validation and rendering, against an empty Fastify route with Zod.',
  run: async () => {
    const server = spawn(process.execPath, [fileURLToPath(new URL('./server.ts', import.meta.url))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
      return [await compare(JSON.parse(line) as Sides)];
    } finally {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
  },
};

async function compare(sides: Sides): Promise<Figure> {
  const headers = { authorization: `Bearer ${sides.token}`, 'x-organization-id': sides.organizationId };
  const [baseline, service]: [number[], number[]] = [[], []];
  await load(sides.service, headers);
  for (let round = 0; round < rounds; round++) {
    baseline.push(await load(sides.baseline, {}));
    service.push(await load(sides.service, headers));
  }
  const [baselinePerSecond, servicePerSecond] = [median(baseline), median(service)];
  const details = { baselinePerSecond, servicePerSecond };
  return figure('http', 'an empty route', servicePerSecond / baselinePerSecond, target, 'higher', details);
}

async function load(url: string, headers: Record<string, string>): Promise<number> {
  const result = await autocannon({ url, headers, connections, duration: secondsPerRound });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url} answered ${result.non2xx} times badly`);
  return Math.round(result.requests.average);
}
