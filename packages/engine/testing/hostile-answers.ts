import type { ServerResponse } from 'node:http';

export interface Scene {
  response: ServerResponse;
  seen: { bytes: number };
  /** Asked in the words of Cloud Storage; of S3 otherwise. */
  isGoogle: boolean;
}
export type Answer = (scene: Scene) => void;

const document = ({ response, isGoogle }: Scene, json: string, xml: string, status = 200) =>
  void response
    .writeHead(status, { 'content-type': isGoogle ? 'application/json' : 'application/xml' })
    .end(isGoogle ? json : xml);

const jsonObject = (name: string, size = '1') =>
  `{"name":${JSON.stringify(name)},"size":"${size}","generation":"1","updated":"2024-01-01T00:00:00Z"}`;
const xmlObject = (name: string, size = '1') => `<Contents><Key>${name}</Key><Size>${size}</Size></Contents>`;

function listing(scene: Scene, names: readonly string[], token: string | undefined, size = '1'): void {
  const next = token === undefined ? '' : `,"nextPageToken":"${token}"`;
  const more = `<IsTruncated>${token !== undefined}</IsTruncated>${token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`}`;
  document(
    scene,
    `{"items":[${names.map((name) => jsonObject(name, size)).join()}]${next}}`,
    `<?xml version="1.0"?><ListBucketResult>${more}${names.map((name) => xmlObject(name, size)).join('')}</ListBucketResult>`,
  );
}

interface Version {
  name: string;
  id: string;
  isCurrent?: boolean;
  isMarker?: boolean;
}

/** A page of versions, the next of which begins at `marker`. */
function versions(scene: Scene, all: readonly Version[], marker: string | undefined): void {
  const next = marker === undefined ? '' : `,"nextPageToken":"${marker}"`;
  const items = all.map(
    ({ name, id, isCurrent, isMarker }) =>
      `{"name":${JSON.stringify(name)},"size":"1","generation":"${id}","updated":"2024-01-01T00:00:00Z"${isCurrent && !isMarker ? '' : ',"timeDeleted":"2024-01-01T00:00:00Z"'}}`,
  );
  const rows = all.map(({ name, id, isCurrent = false, isMarker }) => {
    const tag = isMarker ? 'DeleteMarker' : 'Version';
    return `<${tag}><Key>${name}</Key><VersionId>${id}</VersionId><IsLatest>${isCurrent}</IsLatest><Size>1</Size></${tag}>`;
  });
  const more =
    marker === undefined
      ? ''
      : `<NextKeyMarker>${asked(scene)}a</NextKeyMarker><NextVersionIdMarker>${marker}</NextVersionIdMarker>`;
  document(
    scene,
    `{"items":[${items.join()}]${next}}`,
    `<?xml version="1.0"?><ListVersionsResult><IsTruncated>${marker !== undefined}</IsTruncated>${more}${rows.join('')}</ListVersionsResult>`,
  );
}

/** A name that is hidden, as S3 says it; the mark is one more version to Cloud Storage. */
const hiddenName = (name: string): Version[] => [
  { name, id: '2', isMarker: true, isCurrent: true },
  { name, id: '1' },
];

/** Writes until the other side goes away. An answer to HEAD takes no body, so there the connection itself is written to. */
function pour({ response, seen }: Scene, piece: Buffer): void {
  response.flushHeaders();
  const stream = response.req.method === 'HEAD' ? response.socket : response;
  const more = () => {
    while (stream && !stream.destroyed) {
      seen.bytes += piece.length;
      if (!stream.write(piece)) return void stream.once('drain', more);
    }
  };
  more();
}

function trickle(response: ServerResponse, piece: string): void {
  const timer = setInterval(() => response.write(piece), 20);
  response.once('close', () => clearInterval(timer));
}

let count = 0;
const next = () => String(count++).padStart(12, '0');
/** The beginning that names were asked for with. */
const asked = ({ response }: Scene) => new URL(response.req.url ?? '/', 'http://any').searchParams.get('prefix') ?? '';
const deep = 100_000;
const laughs = Array.from({ length: 12 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('');

export const answers = {
  redirect: ({ response }) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  'permanent redirect': ({ response }) => void response.writeHead(301, { location: 'http://127.0.0.1:1/' }).end(),
  endless: (scene) => {
    scene.response.writeHead(200, { 'content-type': 'application/xml' });
    pour(scene, Buffer.alloc(256 * 1024, '<a>'));
  },
  'endless error': (scene) => {
    scene.response.writeHead(500, { 'content-type': 'application/json' });
    pour(scene, Buffer.alloc(256 * 1024, '[1,'));
  },
  'endless headers': ({ response }) => {
    response.socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => response.socket?.write(`x-more: ${'y'.repeat(4096)}\r\n`), 1);
    response.once('close', () => clearInterval(timer));
  },
  silent: () => {},
  trickle: ({ response }) => {
    response.writeHead(200, { 'content-length': '100000' });
    trickle(response, 'x');
  },
  'trickling document': ({ response }) => {
    response.writeHead(200, { 'content-type': 'application/xml' });
    trickle(response, ' ');
  },
  'standing still': (scene) => listing(scene, [`${asked(scene)}a`], 'on'),
  'more, and not from where': (scene) => listing(scene, [`${asked(scene)}a`], ''),
  'going backwards': (scene) => listing(scene, [`${asked(scene)}b`, `${asked(scene)}a`], undefined),
  'never ending': (scene) => {
    const names = Array.from({ length: 1000 }, () => `${asked(scene)}${next()}`);
    listing(scene, names, `t${count}`);
  },
  'one name a page': (scene) => listing(scene, [`${asked(scene)}${next()}`], `t${count}`),
  'empty pages': (scene) => listing(scene, [], `t${next()}`),
  'versions standing still': (scene) => versions(scene, hiddenName(`${asked(scene)}a`), 'on'),
  'versions going backwards': (scene) => {
    const isSecond = /key-marker|pageToken/.test(scene.response.req.url ?? '');
    versions(scene, hiddenName(`${asked(scene)}${isSecond ? 'a' : 'b'}`), isSecond ? undefined : 'on');
  },
  'versions of one name for ever': (scene) => {
    const all = Array.from({ length: 1000 }, () => ({ name: `${asked(scene)}a`, id: String(++count) }));
    versions(scene, all, `t${count}`);
  },
  'versions of foreign names': (scene) => versions(scene, hiddenName('../../etc/passwd'), undefined),
  'versions in doubt': (scene) =>
    versions(
      scene,
      [
        { name: `${asked(scene)}a`, id: '1', isCurrent: scene.isGoogle },
        { name: `${asked(scene)}a`, id: '2', isCurrent: true },
      ],
      undefined,
    ),
  'foreign names': (scene) => listing(scene, ['../../etc/passwd', 'elsewhere/a'], undefined),
  'absurd sizes': (scene) => listing(scene, [`${asked(scene)}a`], undefined, '-99999999999999999999999'),
  rubbish: (scene) => document(scene, '{"items":[{}]}', '{"items":[{}]}'),
  'other shapes': (scene) =>
    document(scene, '{"items":{"name":[]},"nextPageToken":{}}', '<Error><Code><a/></Code></Error>'),
  'a word': (scene) => document(scene, '"yes"', 'yes'),
  nothing: (scene) => document(scene, '', ''),
  'no content': ({ response }) => void response.writeHead(204).end(),
  'a web page': ({ response }) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>Sign in</title><p>Hello &nbsp;'),
  'laughing entities': (scene) =>
    document(
      scene,
      '{}',
      `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">${laughs}]><ListBucketResult><Prefix>&l12;</Prefix></ListBucketResult>`,
    ),
  'deep nesting': (scene) =>
    document(
      scene,
      '['.repeat(deep) + ']'.repeat(deep),
      `<?xml version="1.0"?>${'<a>'.repeat(deep)}${'</a>'.repeat(deep)}`,
    ),
  'many elements': (scene) =>
    document(
      scene,
      `{"items":[${'{},'.repeat(500_000)}{}]}`,
      `<?xml version="1.0"?><ListBucketResult>${'<a/>'.repeat(500_000)}</ListBucketResult>`,
    ),
  'false length': ({ response }) => void response.writeHead(200, { 'content-length': String(2 ** 40) }).end('x'),
  'too short': ({ response }) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('x', () => response.destroy());
  },
  'cut off': ({ response }) => void response.destroy(),
  'no http': ({ response }) => void response.socket?.end('\u0000\u0001 220 mail.example.com ESMTP\r\n'),
  'packed as a bomb': ({ response }) =>
    void response
      .writeHead(200, { 'content-type': 'application/xml', 'content-encoding': 'gzip' })
      .end(Buffer.alloc(1000, 0x1f)),
  'false range': ({ response }) =>
    void response
      .writeHead(206, { 'content-range': 'bytes 0-9/99999999999999999999', 'content-length': '10' })
      .end('0123456789'),
  denied: (scene) => document(scene, '{"error":{"message":"no"}}', '<Error><Code>AccessDenied</Code></Error>', 403),
  absent: (scene) => document(scene, '{"error":{"message":"none"}}', '<Error><Code>NoSuchKey</Code></Error>', 404),
  conflicting: (scene) => document(scene, '{}', '<Error><Code>PreconditionFailed</Code></Error>', 412),
  failing: (scene) => document(scene, 'oops', 'oops', 500),
  throttling: (scene) => document(scene, '{}', '<Error><Code>SlowDown</Code></Error>', 503),
  'an odd status': (scene) => document(scene, '{}', '<a/>', 299),
  'a teapot': (scene) => document(scene, '{"error":"short and stout"}', '<Error/>', 418),
  unauthorized: (scene) => document(scene, '{"error":7}', '<Error><Code>7</Code></Error>', 401),
} satisfies Record<string, Answer>;

export type Mischief = keyof typeof answers;
export const mischiefs = Object.keys(answers) as Mischief[];
