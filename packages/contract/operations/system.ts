import { z } from 'zod';
import { anyone } from '../access.ts';
import { api, operation } from '../operation.ts';
import { multilineText } from '../schemas/primitives.ts';
import { health, probe } from '../schemas/system.ts';

const tag = 'System';

export const getHealth = operation({
  id: 'getHealth',
  method: 'GET',
  path: '/health',
  tag,
  summary: 'Show the health of the service',
  description: 'The running version and the state of what it depends on. 503 when it cannot work.',
  access: anyone,
  success: { kind: 'bare', status: 200, schema: health },
  alternatives: [{ kind: 'bare', status: 503, schema: health }],
  errors: [],
});

export const getLiveness = operation({
  id: 'getLiveness',
  method: 'GET',
  path: '/health/live',
  tag,
  summary: 'Liveness probe',
  description: 'Answers as long as the process runs.',
  access: anyone,
  rateLimit: 'none',
  success: { kind: 'bare', status: 200, schema: probe },
  errors: [],
});

export const getReadiness = operation({
  id: 'getReadiness',
  method: 'GET',
  path: '/health/ready',
  tag,
  summary: 'Readiness probe',
  description: '503 while the process starts or stops, and while its database does not answer.',
  access: anyone,
  rateLimit: 'none',
  success: { kind: 'bare', status: 200, schema: probe },
  alternatives: [{ kind: 'bare', status: 503, schema: probe }],
  errors: [],
});

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'GET',
  path: '/metrics',
  tag,
  summary: 'Show metrics for Prometheus',
  description: 'In the Prometheus text format. Needs the bearer token of `METRICS_TOKEN` if the operator has set one.',
  access: anyone,
  rateLimit: 'none',
  success: {
    kind: 'bare',
    status: 200,
    schema: multilineText({ max: 10_000_000 }),
    contentType: 'text/plain; version=0.0.4',
  },
  errors: ['UNAUTHORIZED'],
});

export const getOpenApi = operation({
  id: 'getOpenApi',
  method: 'GET',
  path: api('/openapi.json'),
  tag,
  summary: 'Describe this API',
  description: 'This document: OpenAPI 3.1, generated from the schemas that validate the calls.',
  access: anyone,
  success: {
    kind: 'bare',
    status: 200,
    schema: z.record(z.string(), z.unknown()).meta({ id: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' }),
  },
  errors: [],
});
