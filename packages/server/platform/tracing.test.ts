import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';

interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { stringValue?: string } }[];
  status: { code?: number };
}

const spans: ReceivedSpan[] = [];
const headers: (string | undefined)[] = [];
/** A receiver of traces as the specification has it: OTLP over HTTP, in JSON. */
const receiver = createServer(async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  headers.push(request.headers['x-team'] as string | undefined);
  const body = JSON.parse(Buffer.concat(pieces).toString()) as {
    resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
  };
  if (request.url === '/v1/traces')
    spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
let bench: BackupBench;
let log: string;
beforeAll(async () => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  bench = await startBackupBench({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-team=back%20up',
  });
  await bench.firestore.doc('users/ada').set({ n: 1 });
  await bench.backUp();
  const caller = { ...bench.as, headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } };
  await bench.app.request('GET', '/api/v1/backups/bkp_nothing', caller);
  log = bench.app.logged();
  await bench.close();
});
afterAll(() => receiver.close());

const named = (name: string) => spans.filter((span) => span.name === name);
const parentOf = (span: ReceivedSpan) => spans.find(({ spanId }) => spanId === span.parentSpanId);

test('a call is a span named by its route, and a child of the span of its caller', () => {
  const [call] = named('GET /api/v1/backups/:backupId').filter((span) => span.traceId === traceId);
  expect(call).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' });
  expect(headers[0]).toBe('back up');
});

test('a job is a span, with the calls to source and storage below it', () => {
  const [scan] = named('source scan');
  expect(parentOf(scan!)?.name).toMatch(/^job /);
  const puts = named('storage put').map((span) => parentOf(span)?.name ?? '');
  expect(puts.some((name) => name.startsWith('job '))).toBe(true);
});

test('a log line names the trace it belongs to', () => {
  const lines = log.split('\n').filter((line) => line.includes(traceId));
  expect(lines.some((line) => line.includes('BACKUP_NOT_FOUND'))).toBe(true);
});
