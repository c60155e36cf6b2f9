import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { encodeMessage, firestoreType } from '../protos.ts';
import { frame } from '../transport/framing.ts';

/**
 * How fast RunQuery serves a whole collection: the sandbox runs in its own process, a raw HTTP/2 reader here counts
 * messages and throws them away. Usage: `node packages/sandbox/firestore/bench/run-query.ts [documents] [rounds]`.
 */
const documents = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 5);
const windowBytes = 64 * 1024 * 1024;

interface Report {
  port: number;
  fillMs: number;
  documentBytes: number;
  rssBytes: number;
}
interface Usage {
  cpu: NodeJS.CpuUsage;
  rssBytes: number;
}

const server = fork(new URL('./serve.ts', import.meta.url), [String(documents)]);
const [report] = (await once(server, 'message')) as [Report];

async function usage(): Promise<Usage> {
  server.send('usage');
  const [answer] = (await once(server, 'message')) as [Usage];
  return answer;
}

const session = connect(`http://127.0.0.1:${report.port}`, {
  settings: { initialWindowSize: windowBytes, maxFrameSize: 1024 * 1024 },
});
await once(session, 'connect');
session.setLocalWindowSize(windowBytes);

const request = frame(
  encodeMessage(firestoreType('RunQueryRequest'), {
    parent: 'projects/bench/databases/(default)/documents',
    structuredQuery: { from: [{ collectionId: 'plain' }] },
  }),
);

/** Counts gRPC messages without copying: only headers are looked at. */
async function readAll(): Promise<{ messages: number; bytes: number }> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/google.firestore.v1.Firestore/RunQuery',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let messages = 0;
  let bytes = 0;
  let skip = 0;
  let header: number[] = [];
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    let at = Math.min(skip, chunk.length);
    skip -= at;
    while (at < chunk.length) {
      header.push(chunk[at++]!);
      if (header.length < 5) continue;
      const length = ((header[1]! << 24) | (header[2]! << 16) | (header[3]! << 8) | header[4]!) >>> 0;
      header = [];
      messages += 1;
      const step = Math.min(length, chunk.length - at);
      at += step;
      skip = length - step;
    }
  });
  stream.end(request);
  await once(stream, 'end');
  return { messages, bytes };
}

const rates: number[] = [];
const perCpu: number[] = [];
for (let round = 0; round < rounds; round++) {
  const before = await usage();
  const startedAtMs = performance.now();
  const { messages, bytes } = await readAll();
  const seconds = (performance.now() - startedAtMs) / 1000;
  const after = await usage();
  if (messages !== documents) throw new Error(`Expected ${documents} documents, read ${messages}.`);
  const cpuSeconds = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1e6;
  rates.push(messages / seconds);
  perCpu.push(messages / cpuSeconds);
  process.stdout.write(
    `round ${round + 1}: ${Math.round(messages / seconds)} documents/s, ${Math.round(bytes / seconds / 1e6)} MB/s, ` +
      `${Math.round(messages / cpuSeconds)} documents per CPU second of the server, ` +
      `server ${Math.round(after.rssBytes / 1e6)} MB\n`,
  );
}
const median = (values: number[]): number => values.sort((left, right) => left - right)[values.length >> 1]!;
process.stdout.write(
  `${documents} documents of ${report.documentBytes} bytes, filled in ${Math.round(report.fillMs)} ms; ` +
    `median ${Math.round(median(rates))} documents/s, ${Math.round(median(perCpu))} per CPU second\n`,
);
session.close();
server.disconnect();
