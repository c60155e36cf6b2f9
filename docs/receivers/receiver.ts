// A receiver for both formats with nothing but Node. It listens on plain HTTP: put it behind a proxy that speaks TLS.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';

const secret = process.env.WEBHOOK_SECRET ?? '';
if (secret === '') {
  // Everybody knows the empty key: whatever they sign with it would be taken for ours.
  process.stderr.write('Set WEBHOOK_SECRET to the secret of the webhook.\n');
  process.exit(1);
}
const toleranceSeconds = 300;
const seen = new Set<string>();

function matches(header: string | string[] | undefined, message: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(message).digest('hex')}`);
  const given = Buffer.from(String(header ?? ''));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** After a rotation former secrets sign too, for a day, in headers that begin with the same name. */
function matchesAny(headers: IncomingHttpHeaders, name: string, message: string): boolean {
  return Object.keys(headers).some((header) => header.startsWith(name) && matches(headers[header], message));
}

/** The standard format signs `<timestamp>.<raw body>`, and old timestamps are refused. */
function isStandard(headers: IncomingHttpHeaders, body: string): boolean {
  const timestamp = String(headers['x-service-timestamp']);
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(ageSeconds <= toleranceSeconds)) return false;
  const message = `${timestamp}.${body}`;
  return matchesAny(headers, 'x-service-signature', message);
}

/** The simple format signs the raw body. */
function isSimple(headers: IncomingHttpHeaders, body: string): boolean {
  return matchesAny(headers, 'x-webhook-signature', body);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('utf8');
    const standard = request.headers['x-service-delivery-id'];
    const good = standard ? isStandard(request.headers, body) : isSimple(request.headers, body);
    if (!good) return response.writeHead(401).end();
    // A delivery may come more than once, always under the same id. Answer first, work afterwards.
    response.writeHead(204).end();
    if (typeof standard === 'string' && seen.size === seen.add(standard).size) return;
    const event = JSON.parse(body) as { type?: string; event?: string };
    process.stdout.write(`${event.type ?? event.event}\n`);
  });
});

server.listen(Number(process.env.PORT ?? 9000), () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : address}\n`);
});
