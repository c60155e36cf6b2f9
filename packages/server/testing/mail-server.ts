import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** The whole message as received. */
  raw: string;
  /** The message without quoted-printable and soft line breaks. */
  readable: string;
}

export interface TestMailServer {
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** The answer to the next recipients: a status such as 451 or 550; undefined accepts. */
  refuseWith(status: number | undefined): void;
  close(): Promise<void>;
}

/** A real SMTP server on a free port, or on the one given. */
export async function startMailServer(port = 0): Promise<TestMailServer> {
  const received: ReceivedMail[] = [];
  let status: number | undefined;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo: (_address, _session, done) =>
      done(status === undefined ? null : Object.assign(new Error('refused by the test'), { responseCode: status })),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('utf8');
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map((recipient) => recipient.address);
        received.push({ from: mailFrom ? mailFrom.address : '', to, raw, readable: decode(raw) });
        done();
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  const bound = (server.server.address() as AddressInfo).port;
  return {
    url: `smtp://127.0.0.1:${bound}`,
    port: bound,
    received,
    refuseWith: (next) => {
      status = next;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function decode(raw: string): string {
  const joined = raw.replace(/=\r?\n/g, '');
  return joined.replace(/((?:=[0-9A-F]{2})+)/g, (codes) =>
    Buffer.from(codes.replaceAll('=', ''), 'hex').toString('utf8'),
  );
}
