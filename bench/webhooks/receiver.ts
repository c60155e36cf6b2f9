import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '../../packages/server/testing/webhook-receiver.ts';

/**
 * The endpoints of the webhooks bench, in a process of their own. A path is `/<behaviour>/<organization>/<index>`:
 * `ok` answers at once, `slow` after three seconds, `fail` with 500, `hang` never.
 */
export interface ReceiverReport {
  port: number;
  requests: number;
  /** Requests whose body tells of another organization than the path belongs to. */
  foreign: number;
  badSignatures: number;
  /** Distinct `<path> <event id>` that were answered with 200. */
  accepted: string[];
  /** Milliseconds from event to arrival, of first arrivals at `ok` endpoints. */
  latencies: number[];
  /** Requests at `ok` endpoints for what they had accepted before. */
  repeated: number;
  firstAtMs: number;
  lastAtMs: number;
  connections: number;
}

export const benchSecret = 'whsec_aG9sZGZhc3QtYmVuY2gtc2VjcmV0LWZvci1zaWduaW5n';

const report: ReceiverReport = emptyReport();
const accepted = new Set<string>();

function emptyReport(): ReceiverReport {
  return {
    port: 0,
    requests: 0,
    foreign: 0,
    badSignatures: 0,
    accepted: [],
    latencies: [],
    repeated: 0,
    firstAtMs: 0,
    lastAtMs: 0,
    connections: 0,
  };
}

async function take(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const atMs = Date.now();
  const path = message.url ?? '';
  const [, behaviour, organizationId] = path.split('/');
  const event = JSON.parse(body) as { id: string; timestamp: string; data: { organization: { id: string } } };
  report.requests++;
  if (event.data.organization.id !== organizationId) report.foreign++;
  if (!isSigned(message, body)) report.badSignatures++;
  if (behaviour === 'hang') return;
  if (behaviour === 'fail') return void response.writeHead(500).end('broken');
  if (behaviour === 'slow') await new Promise((resolve) => setTimeout(resolve, 3000));
  const key = `${path} ${event.id}`;
  if (behaviour === 'ok' && !accepted.has(key)) {
    report.latencies.push(atMs - Date.parse(event.timestamp));
    report.firstAtMs ||= atMs;
    report.lastAtMs = atMs;
  }
  if (accepted.has(key)) report.repeated++;
  accepted.add(key);
  response.writeHead(200).end('ok');
}

function isSigned(message: IncomingMessage, body: string): boolean {
  const expected = createHmac('sha256', benchSecret)
    .update(`${message.headers['x-service-timestamp']}.${body}`)
    .digest();
  const given = Buffer.from(String(message.headers['x-service-signature']).replace('sha256=', ''), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

if (import.meta.main) {
  const server = createServer(
    testCertificate,
    (message, response) => void take(message, response).catch(() => response.destroy()),
  );
  server.keepAliveTimeout = 60_000;
  server.on('connection', () => report.connections++);
  server.listen(0, '127.0.0.1', () => {
    report.port = (server.address() as AddressInfo).port;
    process.send?.(report);
  });
  process.on('message', (wish: 'report' | 'count' | 'reset') => {
    if (wish === 'reset') {
      Object.assign(report, emptyReport(), { port: report.port });
      accepted.clear();
    }
    process.send?.({
      ...report,
      accepted: wish === 'report' ? [...accepted] : [],
      ...(wish === 'count' ? { latencies: [], requests: accepted.size } : {}),
    });
  });
  process.on('disconnect', () => process.exit(0));
}
