import { z } from 'zod';
import { text, timestamp } from './primitives.ts';

const check = z.enum(['ok', 'error', 'not configured']);

export const health = z
  .object({
    status: z.enum(['healthy', 'degraded', 'unhealthy']),
    version: text({ max: 50 }).describe('The running version.'),
    timestamp: timestamp(),
    checks: z.object({ database: check, redis: check, storage: check }),
  })
  .meta({ id: 'Health', description: 'How the service is.' });

export const probe = z
  .object({ status: z.enum(['ok', 'unavailable']) })
  .meta({ id: 'Probe', description: 'The answer to an orchestrator.' });
