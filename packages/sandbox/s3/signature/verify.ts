import { timingSafeEqual } from 'node:crypto';
import { S3Error } from '../errors.ts';
import {
  type CredentialScope,
  canonicalRequest,
  hmac,
  type SignedRequest,
  signingKey,
  stringToSign,
} from './canonical.ts';

export interface S3Credential {
  accessKeyId: string;
  secretAccessKey: string;
  /** When set, requests must carry this session token. */
  sessionToken?: string;
  /** Operations answered with AccessDenied for this key, such as `PutObject`. */
  deny?: readonly string[];
  /** Buckets this key may use; all if absent. */
  buckets?: readonly string[];
}

/** What later steps need of a verified signature: chunks and trailers continue its chain. */
export interface VerifiedSignature {
  credential: S3Credential;
  scope: CredentialScope;
  key: Buffer;
  amzDate: string;
  signature: string;
  /** x-amz-content-sha256 as signed: a literal hash or one of the streaming and unsigned markers. */
  payloadHash: string;
}

interface Claim extends Omit<VerifiedSignature, 'credential' | 'key'> {
  signedHeaders: string[];
  ignoredQuery?: string;
}

const skewMsMax = 15 * 60 * 1000;
const expirySecondsMax = 7 * 24 * 3600;

export interface Verifier {
  credentials: readonly S3Credential[];
  region: string;
  now: () => number;
}

export function verifySignature(request: SignedRequest, verifier: Verifier): VerifiedSignature {
  const authorization = single(request.headers.authorization);
  const presigned = new Map(request.query).has('X-Amz-Signature');
  if (authorization && presigned)
    throw new S3Error(
      'InvalidArgument',
      'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    );
  if (!authorization && !presigned) throw new S3Error('AccessDenied');
  const claim = authorization ? headerClaim(request, authorization, verifier) : queryClaim(request, verifier);
  const credential = verifier.credentials.find((one) => one.accessKeyId === claim.scope.accessKeyId);
  if (!credential) throw new S3Error('InvalidAccessKeyId', undefined, { AWSAccessKeyId: claim.scope.accessKeyId });
  checkScope(claim, verifier.region);
  checkSignedHeaders(request, claim.signedHeaders);
  const key = signingKey(credential.secretAccessKey, claim.scope);
  const canonical = canonicalRequest(request, claim.signedHeaders, claim.payloadHash, claim.ignoredQuery);
  const toSign = stringToSign(claim.amzDate, claim.scope, canonical);
  if (!equal(hmac(key, toSign).toString('hex'), claim.signature))
    throw new S3Error('SignatureDoesNotMatch', undefined, {
      AWSAccessKeyId: credential.accessKeyId,
      StringToSign: toSign,
      SignatureProvided: claim.signature,
      CanonicalRequest: canonical,
    });
  checkSessionToken(request, credential);
  return { ...claim, credential, key };
}

export function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function headerClaim(request: SignedRequest, authorization: string, verifier: Verifier): Claim {
  const match = /^AWS4-HMAC-SHA256\s+Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/.exec(
    authorization,
  );
  if (!match) throw new S3Error('AuthorizationHeaderMalformed');
  const amzDate = single(request.headers['x-amz-date']) ?? '';
  const signedAtMs = parseAmzDate(amzDate);
  if (signedAtMs === undefined)
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  if (Math.abs(verifier.now() - signedAtMs) > skewMsMax)
    throw new S3Error('RequestTimeTooSkewed', undefined, {
      RequestTime: amzDate,
      ServerTime: new Date(verifier.now()).toISOString(),
      MaxAllowedSkewMilliseconds: String(skewMsMax),
    });
  const payloadHash = single(request.headers['x-amz-content-sha256']);
  if (!payloadHash)
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  return {
    scope: parseScope(match[1]!, 'AuthorizationHeaderMalformed'),
    signedHeaders: match[2]!.split(';'),
    signature: match[3]!,
    amzDate,
    payloadHash,
  };
}

function queryClaim(request: SignedRequest, verifier: Verifier): Claim {
  const query = new Map(request.query);
  const refuse = (message: string) => new S3Error('AuthorizationQueryParametersError', message);
  for (const name of ['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders'])
    if (!query.get(`X-Amz-${name}`))
      throw refuse(
        'Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.',
      );
  if (query.get('X-Amz-Algorithm') !== 'AWS4-HMAC-SHA256')
    throw refuse('X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"');
  const amzDate = query.get('X-Amz-Date')!;
  const signedAtMs = parseAmzDate(amzDate);
  if (signedAtMs === undefined) throw refuse("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  const expiresText = query.get('X-Amz-Expires')!;
  const expires = /^\d{1,9}$/.test(expiresText) ? Number(expiresText) : 0;
  if (expires < 1) throw refuse('X-Amz-Expires should be a number greater than 0');
  if (expires > expirySecondsMax) throw refuse('X-Amz-Expires must be less than a week (in seconds)');
  if (signedAtMs - verifier.now() > skewMsMax) throw new S3Error('AccessDenied', 'Request is not yet valid');
  if (verifier.now() > signedAtMs + expires * 1000) throw new S3Error('AccessDenied', 'Request has expired');
  return {
    scope: parseScope(query.get('X-Amz-Credential')!, 'AuthorizationQueryParametersError'),
    signedHeaders: query.get('X-Amz-SignedHeaders')!.split(';'),
    signature: query.get('X-Amz-Signature')!,
    amzDate,
    payloadHash:
      single(request.headers['x-amz-content-sha256']) ?? query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD',
    ignoredQuery: 'X-Amz-Signature',
  };
}

function parseScope(
  text: string,
  code: 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError',
): CredentialScope {
  const [accessKeyId, date, region, service, end, ...rest] = text.split('/');
  if (!accessKeyId || !date || !region || service !== 's3' || end !== 'aws4_request' || rest.length > 0)
    throw new S3Error(code, 'The credential must be of the form <key>/<date>/<region>/s3/aws4_request.');
  return { accessKeyId, date, region };
}

function checkScope(claim: Claim, region: string): void {
  if (!claim.amzDate.startsWith(claim.scope.date))
    throw new S3Error('AuthorizationHeaderMalformed', 'The credential date does not match the date of the request.');
  if (claim.scope.region !== region)
    throw new S3Error(
      'AuthorizationHeaderMalformed',
      `The authorization header is malformed; the region '${claim.scope.region}' is wrong; expecting '${region}'`,
      { Region: region },
    );
}

function checkSignedHeaders(request: SignedRequest, signedHeaders: readonly string[]): void {
  const sorted = [...signedHeaders].sort();
  if (signedHeaders.some((name, at) => name !== sorted[at] || name !== name.toLowerCase()))
    throw new S3Error('AuthorizationHeaderMalformed', 'SignedHeaders must be lower case and sorted.');
  const unsigned = Object.keys(request.headers).filter(
    (name) => (name === 'host' || name === 'content-md5' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  if (unsigned.length > 0 || !signedHeaders.includes('host'))
    throw new S3Error('AccessDenied', 'There were headers present in the request which were not signed', {
      HeadersNotSigned: unsigned.join(', '),
    });
}

function checkSessionToken(request: SignedRequest, credential: S3Credential): void {
  const token = single(request.headers['x-amz-security-token']) ?? new Map(request.query).get('X-Amz-Security-Token');
  if (token !== credential.sessionToken) throw new S3Error('InvalidToken');
}

/** `20130524T000000Z`, or undefined. */
export function parseAmzDate(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const parsed = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(parsed) ? undefined : parsed;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
