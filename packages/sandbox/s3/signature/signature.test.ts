import { describe, expect, test } from 'vitest';
import { S3Error } from '../errors.ts';
import {
  canonicalRequest,
  encodeUri,
  hmac,
  type SignedRequest,
  scopeText,
  sha256Hex,
  signingKey,
  stringToSign,
} from './canonical.ts';
import { ChunkDecoder } from './chunks.ts';
import { parseAmzDate, type VerifiedSignature, verifySignature } from './verify.ts';

// The key pair and the requests of the published examples of Signature Version 4.
const credential = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
const scope = { accessKeyId: credential.accessKeyId, date: '20130524', region: 'us-east-1' };
const amzDate = '20130524T000000Z';
const verifier = { credentials: [credential], region: 'us-east-1', now: () => parseAmzDate(amzDate)! };
const empty = sha256Hex('');

function signed(request: SignedRequest, signedHeaders: string[], payloadHash: string): SignedRequest {
  const toSign = stringToSign(amzDate, scope, canonicalRequest(request, signedHeaders, payloadHash));
  const signature = hmac(signingKey(credential.secretAccessKey, scope), toSign).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope.accessKeyId}/${scopeText(scope)},SignedHeaders=${signedHeaders.join(';')},Signature=${signature}`;
  return { ...request, headers: { ...request.headers, authorization } };
}

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'none';
  } catch (error) {
    return error instanceof S3Error ? error.code : String(error);
  }
}

const ranged: SignedRequest = {
  method: 'GET',
  rawPath: '/test.txt',
  query: [],
  headers: {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': empty,
    'x-amz-date': amzDate,
  },
};
const rangedHeaders = ['host', 'range', 'x-amz-content-sha256', 'x-amz-date'];

describe('a signature in the header', () => {
  test('of the published example is accepted', () => {
    const example = signed(ranged, rangedHeaders, empty);
    expect(example.headers.authorization).toContain(
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
    expect(verifySignature(example, verifier).credential).toBe(credential);
  });

  test('covers method, path, query and every signed header', () => {
    const example = signed(ranged, rangedHeaders, empty);
    const changed: SignedRequest[] = [
      { ...example, method: 'PUT' },
      { ...example, rawPath: '/test.txt2' },
      { ...example, query: [['versionId', '1']] },
      { ...example, headers: { ...example.headers, range: 'bytes=0-10' } },
      { ...example, headers: { ...example.headers, host: 'other.s3.amazonaws.com' } },
    ];
    for (const request of changed)
      expect(codeOf(() => verifySignature(request, verifier))).toBe('SignatureDoesNotMatch');
  });

  test('must cover the host and every x-amz header that was sent', () => {
    const extra = { ...ranged, headers: { ...ranged.headers, 'x-amz-meta-a': 'b' } };
    expect(codeOf(() => verifySignature(signed(extra, rangedHeaders, empty), verifier))).toBe('AccessDenied');
    const hostless = signed(ranged, rangedHeaders.slice(1), empty);
    expect(codeOf(() => verifySignature(hostless, verifier))).toBe('AccessDenied');
  });

  test('is refused a quarter of an hour before and after its time', () => {
    const example = signed(ranged, rangedHeaders, empty);
    const at = (offsetMs: number) => ({ ...verifier, now: () => verifier.now() + offsetMs });
    const minuteMs = 60_000;
    expect(codeOf(() => verifySignature(example, at(14 * minuteMs)))).toBe('none');
    expect(codeOf(() => verifySignature(example, at(16 * minuteMs)))).toBe('RequestTimeTooSkewed');
    expect(codeOf(() => verifySignature(example, at(-16 * minuteMs)))).toBe('RequestTimeTooSkewed');
  });

  test('is refused when it is malformed, or names an unknown key or another region', () => {
    expect(codeOf(() => verifySignature(ranged, verifier))).toBe('AccessDenied');
    const odd = { ...ranged, headers: { ...ranged.headers, authorization: 'AWS AKIA:xyz' } };
    expect(codeOf(() => verifySignature(odd, verifier))).toBe('AuthorizationHeaderMalformed');
    const example = signed(ranged, rangedHeaders, empty);
    expect(codeOf(() => verifySignature(example, { ...verifier, credentials: [] }))).toBe('InvalidAccessKeyId');
    expect(codeOf(() => verifySignature(example, { ...verifier, region: 'eu-west-1' }))).toBe(
      'AuthorizationHeaderMalformed',
    );
  });
});

describe('a signature in the query', () => {
  const query = [
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request'],
    ['X-Amz-Date', amzDate],
    ['X-Amz-Expires', '86400'],
    ['X-Amz-SignedHeaders', 'host'],
  ] as [string, string][];
  const signature = 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404';
  const presigned: SignedRequest = {
    method: 'GET',
    rawPath: '/test.txt',
    query: [...query, ['X-Amz-Signature', signature]],
    headers: { host: 'examplebucket.s3.amazonaws.com' },
  };

  test('of the published example is accepted until it expires', () => {
    expect(verifySignature(presigned, verifier).payloadHash).toBe('UNSIGNED-PAYLOAD');
    const at = (offsetMs: number) => ({ ...verifier, now: () => verifier.now() + offsetMs });
    expect(codeOf(() => verifySignature(presigned, at(86_399_000)))).toBe('none');
    expect(codeOf(() => verifySignature(presigned, at(86_401_000)))).toBe('AccessDenied');
    expect(codeOf(() => verifySignature(presigned, at(-16 * 60_000)))).toBe('AccessDenied');
  });

  test('lasts a week at most and lacks nothing', () => {
    const withExpiry = (value: string) =>
      presigned.query.map(([name, old]) => [name, name === 'X-Amz-Expires' ? value : old] as const);
    for (const value of ['604801', '0', '-1', 'x'])
      expect(codeOf(() => verifySignature({ ...presigned, query: withExpiry(value) }, verifier))).toBe(
        'AuthorizationQueryParametersError',
      );
    const lacking = presigned.query.filter(([name]) => name !== 'X-Amz-Date');
    expect(codeOf(() => verifySignature({ ...presigned, query: lacking }, verifier))).toBe(
      'AuthorizationQueryParametersError',
    );
    expect(codeOf(() => verifySignature({ ...presigned, rawPath: '/other' }, verifier))).toBe('SignatureDoesNotMatch');
  });
});

describe('a body in signed chunks', () => {
  const key = signingKey(credential.secretAccessKey, scope);
  const base = { credential, scope, key, amzDate };
  const chunk = (size: number, signature: string, data: string) =>
    `${size.toString(16)};chunk-signature=${signature}\r\n${data}\r\n`;
  const seed: VerifiedSignature = {
    ...base,
    signature: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
    payloadHash: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  };
  const example = Buffer.from(
    chunk(65_536, 'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648', 'a'.repeat(65_536)) +
      chunk(1024, '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497', 'a'.repeat(1024)) +
      chunk(0, 'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9', ''),
  );

  function decode(
    body: Buffer,
    step: number,
    signature: VerifiedSignature | undefined = seed,
    trailers: string[] = [],
  ): string {
    const decoder = new ChunkDecoder({ trailers, ...(signature && { signature }) });
    const data: Buffer[] = [];
    for (let at = 0; at < body.length; at += step) data.push(...decoder.push(body.subarray(at, at + step)));
    decoder.finish();
    return Buffer.concat(data).toString('latin1');
  }

  test.each([1, 7, 1000, 65_600, 1_000_000])('of the published example is accepted however it is cut (%i)', (step) => {
    expect(decode(example, step)).toBe('a'.repeat(66_560));
  });

  test('is refused when a byte, a signature or the end is wrong', () => {
    const flipped = Buffer.from(example);
    flipped[500] = 'b'.charCodeAt(0);
    expect(codeOf(() => decode(flipped, 4096))).toBe('SignatureDoesNotMatch');
    const resigned = Buffer.from(example.toString('latin1').replace('0055627c', '0055627d'));
    expect(codeOf(() => decode(resigned, 4096))).toBe('SignatureDoesNotMatch');
    expect(codeOf(() => decode(example.subarray(0, -90), 4096))).toBe('IncompleteBody');
    expect(codeOf(() => decode(Buffer.concat([example, Buffer.from('more')]), 4096))).toBe('MalformedTrailerError');
    expect(codeOf(() => decode(Buffer.from('5\r\nhello\r\n0\r\n\r\n'), 10))).toBe('SignatureDoesNotMatch');
  });

  test('and a signed trailer is refused without it, and with another', () => {
    const signature = { ...seed, payloadHash: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER' };
    const link = (previous: string, kind: string, rest: string) =>
      hmac(key, [`AWS4-HMAC-SHA256-${kind}`, amzDate, scopeText(scope), previous, rest].join('\n')).toString('hex');
    const data = 'x'.repeat(10_000);
    const first = link(seed.signature, 'PAYLOAD', `${empty}\n${sha256Hex(data)}`);
    const last = link(first, 'PAYLOAD', `${empty}\n${empty}`);
    const trailer = link(last, 'TRAILER', sha256Hex('x-amz-checksum-crc32c:AAAAAA==\n'));
    const body = (end: string) => Buffer.from(`${chunk(10_000, first, data)}0;chunk-signature=${last}\r\n${end}\r\n`);
    const names = ['x-amz-checksum-crc32c'];
    const whole = `x-amz-checksum-crc32c:AAAAAA==\r\nx-amz-trailer-signature:${trailer}\r\n`;
    expect(decode(body(whole), 999, signature, names)).toBe(data);
    expect(codeOf(() => decode(body(whole.replace('AAAAAA==', 'BAAAAA==')), 999, signature, names))).toBe(
      'SignatureDoesNotMatch',
    );
    expect(codeOf(() => decode(body(''), 999, signature, names))).toBe('SignatureDoesNotMatch');
    expect(codeOf(() => decode(body(`x-amz-other:1\r\n${whole}`), 999, signature, names))).toBe(
      'MalformedTrailerError',
    );
  });

  test('without signatures must have the announced trailer', () => {
    const body = Buffer.from('5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n');
    const decoder = new ChunkDecoder({ trailers: ['x-amz-checksum-crc32'] });
    expect(Buffer.concat(decoder.push(body)).toString()).toBe('hello');
    decoder.finish();
    expect(decoder.trailers.get('x-amz-checksum-crc32')).toBe('NhCmhg==');
    const lacking = new ChunkDecoder({ trailers: ['x-amz-checksum-crc32'] });
    lacking.push(Buffer.from('0\r\n\r\n'));
    expect(codeOf(() => lacking.finish())).toBe('MalformedTrailerError');
    const short = new ChunkDecoder({ trailers: [] });
    expect(codeOf(() => short.push(Buffer.from('5\r\nhello\r\n5\r\nhello\r\n')))).toBe('InvalidChunkSizeError');
  });
});

test('names are encoded as the signature requires', () => {
  expect(encodeUri("a b/ü!'()*~-_.")).toBe('a%20b%2F%C3%BC%21%27%28%29%2A~-_.');
});
