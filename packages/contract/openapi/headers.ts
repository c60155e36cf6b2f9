import type { OperationSpec } from '../operation.ts';

type Header = { description: string; schema: object };

const integerHeader = (description: string): Header => ({
  description,
  schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 },
});
const textHeader = (description: string, pattern: string, maxLength: number): Header => ({
  description,
  schema: { type: 'string', pattern, maxLength },
});

export const headers: Readonly<Record<string, Header>> = {
  'Access-Control-Allow-Origin': textHeader(
    "The one origin whose pages may read this answer: the installation's own.",
    '^[!-~]+$',
    300,
  ),
  Allow: textHeader('The methods the path takes.', '^[A-Z, ]+$', 100),
  ETag: textHeader(
    'The version of the resource; send it as `If-Match` to change only what you have seen.',
    '^(W/)?"[!-~]*"$',
    200,
  ),
  'Idempotency-Replayed': {
    description: 'Present on an answer that was stored for this idempotency key.',
    schema: { type: 'string', enum: ['true'] },
  },
  Location: textHeader('The address of the resource, the job or the next step.', '^[!-~]+$', 4096),
  RateLimit: textHeader(
    'What is left of the limit: `"default";r=599;t=12` leaves 599 calls for the next 12 seconds.',
    '^[ -~]+$',
    200,
  ),
  'RateLimit-Policy': textHeader('The limit: `"default";q=600;w=60` allows 600 calls in 60 seconds.', '^[ -~]+$', 200),
  'Retry-After': integerHeader('Seconds to wait before trying again.'),
  'WWW-Authenticate': textHeader('How to authenticate.', '^Bearer', 500),
  'X-Request-Id': textHeader(
    'Identifies this request in logs and audit rows; taken from the request if it is well formed.',
    '^[!-~]+$',
    200,
  ),
};

const refer = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const everywhere = ['X-Request-Id', 'Access-Control-Allow-Origin', 'RateLimit', 'RateLimit-Policy'];

export function successHeaders(operation: OperationSpec & { idempotencyKey: boolean }, status: number) {
  const names = [...everywhere];
  if (operation.etag && operation.method !== 'DELETE') names.push('ETag');
  if ((operation.location && status !== 200) || status === 302) names.push('Location');
  if (operation.idempotencyKey) names.push('Idempotency-Replayed');
  return refer(names);
}

export function errorHeaders(status: number) {
  const names = [...everywhere];
  if (status === 401) names.push('WWW-Authenticate');
  if (status === 405) names.push('Allow');
  if (status === 429 || status === 503) names.push('Retry-After');
  return refer(names);
}

const parameter = (name: string, description: string, schema: object) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
});

export const headerParameters = {
  OrganizationId: parameter(
    'X-Organization-Id',
    'The organization of the call. Required with an access token; an API key has its own and refuses any other.',
    { type: 'string', pattern: '^org_[0-9A-Za-z]+$', maxLength: 64 },
  ),
  IdempotencyKey: parameter(
    'Idempotency-Key',
    'Chosen by the caller. Within 24 hours, the same key with the same body returns the answer of the first call.',
    { type: 'string', pattern: '^[ -~]+$', minLength: 1, maxLength: 255 },
  ),
  IfMatch: parameter('If-Match', 'Change only if the resource still has this ETag.', {
    type: 'string',
    pattern: '^(\\*|(W/)?"[!-~]*")$',
    maxLength: 200,
  }),
};
