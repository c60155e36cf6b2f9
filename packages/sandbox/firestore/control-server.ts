import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DenyRule } from './access.ts';
import type { Control } from './control.ts';
import type { FaultRule, WriteQuota } from './faults/faults.ts';
import type { ListenBehaviour, ListenMode } from './listen/behaviour.ts';

const bodyBytesMax = 1024 * 1024;

interface ControlRequest {
  readonly body: Record<string, unknown>;
  /** The database a path ends in: `/databases/{project}/{database}`. */
  readonly project: string;
  readonly database: string;
}

type Action = (control: Control, request: ControlRequest) => unknown;

/** The control API over HTTP: each line is a method and a path, and the call it makes. */
const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['POST /faults', (control, { body }) => control.addFault(body as FaultRule)],
  ['GET /faults', (control) => ({ hits: control.faultHits() })],
  ['DELETE /faults', (control) => control.clearFaults()],
  ['PUT /faults/seed', (control, { body }) => control.seedFaults(Number(body.seed))],
  ['PUT /write-quota', (control, { body }) => control.setWriteQuota(quotaFrom(body))],
  ['POST /access/deny', (control, { body }) => control.deny(body as DenyRule)],
  ['POST /access/expire', (control, { body }) => control.expireToken(String(body.token))],
  ['DELETE /access', (control) => control.clearAccess()],
  ['GET /counters', (control) => control.counters()],
  ['DELETE /counters', (control) => control.resetCounters()],
  ['POST /listens/reset', (control) => control.resetListens()],
  ['PUT /listens/mode', setListenMode],
  ['PUT /databases', (control, name) => control.createDatabase(name)],
  ['DELETE /databases', (control, name) => control.clear(name)],
  ['PATCH /databases', patchDatabase],
  ['POST /databases', loadInto],
]);

function setListenMode(control: Control, { body }: ControlRequest): void {
  const { mode, ...more } = body;
  if (mode !== 'generous' && mode !== 'as-production') throw new TypeError('mode is generous or as-production.');
  control.setListenMode(mode satisfies ListenMode, more as Partial<ListenBehaviour>);
}

function patchDatabase(control: Control, { body, ...name }: ControlRequest): void {
  if (typeof body.pointInTimeRecovery === 'boolean') control.setPointInTimeRecovery(name, body.pointInTimeRecovery);
  if (body.edition === 'standard' || body.edition === 'enterprise') {
    control.setEdition(name, { edition: body.edition, realtimeUpdates: body.realtimeUpdates !== false });
  }
  if (typeof body.moveClockMs === 'number') control.moveClock(name, body.moveClockMs);
}

/** Loads a sample: `{"documents": 10000, "seed": 7}`. */
function loadInto(control: Control, { body, ...name }: ControlRequest): void {
  control.loadSample(name, { documents: Number(body.documents ?? 0), seed: Number(body.seed ?? 1) });
}

function quotaFrom(body: Record<string, unknown>): WriteQuota | null {
  return typeof body.documentsPerSecond === 'number' ? { documentsPerSecond: body.documentsPerSecond } : null;
}

export async function serveControl(
  control: Control,
  host: string,
  port: number,
): Promise<{ port: number; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(control, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(control: Control, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const segments = (request.url ?? '/').split('?')[0]!.split('/').slice(1).map(decodeURIComponent);
    const isDatabase = segments[0] === 'databases';
    const path = isDatabase ? 'databases' : segments.join('/');
    const action = actions.get(`${request.method} /${path}`);
    if (action === undefined || (isDatabase && segments.length !== 3)) {
      send(response, 404, { error: `No ${request.method} ${request.url}.` });
      return;
    }
    const [project = '', database = ''] = isDatabase ? segments.slice(1) : [];
    const result = action(control, { body: await readBody(request), project, database });
    send(response, 200, result ?? {});
  } catch (error) {
    send(response, 400, { error: error instanceof Error ? error.message : String(error) });
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyBytesMax) throw new RangeError('The body is too large.');
    chunks.push(chunk);
  }
  return length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
