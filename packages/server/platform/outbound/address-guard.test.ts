import { createSocket } from 'node:dgram';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWebhookReceiver, testAuthority, type WebhookReceiver } from '../../testing/webhook-receiver.ts';
import { AddressGuard, AddressRefused } from './address-guard.ts';
import { createOutbound } from './outbound.ts';
import { createResolver } from './resolve.ts';

/** Hosts as they may appear in a URL, each leading to a forbidden place. */
const refusedHosts = {
  loopback: ['127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.255.255.255', '0177.0.0.1', '0x7f.0.0.1', '0x7f.1'],
  'loopback as one number': ['2130706433', '0x7f000001', '017700000001', '0x7F000001', '127.0.0.1.'],
  'loopback in full-width digits': ['１２７.０.０.１', '127。0。0。1'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.254', '192.168.0.1', '0xc0.0xa8.0.1', '012.0.0.1'],
  'private as one number': ['167772161', '3232235521', '0xac100001'],
  'link-local and metadata': ['169.254.169.254', '169.254.0.1', '2852039166', '0xa9fea9fe', '169.254.43518'],
  'shared address space': ['100.64.0.1', '100.127.255.254'],
  unspecified: ['0.0.0.0', '0', '0.1.2.3', '[::]'],
  'multicast and broadcast': ['224.0.0.1', '239.255.255.250', '255.255.255.255', '[ff02::1]', '[ff0e::1]'],
  'reserved, documentation, benchmarking': [
    '240.0.0.1',
    '192.0.0.8',
    '192.0.2.1',
    '198.51.100.7',
    '203.0.113.9',
    '198.18.0.1',
    '198.19.255.1',
    '192.88.99.1',
    '[2001:db8::1]',
    '[3fff::1]',
    '[2001:2::1]',
    '[100::1]',
    '[5f00::1]',
    '[4000::1]',
    '[1::1]',
  ],
  'IPv6 loopback, local, site-local': [
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[fe80::1]',
    '[febf::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fec0::1]',
    '[feff::1]',
  ],
  'IPv4 in IPv6': [
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[::a00:1]',
    '[::ffff:0:127.0.0.1]',
    '[::ffff:0:a9fe:a9fe]',
  ],
  'NAT64, 6to4, Teredo': [
    '[64:ff9b::7f00:1]',
    '[64:ff9b::10.0.0.1]',
    '[64:ff9b::8.8.8.8]',
    '[64:ff9b:1::1]',
    '[64:ff9b:1:ffff::a00:1]',
    '[2002:7f00:1::]',
    '[2002:a00:1::1]',
    '[2002:a9fe:a9fe::]',
    '[2001:0:7f00:1::]',
    '[2001::1]',
  ],
};
const routedHosts = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.15.255.255',
  '172.32.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '169.253.255.255',
  '198.20.0.1',
  '[2606:4700:4700::1111]',
  '[2a00:1450:4001::200e]',
];

const hostOf = (host: string) => new URL(`https://${host}/`).hostname;

describe('the table of addresses', () => {
  const guard = new AddressGuard();
  const rows = Object.entries(refusedHosts).flatMap(([kind, hosts]) => hosts.map((host) => [kind, host] as const));

  test('holds at least 60 addresses and spellings', () => expect(rows.length).toBeGreaterThanOrEqual(60));
  test.each(rows)('%s: %s is refused', (_kind, host) => {
    expect(guard.refusesHost(hostOf(host))).toBe(true);
  });
  test.each(routedHosts)('%s is dialled', (host) => expect(guard.refusesHost(hostOf(host))).toBe(false));
  test('a name is not judged by its text', () => expect(guard.refusesHost('localhost')).toBe(false));
  test('text that is not an address is never allowed', () => {
    for (const text of ['', 'localhost', '127.1', '0x7f.1', '1.2.3.4.5', '::ffff:1.2.3'])
      expect(guard.allows(text)).toBe(false);
  });
  test('a zone does not open a link-local address', () => expect(guard.allows('fe80::1%eth0')).toBe(false));
});

test('every IPv6 address that contains an IPv4 address is refused, whichever one it contains', () => {
  const guard = new AddressGuard();
  fc.assert(
    fc.property(fc.ipV4(), (inner) => {
      const [a = 0, b = 0, c = 0, d = 0] = inner.split('.').map(Number);
      const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
      for (const form of [
        `::ffff:${inner}`,
        `::${high}:${low}`,
        `::ffff:0:${high}:${low}`,
        `64:ff9b::${inner}`,
        `2002:${high}:${low}::1`,
        `2001:0:${high}:${low}::`,
      ]) {
        expect(guard.allows(form), form).toBe(false);
      }
    }),
  );
});

test('an opened subnet opens itself and its mapped form, and nothing else', () => {
  const guard = new AddressGuard(['10.1.0.0/16', 'fd00:1::/32']);
  for (const open of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5']) expect(guard.allows(open), open).toBe(true);
  for (const shut of ['10.2.0.1', '127.0.0.1', 'fd00:2::5', '::10.1.2.3', '64:ff9b::10.1.2.3', '2002:a01:203::']) {
    expect(guard.allows(shut), shut).toBe(false);
  }
});

describe('on the wire', () => {
  let receiver: WebhookReceiver;
  let second: WebhookReceiver;
  beforeAll(async () => {
    receiver = await startWebhookReceiver('127.0.0.1');
    second = await startWebhookReceiver('127.0.0.2');
  });
  afterAll(() => Promise.all([receiver.close(), second.close()]));

  const outboundTo = (allowedSubnets: string[], resolve?: (name: string) => Promise<string[]>) =>
    createOutbound({ allowedSubnets, extraCertificates: [testAuthority], resolve });

  async function attempt(outbound: ReturnType<typeof createOutbound>, url: string): Promise<number | string> {
    const agent = outbound.createAgent({ keepAliveMs: 1 });
    try {
      const response = await request(url, { dispatcher: agent, method: 'POST', body: '{}' });
      await response.body.dump();
      return response.statusCode;
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await agent.destroy();
    }
  }

  test('a literal address is refused before anything is dialled, in any spelling', async () => {
    const before = receiver.connections();
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '127.1']) {
      expect(await attempt(outboundTo([]), `https://${host}:${receiver.port}/`)).toBe('ADDRESS_REFUSED');
    }
    expect(receiver.connections()).toBe(before);
  });

  test('localhost and other names of this machine are refused when they are dialled', async () => {
    const before = receiver.connections();
    for (const name of ['localhost', 'LOCALHOST', 'localhost.', 'anything.localhost']) {
      expect(await attempt(outboundTo([]), `https://${name}:${receiver.port}/`)).toBe('ADDRESS_REFUSED');
    }
    expect(receiver.connections()).toBe(before);
    expect(await attempt(outboundTo(['127.0.0.0/8']), `https://localhost:${receiver.port}/`)).toBe(200);
  });

  test('one private address among public ones refuses the whole name', async () => {
    const resolve = async () => ['93.184.216.34', '127.0.0.1'];
    expect(await attempt(outboundTo([], resolve), `https://mixed.test:${receiver.port}/`)).toBe('ADDRESS_REFUSED');
  });

  test('a name server that changes its answer cannot redirect a connection to this machine', async () => {
    // 127.0.0.2 plays the public address: only it is opened. The server returns it for every odd question.
    const server = await startNameServer((count) => (count % 2 === 1 ? '127.0.0.2' : '127.0.0.1'));
    const resolve = createResolver({ servers: [server.address] });
    const outbound = outboundTo(['127.0.0.2/32'], resolve);
    const home = receiver.connections();
    const seen: (number | string)[] = [];
    for (let round = 0; round < 6; round++) {
      seen.push(await attempt(outbound, `https://rebind.test:${round % 2 === 0 ? second.port : receiver.port}/`));
    }
    expect(seen).toEqual([200, 'ADDRESS_REFUSED', 200, 'ADDRESS_REFUSED', 200, 'ADDRESS_REFUSED']);
    expect(server.questions()).toBe(6);
    expect(receiver.connections()).toBe(home);
    await server.close();
  });

  test('a name server that is down is not mistaken for a host that refuses', async () => {
    const resolve = createResolver({ servers: ['127.0.0.1:1'] });
    await expect(resolve('somewhere.test')).rejects.toMatchObject({
      code: expect.stringMatching(/^E(SERVFAIL|TIMEOUT)$/),
    });
  });

  test('agents for client libraries refuse the same, and reach what is opened', async () => {
    const get = (agents: { https: https.Agent }, host: string) =>
      new Promise<number | string>((resolve) => {
        const call = https.get({ host, port: receiver.port, path: '/', agent: agents.https }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        call.on('error', (error: NodeJS.ErrnoException) =>
          resolve(error instanceof AddressRefused ? 'refused' : (error.code ?? '')),
        );
      });
    const shut = outboundTo([]).createNodeAgents();
    const open = outboundTo(['127.0.0.0/8']).createNodeAgents();
    for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1'])
      expect(await get(shut, host), host).toBe('refused');
    for (const host of ['127.0.0.1', 'localhost']) expect(await get(open, host), host).toBe(200);
    for (const agents of [shut, open]) {
      agents.http.destroy();
      agents.https.destroy();
    }
  });
});

/** Answers questions for IPv4 addresses with `answer`, and has no IPv6 addresses. */
async function startNameServer(answer: (count: number) => string) {
  const socket = createSocket('udp4');
  let questions = 0;
  socket.on('message', (query, from) => {
    const end = query.indexOf(0, 12) + 5;
    const isV4 = query.readUInt16BE(end - 4) === 1;
    const header = Buffer.from([query[0] as number, query[1] as number, 0x81, 0x80, 0, 1, 0, isV4 ? 1 : 0, 0, 0, 0, 0]);
    const address = isV4 ? answer(++questions).split('.').map(Number) : [];
    const record = isV4 ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address]) : Buffer.alloc(0);
    socket.send(Buffer.concat([header, query.subarray(12, end), record]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    questions: () => questions,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}
